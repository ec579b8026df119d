"""The figure of `ensample demo`."""

from ensample.report.demo.figure import draw, save

__all__ = ["draw", "save"]
