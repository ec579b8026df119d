"""Speed as ratios, every pair measured side by side: `ensample bench`. Nothing else imports this."""

from ensample.bench.measure import GROUPS, Ratio, measure

__all__ = ["GROUPS", "Ratio", "measure"]
