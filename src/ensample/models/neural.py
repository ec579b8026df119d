"""Networks as a model of rewards, without torch."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ensample.arms import Arms, ChangingArms
from ensample.calibration import AUTO
from ensample.checks import number, sequence, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.memory import check_memory
from ensample.models.base import EnsemblePlan, RewardModel
from ensample.models.network_ensemble import LOSSES, CoreTraining, NetworkEnsemble, Schedule
from ensample.models.networks import ACTIVATIONS, Nets, Networks
from ensample.perturbations import GAUSSIAN, Perturbation
from ensample.randomness import Address
from ensample.registry import one_of
from ensample.types import Auto

OPTIMIZERS = ("adam", "sgd")
WIDEST, DEEPEST = 4096, 8


@dataclass(frozen=True, kw_only=True)
class Trained(RewardModel):
    """Networks and how they are trained: what `Neural` and `TorchModel` have in common."""

    model_family: ClassVar[str] = "networks"
    loss: str = "squared"
    prior: float = 0.0
    optimizer: str = "adam"
    rate: float = 0.003
    batch: int = 64
    steps: int = 1
    memory: int = 4096

    def check_training(self) -> None:
        """Raise on a field that cannot be used."""
        check_word("loss", self.loss, LOSSES)
        check_word("optimizer", self.optimizer, OPTIMIZERS)
        object.__setattr__(self, "prior", number("prior", self.prior, 0.0, 1e6))
        object.__setattr__(self, "rate", number("rate", self.rate, 0.0, 1.0, above=0.0))
        for name, most in (("batch", 1 << 20), ("steps", 1000), ("memory", 1 << 30)):
            object.__setattr__(self, name, whole(name, getattr(self, name), 1, most))

    @property
    def reward_range(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.loss == "logistic" else super().reward_range

    @property
    def rewards_expected(self) -> str:
        return LOSSES[self.loss].expected

    def member_numbers(self, dim: int) -> int:
        return 1

    def check(self, plan: EnsemblePlan) -> None:
        name = type(self).__name__
        if plan.initial is not None:
            words = "W are its initial weights, which have their own law"
            raise InvalidArgument("initial", plan.initial, f"None with {name}: {words}")
        if plan.intercept:
            words = f"False with {name}, whose layers have constants"
            raise InvalidArgument("intercept", True, words)
        self._check_memory_of_all(plan.half_life)

    def _check_memory_of_all(self, half_life: float | None) -> None:
        if half_life is not None:
            expected = f"None with {type(self).__name__}, which does not forget"
            raise InvalidArgument("half_life", half_life, expected)

    @abstractmethod
    def nets(self, dim: int, size: int, address: Address) -> Nets:
        """Return the networks of so many members."""

    ensemble_of: ClassVar[type[NetworkEnsemble]] = NetworkEnsemble

    def ensemble(self, plan: EnsemblePlan, arms: Arms, address: Address) -> NetworkEnsemble:
        scale = plan.boldness if plan.scale == AUTO else None
        training = self._training(plan.regularization, scale, self.prior)
        return self._build(plan.size, training, plan.reward_law, arms, address)

    def single(
        self, regularization: float | Auto, half_life: float | None, arms: Arms, address: Address
    ) -> NetworkEnsemble:
        """Return one network, trained on rewards as they are: for `Greedy`, `EpsilonGreedy`."""
        self._check_memory_of_all(half_life)
        training = self._training(regularization, 0.0, 0.0)
        return self._build(1, training, GAUSSIAN, arms, address)

    def _training(
        self, regularization: float | Auto, scale: float | None, prior: float
    ) -> CoreTraining:
        """`scale` multiplies sigma; None if perturbations are in the units of the rewards."""
        pull = (True, 0.0) if regularization == AUTO else (False, regularization)
        factor = (False, 1.0) if scale is None else (True, scale)
        return CoreTraining(LOSSES[self.loss].code, self.rate, prior, *factor, *pull)

    def _build(
        self, size: int, training: CoreTraining, law: Perturbation, arms: Arms, address: Address
    ) -> NetworkEnsemble:
        if arms.rows is None and not isinstance(arms, ChangingArms):
            kinds = "FiniteArms or ChangingArms"
            expected = f"{kinds}: {type(self).__name__} scores arms one by one"
            raise InvalidArgument("arms", arms, expected)
        check_memory("memory", self.memory, self.memory * (size + arms.dim))
        nets = self.nets(arms.dim, size, address)
        training = training._replace(prior=training.prior / nets.gain)
        schedule = Schedule(self.optimizer == "adam", self.batch, self.steps, self.memory)
        return self.ensemble_of(nets, training, schedule, law, address, arms.rows)


@dataclass(frozen=True)
class Neural(Trained):
    """E[Y | x] is a network of x: hidden layers of the given widths, all members trained together.

    Member j goes downhill on sum_i (f^j(x_i) + prior p^j(x_i) - Y_i - Z_i^j)^2 + lam |(w^j - W^j) /
    s|^2, the loss of Algorithm 1. W^j are its initial weights, drawn with standard deviations s, to
    which it is pulled. p^j is a network of the same shape that is never trained: with `prior=1.0`
    it helps where rewards are rare, and costs elsewhere. Each round takes `steps` minibatches of
    `batch` observations, the same for all members (more in the first rounds), from a memory of at
    most `memory`: a uniform sample of all there were.

    Units do not matter: features are divided by their typical size, rewards are taken in units of
    their spread about their mean. A recipe's scale "auto" perturbs rewards by 0.75 sigma, sigma
    being by how much the members' mean has missed the rewards of late; a number is in the units of
    the rewards. Regularization "auto" is lam = sigma^2 / spread^2.

    `loss="logistic"` is for rewards in [0, 1]: outputs are then log-odds, and the loss is perturbed
    linearly.

    >>> import numpy as np, ensample as es
    >>> arms = es.FiniteArms(np.linspace(-1.0, 1.0, 9)[:, None])
    >>> policy = es.EnsembleSampling(size=30, model=es.Neural(hidden=(20,))).start(arms, seed=0)
    >>> for _ in range(120):
    ...     decision = policy.decide()
    ...     x = decision.features[0]
    ...     policy.update(decision, reward=1.0 - (x - 0.5) ** 2)  # best at 0.5: arm 6
    >>> int(policy.propensities().argmax())
    6

    Finite and changing arms. State is a fold of the log; a replay gives the same bits on every
    x86-64 machine. Nothing is proved.

    References: X. Lu and B. Van Roy, "Ensemble Sampling", NeurIPS 2017; I. Osband, J. Aslanides and
    A. Cassirer, "Randomized Prior Functions for Deep Reinforcement Learning", NeurIPS 2018.
    """

    hidden: Sequence[int] = (50, 50)
    activation: str = "relu"
    learns_noise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given = sequence("hidden", self.hidden, "widths of layers")
        widths = tuple(whole("hidden", width, 1, WIDEST) for width in given)
        if not 1 <= len(widths) <= DEEPEST:
            raise InvalidArgument("hidden", self.hidden, f"the widths of 1 to {DEEPEST} layers")
        object.__setattr__(self, "hidden", widths)
        check_word("activation", self.activation, ACTIVATIONS)
        self.check_training()

    def member_numbers(self, dim: int) -> int:
        weights = sum((width + 1) * after for width, after in pairwise((dim, *self.hidden, 1)))
        copies = 4 if self.optimizer == "adam" else 2  # where they began, the optimiser's moments
        return copies * weights

    def nets(self, dim: int, size: int, address: Address) -> Networks:
        return Networks(dim, self.hidden, self.activation, size)


def check_word(argument: str, value: object, names: Iterable[str]) -> None:
    """Raise unless it is one of these words."""
    if not isinstance(value, str):
        raise WrongType(argument, value, f"one of {', '.join(names)}")
    if value not in names:
        raise InvalidArgument(argument, value, one_of(value, list(names)))
