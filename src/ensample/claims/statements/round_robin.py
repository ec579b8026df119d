"""With the members in turn, optimism is certain or impossible: no constant p will do."""

import math

import numpy as np

from ensample.claims.claim import Broken, Claim, Cost, Kind, Outcome, Scale, Section
from ensample.claims.evidence import always_at_least, identity, weakest
from ensample.claims.recorded import History, record
from ensample.members import UNIFORM_MEMBER, MemberRule, RoundRobin
from ensample.theory import P_N, Setting, perturbation_radius, radius
from ensample.types import BoolArray, FloatArray

__all__ = ["CLAIM"]

ID = "round-robin-optimism"
SIZE = 8


def check(scale: Scale, seed: int, member: MemberRule | None = None) -> Outcome:
    """The probability of an optimistic member given the history, in every round: how far from 0 and 1, and how often 0."""
    rounds, runs = scale.choose((200, 5), (1000, 20), (5000, 50))
    rule = RoundRobin() if member is None else member
    setting = Setting(dim=4, arms=12, horizon=rounds, noise=0.5, norm=1.0)
    chances = np.concatenate(
        [
            optimism(record(seed, ID, part, rounds=rounds, size=SIZE, scale=radius(setting), member=rule), setting, rule)
            for part in range(runs)
        ]
    )
    between = float(np.minimum(chances, 1.0 - chances).max())
    never = int((chances < P_N / 4.0).sum())
    detail = f"{SIZE} members, {never:,} of {chances.size:,} rounds below p_N / 4, where the theorem's condition fails"
    return weakest([identity(between, 0.0, chances.size, detail), always_at_least(never, 1.0, 0)])


def optimism(history: History, setting: Setting, rule: MemberRule) -> FloatArray:
    """P(U'Z >= beta |U| and |theta~|_V <= gamma~ | history) before each round: [T]."""
    chances = np.empty(len(history.X))
    for t in range(chances.size):
        optimistic = optimistic_members(history, setting, t)
        weights = rule.weights(t, SIZE, lambda: np.zeros(SIZE))
        chances[t] = weights @ optimistic / weights.sum()
    return chances


def optimistic_members(history: History, setting: Setting, t: int) -> BoolArray:
    """I_t^j after t rounds: [m]."""
    theta_tilde, V, best = history.theta_tilde[t], history.V[t], history.best
    width = math.sqrt(best @ np.linalg.solve(V, best))
    norms = np.sqrt(np.einsum("ji,ik,jk->j", theta_tilde, V, theta_tilde))
    return np.asarray((theta_tilde @ best >= radius(setting, t) * width) & (norms <= perturbation_radius(setting)))


CLAIM = Claim(
    id=ID,
    title="Members in turn: optimism 0 or 1",
    statement="with fewer than T members in turn, optimism has probability 0 or 1 given the history, 0 in some rounds",
    latex=r"\mathcal{J}_t = t \bmod m,\ m < T\ \Rightarrow\ "
    r"\mathbb{P}\big(I_t^{j_t} = 1 \mid \mathcal{F}_{t-1}\big) \in \{0, 1\}",
    reference="thm:enssamp (the proof; uniform J_t only)",
    section=Section.OPTIMISM,
    assumptions=("the perturbations are part of the history, as in the proof",),
    kind=Kind.IDENTITY,
    check=check,
    broken=Broken("members drawn uniformly", lambda scale, seed: check(scale, seed, UNIFORM_MEMBER)),
    note="Algorithm 1 allows any member rule, but the proof of Theorem 1 covers the uniform one only: for round robin with "
    "m < T no bound is claimed.",
    costs={Scale.QUICK: Cost(0.3), Scale.STANDARD: Cost(4), Scale.PAPER: Cost(60)},
)
