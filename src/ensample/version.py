"""The version, and that of the numbers it gives, in one place."""

__version__ = "0.2.0"

NUMBERS = 5
"""Raise it when a simulated run gives other numbers than before: results of different numbers are not mixed."""

LIVE_NUMBERS = 4
"""Raise it when a live policy comes to another state by the same seed and log: experiments of other numbers are not opened."""
