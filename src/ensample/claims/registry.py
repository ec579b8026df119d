"""Every claim, in the order of the paper. A new claim is one file in `statements/` and one line here."""

from collections.abc import Sequence

from ensample.claims.claim import Claim
from ensample.claims.statements import (
    azuma,
    binomial_anticoncentration,
    calibration_equivariance,
    certificate,
    chi_square,
    corollary_finite,
    corollary_infinite,
    count_vectors,
    decomposition,
    fresh_members,
    g_nonnegative,
    gaussian_anticoncentration,
    gaussian_concentration,
    gaussian_norm,
    general_theorem_linucb,
    initial_norm,
    lazy_members,
    linphe_ensemble,
    linphe_thompson,
    markov,
    minimiser,
    no_dependence_on_arms,
    no_dependence_on_size,
    optimism,
    optimism_share,
    optimism_share_other_laws,
    optimistic_concentration,
    optimistic_existence,
    optimistic_regret,
    permutation,
    perturbation_identities,
    perturbation_lemma,
    potential,
    rademacher_anticoncentration,
    rate_in_dimension,
    rate_in_horizon,
    ridge_concentration,
    role_of_second_event,
    round_robin,
    sharp_size,
    small_ensembles_on_the_ball,
    sphere_anticoncentration,
    strictly_subgaussian,
    subgaussian_concentration,
    theorem_one,
    theorem_other_laws,
    three_point_anticoncentration,
    uniform_anticoncentration,
    uninflated_trap,
)
from ensample.errors import InvalidArgument
from ensample.registry import one_of

CLAIMS: tuple[Claim, ...] = (
    minimiser.CLAIM,
    general_theorem_linucb.CLAIM,
    markov.CLAIM,
    g_nonnegative.CLAIM,
    role_of_second_event.CLAIM,
    potential.CLAIM,
    decomposition.CLAIM,
    ridge_concentration.CLAIM,
    perturbation_identities.CLAIM,
    perturbation_lemma.CLAIM,
    gaussian_concentration.CLAIM,
    optimism.CLAIM,
    gaussian_anticoncentration.CLAIM,
    count_vectors.CLAIM,
    permutation.CLAIM,
    lazy_members.CLAIM,
    optimism_share.CLAIM,
    round_robin.CLAIM,
    theorem_one.CLAIM,
    rate_in_horizon.CLAIM,
    rate_in_dimension.CLAIM,
    no_dependence_on_size.CLAIM,
    no_dependence_on_arms.CLAIM,
    linphe_ensemble.CLAIM,
    fresh_members.CLAIM,
    linphe_thompson.CLAIM,
    corollary_finite.CLAIM,
    corollary_infinite.CLAIM,
    subgaussian_concentration.CLAIM,
    initial_norm.CLAIM,
    three_point_anticoncentration.CLAIM,
    strictly_subgaussian.CLAIM,
    rademacher_anticoncentration.CLAIM,
    uniform_anticoncentration.CLAIM,
    binomial_anticoncentration.CLAIM,
    sphere_anticoncentration.CLAIM,
    optimism_share_other_laws.CLAIM,
    theorem_other_laws.CLAIM,
    chi_square.CLAIM,
    gaussian_norm.CLAIM,
    azuma.CLAIM,
    small_ensembles_on_the_ball.CLAIM,
    uninflated_trap.CLAIM,
    sharp_size.CLAIM,
    optimistic_existence.CLAIM,
    optimistic_concentration.CLAIM,
    optimistic_regret.CLAIM,
    certificate.CLAIM,
    calibration_equivariance.CLAIM,
)


def find(ids: Sequence[str]) -> tuple[Claim, ...]:
    """Claims by their ids, in the order of the paper; all of them where none is named.

    >>> [claim.id for claim in find(["chi-square"])]
    ['chi-square']
    """
    names = [claim.id for claim in CLAIMS]
    for name in ids:
        if name not in names:
            raise InvalidArgument("claim", name, one_of(str(name), names))
    return tuple(claim for claim in CLAIMS if not ids or claim.id in ids)
