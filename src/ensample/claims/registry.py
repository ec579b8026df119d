"""Every claim, in the order of the paper. A new claim is one file in `statements/` and one line here."""

from collections.abc import Sequence

from ensample.claims.claim import Claim
from ensample.claims.statements import chi_square
from ensample.errors import InvalidArgument
from ensample.problems import known

__all__ = ["CLAIMS", "find"]

CLAIMS: tuple[Claim, ...] = (chi_square.CLAIM,)


def find(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Claims by their ids, in the order of the paper; all of them where none is named.

    >>> [claim.id for claim in find(["chi-square"])]
    ['chi-square']
    """
    names = [claim.id for claim in CLAIMS]
    for name in ids:
        if name not in names:
            raise InvalidArgument("claim", name, known(str(name), names))
    return tuple(claim for claim in CLAIMS if not ids or claim.id in ids)
