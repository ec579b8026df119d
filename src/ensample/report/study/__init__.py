"""Page of a study."""

from ensample.report.study.report import plot_results, write_report

__all__ = ["plot_results", "write_report"]
