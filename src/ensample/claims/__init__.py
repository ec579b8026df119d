"""The paper as programs that could refute it.

A claim is a file in `statements/`: a statement, where it comes from, a check that compares what is measured with what is
claimed, families of faults whose smallest refuted size is the power of the check, and a broken twin that the same check must
refute. `CLAIMS` lists them in the order of the paper, `verify` runs them, `evidence` says how a measurement becomes a verdict,
and `power` how sharp it is.

>>> from ensample.claims import Scale, find, verify
>>> [row] = verify(find(["chi-square"]), Scale.QUICK, seed=0)
>>> row.claim.kind.value, row.outcome.verdict.value, row.claim.check_broken(Scale.QUICK, 0).verdict.value
('inequality', 'holds', 'refuted')
"""

from ensample.claims.claim import (
    Broken,
    Claim,
    Cost,
    Curve,
    Fault,
    Figure,
    Kind,
    Outcome,
    Scale,
    Section,
    Verdict,
)
from ensample.claims.registry import CLAIMS, find
from ensample.claims.verification import Checked, total_cost, verify

__all__ = [
    "CLAIMS",
    "Broken",
    "Checked",
    "Claim",
    "Cost",
    "Curve",
    "Fault",
    "Figure",
    "Kind",
    "Outcome",
    "Scale",
    "Section",
    "Verdict",
    "find",
    "total_cost",
    "verify",
]
