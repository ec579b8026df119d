"""Every claim, in the order of the paper. A new claim is one file in `statements/` and one line here."""

from collections.abc import Sequence

from ensample.claims.claim import Claim
from ensample.claims.statements import (
    chi_square,
    corollary_finite,
    corollary_infinite,
    no_dependence_on_arms,
    no_dependence_on_size,
    optimism_share,
    optimistic_concentration,
    optimistic_existence,
    optimistic_regret,
    rate_in_dimension,
    rate_in_horizon,
    small_ensembles_on_the_ball,
    theorem_one,
    uninflated_trap,
)
from ensample.errors import InvalidArgument
from ensample.problems import known

__all__ = ["CLAIMS", "find"]

CLAIMS: tuple[Claim, ...] = (
    optimism_share.CLAIM,
    theorem_one.CLAIM,
    rate_in_horizon.CLAIM,
    rate_in_dimension.CLAIM,
    no_dependence_on_size.CLAIM,
    no_dependence_on_arms.CLAIM,
    corollary_finite.CLAIM,
    corollary_infinite.CLAIM,
    chi_square.CLAIM,
    small_ensembles_on_the_ball.CLAIM,
    uninflated_trap.CLAIM,
    optimistic_existence.CLAIM,
    optimistic_concentration.CLAIM,
    optimistic_regret.CLAIM,
)


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
