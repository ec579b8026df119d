"""The figure of a plan: what members buy."""

from ensample.report.plan.figure import draw, save

__all__ = ["draw", "save"]
