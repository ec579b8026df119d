"""Every claim, in the order of the paper."""

from collections.abc import Sequence
from importlib import import_module

from ensample.claims.claim import Claim
from ensample.claims.texts import CHECKED, TEXTS
from ensample.errors import InvalidArgument
from ensample.registry import one_of

STATEMENTS = (
    "identities",
    "general_bound",
    "auxiliary",
    "concentration",
    "optimism",
    "shares",
    "ensembles",
    "bounds",
    "rates",
    "linphe",
    "anticoncentration",
    "literature",
    "optimistic_rule",
    "certificates",
)
for name in STATEMENTS:
    import_module(f"ensample.claims.statements.{name}")

CLAIMS: tuple[Claim, ...] = tuple(CHECKED[id] for id in TEXTS)


def find(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Return claims by their ids, in the order of the paper; all of them if none is named.

    >>> [claim.id for claim in find(["chi-square"])]
    ['chi-square']
    """
    names = [claim.id for claim in CLAIMS]
    for name in ids:
        if name not in names:
            raise InvalidArgument("claim", name, one_of(str(name), names))
    return tuple(claim for claim in CLAIMS if not ids or claim.id in ids)
