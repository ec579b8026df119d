"""The paper as programs that could refute it.

The texts of a claim are in `claims.toml`: the statement and where it comes from. In `statements/`
are its checks: what is measured compared with what is claimed, families of faults whose smallest
refuted size is the power of the check, and a broken twin that the same check must refute. `CLAIMS`
lists them in the order of the paper, `verify` runs them, `evidence` says how a measurement becomes
a verdict, and `power` how sharp it is.

>>> from ensample.claims import Scale, find, verify
>>> [row] = verify(find(["chi-square"]), Scale.QUICK, seed=0)
>>> row.outcome.verdict.value, row.claim.check_broken(Scale.QUICK, 0).verdict.value
('holds', 'refuted')
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
from ensample.claims.verification import CLAIMS, Checked, find, total_cost, verify

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
