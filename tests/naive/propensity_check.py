"""The check of propensities, row by row, with the supermartingales themselves."""

import math

RATES = [2.0**power for power in range(1, -14, -1)]


def largest_averages(rows: list[tuple[list[str], list[float], str]]) -> dict[str, float]:
    """Return, for each action, the largest average of its supermartingales, on either side."""
    sums: dict[str, tuple[float, float]] = {}
    found: dict[str, float] = {}
    for offer, propensities, chosen in rows:
        for name, p in zip(offer, propensities, strict=True):
            s, v = sums.get(name, (0.0, 0.0))
            s, v = s + (name == chosen) - p, v + p * (1.0 - p)
            sums[name] = s, v
            for side in (s, -s):
                average = sum(
                    math.exp(rate * side - v * (math.exp(rate) - 1.0 - rate)) for rate in RATES
                ) / len(RATES)
                found[name] = max(found.get(name, 0.0), average)
    return found
