"""Every claim, in the order of the paper. A new claim is one file in `statements/` and one line here."""

from collections.abc import Sequence

from ensample.claims.claim import Claim
from ensample.claims.statements import (
    binomial_anticoncentration,
    chi_square,
    count_vectors,
    decomposition,
    gaussian_anticoncentration,
    gaussian_concentration,
    general_theorem_linucb,
    initial_norm,
    linphe_ensemble,
    linphe_thompson,
    minimiser,
    optimism,
    permutation,
    perturbation_identities,
    potential,
    rademacher_anticoncentration,
    ridge_concentration,
    round_robin,
    sphere_anticoncentration,
    subgaussian_concentration,
    uniform_anticoncentration,
    uniform_variance,
)
from ensample.errors import InvalidArgument
from ensample.problems import known

__all__ = ["CLAIMS", "find"]

CLAIMS: tuple[Claim, ...] = (
    minimiser.CLAIM,
    general_theorem_linucb.CLAIM,
    potential.CLAIM,
    decomposition.CLAIM,
    ridge_concentration.CLAIM,
    perturbation_identities.CLAIM,
    gaussian_concentration.CLAIM,
    optimism.CLAIM,
    gaussian_anticoncentration.CLAIM,
    count_vectors.CLAIM,
    permutation.CLAIM,
    round_robin.CLAIM,
    linphe_ensemble.CLAIM,
    linphe_thompson.CLAIM,
    subgaussian_concentration.CLAIM,
    initial_norm.CLAIM,
    rademacher_anticoncentration.CLAIM,
    uniform_anticoncentration.CLAIM,
    binomial_anticoncentration.CLAIM,
    sphere_anticoncentration.CLAIM,
    uniform_variance.CLAIM,
    chi_square.CLAIM,
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
