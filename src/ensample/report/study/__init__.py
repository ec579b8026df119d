"""The page of a study."""

from ensample.report.study.plotting import plot_results
from ensample.report.study.report import write_report

__all__ = ["plot_results", "write_report"]
