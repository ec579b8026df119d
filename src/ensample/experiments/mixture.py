"""The mixture that is drawn from: policy, floor under every action, share for a baseline."""

from typing import NamedTuple

from ensample.randomness import Address, Stream

BLOCK = 1024  # uniforms drawn together: moving a generator costs more than drawing one


class Uniforms:
    """Uniform numbers by round: a pure function of (seed, round)."""

    def __init__(self, seed: int) -> None:
        self._address = Address(seed)
        self._block, self._numbers = -1, [0.0]

    def __getitem__(self, round: int) -> float:
        block, offset = divmod(round, BLOCK)
        if block != self._block:
            self._numbers = self._address.generator(Stream.MIXTURE, block).random(BLOCK).tolist()
            self._block = block
        return self._numbers[offset]


class Pick(NamedTuple):
    """The result of a draw: "policy", "floor" with an action, or "baseline" with its action."""

    drawn: str
    place: int | None


class Mixture(NamedTuple):
    """The mixture of policy, floor and baseline.

    p_k = (1 - share) ((1 - floor) w_k + floor / K) + share 1{k = baseline}, with w_k the
    policy's own probabilities.
    """

    floor: float
    share: float  # of the baseline, 0 where it is not on offer
    baseline: int | None  # its place on offer
    arms: int  # K

    def pick(self, uniform: float) -> Pick:
        """Choose by one uniform number in [0, 1)."""
        if uniform < self.share:
            return Pick("baseline", self.baseline)
        rest = (uniform - self.share) / (1.0 - self.share)
        if rest < self.floor:
            return Pick("floor", min(int(rest / self.floor * self.arms), self.arms - 1))
        return Pick("policy", None)

    def propensities(self, weights: list[float]) -> list[float]:
        """Return the propensity of every action on offer."""
        kept = (1.0 - self.share) * (1.0 - self.floor)
        least = (1.0 - self.share) * self.floor / self.arms
        found = [kept * weight + least for weight in weights]
        if self.baseline is not None:
            found[self.baseline] += self.share
        return found

    def weights(self, propensities: list[float]) -> list[float] | None:
        """Return the policy's own probabilities behind these; None if it never chooses."""
        kept = (1.0 - self.share) * (1.0 - self.floor)
        least = (1.0 - self.share) * self.floor / self.arms
        if kept == 0.0:
            return None
        shares = [self.share if place == self.baseline else 0.0 for place in range(self.arms)]
        return [
            (known - least - share) / kept
            for known, share in zip(propensities, shares, strict=True)
        ]
