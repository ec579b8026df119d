"""The constants of a problem."""

from dataclasses import dataclass

from ensample.checks import number, whole

LONGEST = 10**30
"""The largest dim, number of arms and horizon: beyond any use, within what doubles hold."""


@dataclass(frozen=True)
class Setting:
    """d, K, T, sigma, S, lam and delta; `arms=None` stands for an infinite set.

    >>> Setting(dim=5, arms=20, horizon=10_000, noise=1, norm=1)
    Setting(dim=5, arms=20, horizon=10000, noise=1.0, norm=1.0, regularization=1.0, delta=0.05)
    """

    dim: int  # d
    arms: int | None  # K
    horizon: int  # T
    noise: float  # sigma, the subGaussian constant of the reward noise
    norm: float  # S >= |theta*|
    regularization: float = 1.0  # lam
    delta: float = 0.05

    def __post_init__(self) -> None:
        checked = {
            "dim": whole("dim", self.dim, 1, LONGEST),
            "arms": None if self.arms is None else whole("arms", self.arms, 1, LONGEST),
            "horizon": whole("horizon", self.horizon, 1, LONGEST),
            "noise": number("noise", self.noise, 0.0, 1e50),
            "norm": number("norm", self.norm, 0.0, 1e50),
            "regularization": number("regularization", self.regularization, 1e-50, 1e50),
            "delta": number("delta", self.delta, most=1.0, above=0.0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def covers(self, other: "Setting") -> bool:
        """Whether bounds here hold there: same dim and horizon, no more arms, noise and norm."""
        fewer = self.arms is None or (other.arms is not None and other.arms <= self.arms)
        same = (self.dim, self.horizon) == (other.dim, other.horizon)
        return same and fewer and other.noise <= self.noise and other.norm <= self.norm
