"""The figure of a race, and of the runs of one policy."""

from ensample.report.race.figure import draw, save
from ensample.report.race.runs import plot_runs

__all__ = ["draw", "plot_runs", "save"]
