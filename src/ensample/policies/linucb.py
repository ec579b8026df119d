"""LinUCB, also known as OFUL: optimism in the face of uncertainty."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, ChangingArms, Offer, UnitBall
from ensample.calibration import AUTO, GROWS_FROM, Inflation
from ensample.checks import instance, number
from ensample.errors import AssumptionError, InvalidArgument
from ensample.models import LINEAR, GeneralizedLinear, Linear, RewardModel
from ensample.models.exact import ExactFit
from ensample.models.linear import LinearModel, best_for
from ensample.models.streamed import Streamed
from ensample.policies.generalized import EXACT, link_of
from ensample.policies.policy import Policy
from ensample.policies.recipe import Recipe, number_or_auto
from ensample.randomness import Address
from ensample.theory import Guarantee, Setting, radius, ucb_bound
from ensample.theory.guarantee import LINUCB_THEOREM
from ensample.types import Auto, FloatArray, IntArray

FORMS = ("constant", "closed", "determinant")
STEPS = 100  # of Newton's method; it needs about five
RADIUS = 2.0  # "auto" over sigma, at first
GROWTH = 0.5  # of its square with log(1 + t / 100), if sigma is learned


class LinUCBPolicy(Policy):
    """LinUCB at work."""

    @property
    def beta(self) -> float:
        """beta_t, the radius of the confidence ellipsoid."""
        model = self.model
        assert isinstance(model, OptimisticModel)
        return model.beta


@dataclass(frozen=True)
class LinUCB(Recipe):
    """Play the arm that promises most within the confidence ellipsoid: argmax_x x'theta_hat + beta_t |x|_{V^-1}.

    `form` decides beta_t after t rewards:
    constant: radius; if that is "auto", sigma sqrt(4 + log(1 + t / 100) / 2), where sigma, the standard deviation of the noise,
    is learned with the regularization from the rewards (`ensample.calibration`). A fixed radius of 2 sigma leaves one run in
    twenty or more with a wrong arm for ever (docs/studies/long-run.md);
    closed: noise sqrt(d log(1 + t/(d lam)) + 2 log(1/delta)) + sqrt(lam) norm;
    determinant: noise sqrt(log(det V / lam^d) + 2 log(1/delta)) + sqrt(lam) norm, which is never larger for arms of norm <= 1.
    With a `half_life`, as in `EnsembleSampling`, V and theta_hat are those of a past that fades, and t is what it counts for.
    With `norm=None` the largest |theta_hat| so far stands for the unknown norm (no guarantee then, and the order of late
    rewards matters).

    Nothing is random, so a propensity is 0 or 1. Finite and changing arms, O(K d^2) a round for the live policy and O(K d) in
    a simulation; the unit ball, exactly, by one eigendecomposition a round (`farthest_point`).

    >>> import numpy as np
    >>> from ensample.arms import FiniteArms
    >>> from ensample.policies.linucb import LinUCB
    >>> policy = LinUCB(radius=0.5).start(FiniteArms(np.eye(3)))
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> policy.propensities().tolist()
    [0.0, 1.0, 0.0]

    `model=Logistic("exact")` is UCB-GLM with the Hessian's norm: argmax_x x'theta_hat + radius |x|_{H^-1} at the minimiser of
    the logistic loss; with `Logistic()` theta_hat and V are those of the stream fit. "auto" is radius 2. Li et al. prove
    O(d sqrt(T)) for the norm of sum x x' and a radius that grows.

    Proved for `from_theorem` (see `ensample.theory.ucb_bound`): regret of order d sqrt(T), logarithms aside, also where arms
    change from round to round (not looking at the round's noise) and regret is to the best of each round.

    Reference: Y. Abbasi-Yadkori, D. Pal and C. Szepesvari, "Improved Algorithms for Linear Stochastic Bandits", NeurIPS 2011;
    UCB-GLM: L. Li, Y. Lu and D. Zhou, "Provably Optimal Algorithms for Generalized Linear Contextual Bandits", ICML 2017.
    """

    radius: float | Auto = AUTO
    regularization: float | Auto = AUTO
    form: str = "constant"
    noise: float = 1.0
    norm: float | None = 1.0
    delta: float = 0.05
    setting: Setting | None = field(default=None, kw_only=True)
    half_life: float | None = field(default=None, kw_only=True)
    model: RewardModel = field(default=LINEAR, kw_only=True)
    scale = 0.0
    theorem_lets_arms_change: ClassVar[bool] = True
    policy_type: ClassVar[type[Policy]] = LinUCBPolicy

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InvalidArgument("form", self.form, f"one of {', '.join(map(repr, FORMS))}")
        checked = {
            "radius": number_or_auto("radius", self.radius, 0.0, 1e50),
            "regularization": number_or_auto("regularization", self.regularization, 1e-12, 1e50),
            "noise": number("noise", self.noise, 0.0),
            "norm": None if self.norm is None else number("norm", self.norm, 0.0),
            "delta": number("delta", self.delta, most=1.0, above=0.0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        instance("setting", self.setting, Setting | None, "a Setting, or None")
        self.check_half_life()
        self.check_model(Linear, GeneralizedLinear)
        if self.form != "constant" and not isinstance(self.model, Linear):
            raise InvalidArgument("form", self.form, f"'constant' with {self.model!r}")

    @classmethod
    def from_theorem(cls, setting: Setting) -> Self:
        """The closed form with the constants of a setting.

        >>> from ensample.theory import Setting
        >>> recipe = LinUCB.from_theorem(Setting(dim=5, arms=20, horizon=10_000, noise=0.5, norm=1))
        >>> recipe.form, recipe.noise, recipe.norm, recipe.delta
        ('closed', 0.5, 1.0, 0.05)
        """
        instance("setting", setting, Setting, "a Setting")
        ucb_bound(setting)
        constants: dict[str, Any] = {
            "noise": setting.noise,
            "norm": setting.norm,
            "delta": setting.delta,
        }
        return cls(
            regularization=setting.regularization, form="closed", setting=setting, **constants
        )

    @property
    def calibrates(self) -> bool:
        return self.radius == AUTO and self.form == "constant" and self.model.learns_noise

    @property
    def model_family(self) -> str:
        """The family "calibrated" if the radius follows the learned noise: its default rule may change."""
        return "calibrated" if self.calibrates else super().model_family

    def guarantee(self, setting: Setting) -> Guarantee:
        """The general theorem, for a radius of beta_T or either form of beta_t at the constants of the setting."""
        if type(self) is not LinUCB or not isinstance(self.model, Linear):
            return super().guarantee(setting)
        self.require_memory(LINUCB_THEOREM.name)
        LINUCB_THEOREM.require_confidence(setting)
        names = (
            ("regularization", "radius")
            if self.form == "constant"
            else ("regularization", "noise", "norm", "delta")
        )
        constants = {**asdict(setting), "radius": radius(setting)}
        own, asked = (
            {name: getattr(self, name) for name in names},
            {name: constants[name] for name in names},
        )
        if not self.calibrates:
            own["regularization"] = self.lam
        if own != asked:
            wrong = [name for name in own if own[name] != asked[name]]
            words = [", ".join(f"{name} = {side[name]}" for name in wrong) for side in (asked, own)]
            raise AssumptionError(LINUCB_THEOREM.name, *words)
        return LINUCB_THEOREM.guarantee(setting, ucb_bound(setting))

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if arms.rows is None and not isinstance(arms, ChangingArms | UnitBall):
            kinds = "FiniteArms, ChangingArms or UnitBall"
            raise InvalidArgument(
                "arms", arms, f"{kinds}: LinUCB needs arms it can enumerate, or the ball"
            )

    def build(self, arms: Arms, address: Address) -> "OptimisticModel":
        if isinstance(self.model, GeneralizedLinear):
            return (ExactOptimist if self.model.fit == EXACT else StreamOptimist)(self, arms)
        return OptimisticModel(self, arms)

    @property
    def factor(self) -> Inflation:
        """Return beta_t as kernels take it, without the part of the norm where that is learned."""
        if self.radius == AUTO and self.form == "constant":
            if not self.model.learns_noise:
                return Inflation(RADIUS)
            return Inflation(RADIUS, learned=True, growth=GROWTH)
        if self.radius != AUTO and self.form == "constant":
            return Inflation(self.radius)
        base = math.sqrt(self.lam) * (self.norm or 0.0)
        return Inflation(base, self.noise, -2.0 * math.log(self.delta), self.form == "determinant")


class OptimisticModel(LinearModel):
    """One member, the most optimistic parameter of the confidence ellipsoid."""

    def __init__(self, recipe: LinUCB, arms: Arms) -> None:
        super().__init__(arms.dim, recipe.prior(arms), recipe.rate)
        self.recipe = recipe
        self.arms = arms
        self.largest = np.zeros(1)  # |theta_hat| so far

    @property
    def beta(self) -> float:
        """beta_t, the radius of the confidence ellipsoid."""
        base, width, tail, determinant, learned, growth = self.recipe.factor
        count = (
            math.expm1(-self.rate * self.count) / math.expm1(-self.rate)
            if self.rate
            else self.count
        )
        if learned:
            return math.sqrt(base * base + growth * math.log1p(count / GROWS_FROM)) * self.sigma
        if self.recipe.form == "constant":
            return base
        d, lam = self.dim, self.recipe.lam
        information = self.information if determinant else d * math.log1p(count / d / lam)
        unknown = math.sqrt(lam) * float(self.largest[0]) if self.recipe.norm is None else 0.0
        return base + width * math.sqrt(max(0.0, information + tail)) + unknown

    def estimates(self, round: int) -> FloatArray:
        """The optimistic parameter theta~ = theta_hat + beta V^-1 x / |x|_{V^-1} of the coming round's x: [1, d].

        It is theta_hat where arms change, as the coming ones are not known.
        """
        if isinstance(self.arms, ChangingArms):
            return self.mean[None].copy()
        _, x = self.best(0, self.arms)
        return _core.optimistic_theta(self.inverse, self.mean, x, self.beta)[None]

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        if offer.rows is not None:
            arm = _core.optimistic_arm(
                self.inverse, self.mean, self.in_known_units(offer).by_coordinate, self.beta
            )
            return arm, offer.rows[arm]
        theta = self.mean
        if isinstance(offer, UnitBall):  # max_x x'y = |y|: look for the longest y of the ellipsoid
            theta = farthest_point(theta, self.gram, self.beta, float(self.parts.prior.min()))
        return best_for(theta, offer)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        arm, x = self.best(0, offer)
        promise = float(x @ self.mean) + self.beta * math.sqrt(
            max(0.0, float(x @ self.inverse @ x))
        )
        return np.array([arm], np.int64), np.array([promise])

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        _core.learn_optimist(self.state, self.largest, x, y, self.learning, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "largest": self.largest}


class StreamOptimist(Streamed, OptimisticModel):
    """theta_hat and V of the stream fit."""

    def __init__(self, recipe: LinUCB, arms: Arms) -> None:
        self.link = link_of(recipe)
        OptimisticModel.__init__(self, recipe, arms)


class ExactOptimist(ExactFit, StreamOptimist):
    """theta_hat and the Hessian of the exact fit."""

    def __init__(self, recipe: LinUCB, arms: Arms) -> None:
        super().__init__(recipe, arms)
        self.count_arms(arms)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        if offer.rows is None:
            return super().best(member, offer)
        widths = np.sqrt(
            np.maximum(0.0, np.einsum("ki,ij,kj->k", offer.rows, self.inverse, offer.rows))
        )
        arm = int(np.argmax(np.einsum("ki,i->k", offer.rows, self.mean) + self.beta * widths))
        return arm, offer.rows[arm]


def farthest_point(centre: FloatArray, V: FloatArray, radius: float, least: float) -> FloatArray:
    """The longest y with |y - centre|_V <= radius: [d]. `least` is a lower bound on the eigenvalues of V.

    A trust-region problem. In the eigenbasis of V, with b_i = radius^2 / v_i, the solution is y_i = mu c_i / (mu - b_i) where
    mu >= max b solves the secular equation sum_i b_i c_i^2 / (mu - b_i)^2 = 1. The inverse root of that sum is increasing and
    concave in mu, so that Newton's method climbs to the solution from the left. Where the centre has no part in the least known
    direction there may be none: then mu = max b and that direction takes what is left of the radius, to its positive side.

    >>> farthest_point(np.array([0.0, 2.0]), np.diag([1.0, 1.0]), 0.5, 1.0)
    array([0. , 2.5])
    """
    if radius == 0.0:
        return centre
    values, vectors = np.linalg.eigh(V)  # ascending: the least known direction comes first
    b = radius**2 / np.maximum(values, least)
    c = centre @ vectors
    gaps, reach = b[0] - b, np.sqrt(b) * np.abs(c)
    s = max(0.0, float((reach - gaps).max()))  # mu - max b, at most the root's
    for _ in range(STEPS):
        shares = divide(reach, s + gaps)
        total = float(shares @ shares)
        step = (
            total * (math.sqrt(total) - 1.0) / float(divide(shares**2, s + gaps).sum())
            if total > 1.0
            else 0.0
        )
        if not s + step > s:
            break
        s += step
    y = divide((b[0] + s) * c, s + gaps)
    if s == 0.0:
        side = vectors[np.argmax(np.abs(vectors[:, 0])), 0]
        y[0] = math.copysign(math.sqrt(b[0] * max(0.0, 1.0 - total)), side)
    return np.asarray(vectors @ y)


def divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """top / bottom, 0 where both are."""
    return np.divide(top, bottom, out=np.zeros(top.size), where=bottom > 0.0)
