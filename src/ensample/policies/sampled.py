"""Propensities from the votes of some members, where asking all of them takes too long."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ensample.arms import Offer
from ensample.errors import PropensityError
from ensample.memory import check_memory
from ensample.models.fresh import FreshEnsemble
from ensample.randomness import Stream
from ensample.types import FloatArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy


class SampledPropensities(NamedTuple):
    """The probability of each arm, estimated from the votes of `members` members that are drawn as the policy draws them.

    A share p of n members has the standard error sqrt(p (1 - p) / n). For an arm that none of them likes that is 0: all that is
    known of its probability is that it is at most 3/n, with a confidence of 95%. Where as many members are asked for as there
    are, all of them are asked, and nothing is estimated. The draw is a function of (seed, round), apart from the policy's own;
    of fresh members, which are exchangeable, the first are asked, and the one that acts is among them.

    >>> import numpy as np, ensample as es
    >>> policy = es.EnsembleSampling(size=1000).start(es.FiniteArms(np.eye(3)), seed=0)
    >>> found = policy.sampled_propensities(members=100)
    >>> bool(np.all(np.abs(found.shares - policy.propensities()) <= 4 * found.errors))
    True
    """

    shares: FloatArray  # [K]
    errors: FloatArray  # [K]
    members: int


def sampled(policy: "Policy", offer: Offer, members: int) -> SampledPropensities:
    """From as many members; a rule that looks at all of them has nothing to gain from it."""
    from ensample.policies.policy import Policy, listed

    model, rule, round = policy.model, policy._rule, policy.round
    size = model.size
    if size is None or rule is None or members >= size:
        shares = policy._shares(round, offer)
        return SampledPropensities(shares, np.zeros(len(shares)), size or members)
    rows = listed(offer)
    if type(policy)._weights is not Policy._weights or rule.looks:
        raise PropensityError(
            f"the propensities of {policy.recipe!r} are not those of members drawn without looking"
        )
    if model.is_fresh:  # members are exchangeable: the first will do
        assert isinstance(model, FreshEnsemble)
        check_memory("members", members, model.numbers_drawn(members))
        shares = (
            np.bincount(model.at(round).first(members).votes(offer)[0], minlength=len(rows))
            / members
        )
        return SampledPropensities(shares, np.sqrt(shares * (1.0 - shares) / members), members)
    weights = policy._member_weights(rule, round, size, policy._promises(round, offer))
    drawn = policy._address.generator(Stream.SAMPLE, round).choice(
        size, members, p=weights / weights.sum()
    )
    asked, counts = np.unique(drawn, return_counts=True)
    acting = model.at(round)
    votes = np.array([acting.best(int(member), offer)[0] for member in asked])
    shares = np.bincount(votes, counts, len(rows)) / members
    return SampledPropensities(shares, np.sqrt(shares * (1.0 - shares) / members), members)
