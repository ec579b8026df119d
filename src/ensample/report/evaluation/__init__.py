"""The page of an evaluation."""

from ensample.report.evaluation.page import page

__all__ = ["page"]
