"""The figure of a race."""

from ensample.report.race.figure import draw, save

__all__ = ["draw", "save"]
