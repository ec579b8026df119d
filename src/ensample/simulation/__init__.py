"""Many replicates of a policy on a problem, as fast as the algorithm allows."""

from ensample.simulation.runs import Difference, Runs
from ensample.simulation.simulate import simulate

__all__ = ["Difference", "Runs", "simulate"]
