"""Speed as ratios, every pair measured side by side: `ensample bench`. Nothing else imports this."""

from ensample.bench.measure import GROUPS, Row, measure

__all__ = ["GROUPS", "Row", "measure"]
