"""The page of a study."""

from ensample.report.study.report import write_report

__all__ = ["write_report"]
