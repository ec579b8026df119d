"""LinUCB, also known as OFUL: optimism in the face of uncertainty."""

import math
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ensample import _core
from ensample.arms import Arms, ChangingArms, Offer, UnitBall
from ensample.calibration import AUTO, GROWS_FROM, Inflation
from ensample.checks import instance, number
from ensample.errors import AssumptionError, InvalidArgument
from ensample.models import LINEAR, GeneralizedLinear, Linear, RewardModel
from ensample.models.exact import ExactModel
from ensample.models.glm import EXACT
from ensample.models.linear import LinearModel, ThetaModel, best_for
from ensample.models.ridge import effective_count
from ensample.policies.policy import Policy
from ensample.policies.recipe import LARGEST_SCALE, Recipe, number_or_auto
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
        optimist = model.stream if isinstance(model, ExactOptimist) else model
        assert isinstance(optimist, OptimisticModel)
        return optimist.beta


@dataclass(frozen=True)
class LinUCB(Recipe):
    """Play the arm that promises most: argmax_x x'theta_hat + beta_t |x|_{V^-1}.

    `form` decides beta_t after t rewards: constant: radius; if that is "auto", sigma sqrt(4 + log(1
    + t / 100) / 2), where sigma, the standard deviation of the noise, is learned with the
    regularization from the rewards (`ensample.calibration`). A fixed radius of 2 sigma leaves one
    run in twenty or more with a wrong arm for ever (docs/studies/long-run.md); closed: noise sqrt(d
    log(1 + t/(d lam)) + 2 log(1/delta)) + sqrt(lam) norm; determinant: noise sqrt(log(det V /
    lam^d) + 2 log(1/delta)) + sqrt(lam) norm, which is never larger for arms of norm <= 1. With a
    `half_life`, as in `EnsembleSampling`, V and theta_hat are those of a past that fades, and t is
    what it counts for. With `norm=None` the largest |theta_hat| so far stands for the unknown norm
    (no guarantee then, and the order of late rewards matters).

    Nothing is random, so a propensity is 0 or 1. Finite and changing arms, O(K d^2) a round for the
    live policy and O(K d) in a simulation; the unit ball, exactly, by one eigendecomposition a
    round (`farthest_point`).

    >>> import numpy as np
    >>> from ensample.arms import FiniteArms
    >>> from ensample.policies.linucb import LinUCB
    >>> policy = LinUCB(radius=0.5).start(FiniteArms(np.eye(3)))
    >>> for _ in range(100):
    ...     decision = policy.decide()
    ...     policy.update(decision, reward=[0.2, 0.9, 0.1][decision.arm])
    >>> policy.propensities().tolist()
    [0.0, 1.0, 0.0]

    `model=Logistic("exact")` is UCB-GLM with the Hessian's norm: argmax_x x'theta_hat + radius
    |x|_{H^-1} at the minimiser of the logistic loss; with `Logistic()` theta_hat and V are those of
    the stream fit. "auto" is radius 2. Li et al. prove O(d sqrt(T)) for the norm of sum x x' and a
    radius that grows.

    Proved for `from_theorem` (see `ensample.theory.ucb_bound`): regret of order d sqrt(T),
    logarithms aside, also where arms change from round to round (not looking at the round's noise)
    and regret is to the best of each round.

    Reference: Y. Abbasi-Yadkori, D. Pal and C. Szepesvari, "Improved Algorithms for Linear
    Stochastic Bandits", NeurIPS 2011; UCB-GLM: L. Li, Y. Lu and D. Zhou, "Provably Optimal
    Algorithms for Generalized Linear Contextual Bandits", ICML 2017.
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
        self.check_regularization()
        self.set_fields(
            radius=number_or_auto("radius", self.radius, 0.0, LARGEST_SCALE),
            noise=number("noise", self.noise, 0.0),
            norm=None if self.norm is None else number("norm", self.norm, 0.0),
            delta=number("delta", self.delta, most=1.0, above=0.0),
        )
        instance("setting", self.setting, Setting | None, "a Setting, or None")
        self.check_half_life()
        self.check_model(Linear, GeneralizedLinear)
        if self.form != "constant" and not isinstance(self.model, Linear):
            raise InvalidArgument("form", self.form, f"'constant' with {self.model!r}")

    @classmethod
    def from_theorem(cls, setting: Setting) -> Self:
        """Return the closed form with the constants of a setting.

        >>> from ensample.theory import Setting
        >>> recipe = LinUCB.from_theorem(Setting(dim=5, arms=20, horizon=10_000, noise=0.5, norm=1))
        >>> recipe.form, recipe.noise, recipe.norm, recipe.delta
        ('closed', 0.5, 1.0, 0.05)
        """
        instance("setting", setting, Setting, "a Setting")
        ucb_bound(setting)
        return cls(
            regularization=setting.regularization,
            form="closed",
            noise=setting.noise,
            norm=setting.norm,
            delta=setting.delta,
            setting=setting,
        )

    @property
    def calibrates(self) -> bool:
        return self.radius == AUTO and self.form == "constant" and self.model.learns_noise

    @property
    def model_family(self) -> str:
        """The family "calibrated" if the radius follows the learned noise."""
        return "calibrated" if self.calibrates else super().model_family

    def guarantee(self, setting: Setting) -> Guarantee:
        """Return the bound of the general theorem, at the constants of the setting."""
        if type(self) is not LinUCB or not isinstance(self.model, Linear):
            return super().guarantee(setting)
        self.require_memory(LINUCB_THEOREM.name)
        LINUCB_THEOREM.require_confidence(setting)
        fixed = ("radius",) if self.form == "constant" else ("noise", "norm", "delta")
        constants = {**asdict(setting), "radius": radius(setting)}
        prescribed = {name: constants[name] for name in ("regularization", *fixed)}
        own = {name: getattr(self, name) for name in prescribed}
        if not self.calibrates:
            own["regularization"] = self.lam
        wrong = [name for name in own if own[name] != prescribed[name]]
        if wrong:
            sides = (prescribed, own)
            words = [", ".join(f"{name} = {side[name]}" for name in wrong) for side in sides]
            raise AssumptionError(LINUCB_THEOREM.name, *words)
        return LINUCB_THEOREM.guarantee(setting, ucb_bound(setting))

    def check(self, arms: Arms) -> None:
        super().check(arms)
        if arms.rows is None and not isinstance(arms, ChangingArms | UnitBall):
            kinds = "FiniteArms, ChangingArms or UnitBall"
            expected = f"{kinds}: LinUCB needs arms it can enumerate, or the ball"
            raise InvalidArgument("arms", arms, expected)

    def build(self, arms: Arms, address: Address) -> "OptimisticModel | ExactOptimist":
        link = self.model if isinstance(self.model, GeneralizedLinear) else None
        stream = OptimisticModel(self, arms, link)
        exact = link is not None and link.fit == EXACT
        return ExactOptimist(stream, arms) if exact else stream

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

    def __init__(self, recipe: LinUCB, arms: Arms, link: GeneralizedLinear | None = None) -> None:
        super().__init__(arms.dim, recipe.prior(arms), recipe.rate, link)
        self.recipe, self.arms, self.factor = recipe, arms, recipe.factor
        self.largest = np.zeros(1)  # |theta_hat| so far

    @property
    def beta(self) -> float:
        """beta_t, the radius of the confidence ellipsoid."""
        base, width, tail, determinant, learned, growth = self.factor
        count = effective_count(self.count, self.rate)
        if learned:
            return math.sqrt(base * base + growth * math.log1p(count / GROWS_FROM)) * self.sigma
        if self.recipe.form == "constant":
            return base
        d, lam = self.dim, self.recipe.lam
        information = self.information if determinant else d * math.log1p(count / d / lam)
        unknown = math.sqrt(lam) * float(self.largest[0]) if self.recipe.norm is None else 0.0
        return base + width * math.sqrt(max(0.0, information + tail)) + unknown

    def estimates(self, round: int) -> FloatArray:
        """Return the optimistic parameter of the coming round's x: [1, d].

        It is theta~ = theta_hat + beta V^-1 x / |x|_{V^-1}, and theta_hat where arms change, as the
        coming ones are not known.
        """
        return optimistic_estimate(self, self)

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        if offer.rows is not None:
            known, beta = self.in_known_units(offer).by_coordinate, self.beta
            arm = _core.optimistic_arm(self.parts.inverse, self.parts.mean, known, beta)
            return arm, offer.rows[arm]
        theta = self.mean
        if isinstance(offer, UnitBall):  # max_x x'y = |y|: look for the longest y of the ellipsoid
            theta = farthest_point(theta, self.gram, self.beta, float(self.parts.prior.min()))
        return best_for(theta, offer)

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        return optimistic_vote(self, self, offer)

    def learn(self, round: int, arm: int, x: FloatArray, y: float) -> None:
        x, y = self.response(x, y)
        _core.learn_optimist(self.state, self.largest, x, y, self.learning, self.link_code)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        return {**super().arrays(), "largest": self.largest}


class ExactOptimist(ExactModel):
    """The optimistic parameter around the minimiser, by its Hessian."""

    stream: OptimisticModel

    def best(self, member: int, offer: Offer) -> tuple[int | None, FloatArray]:
        rows, beta = offer.rows, self.stream.beta
        if rows is None:
            theta = self.mean
            if isinstance(offer, UnitBall):
                theta = farthest_point(theta, self.gram, beta, float(self.parts.prior.min()))
            return best_for(theta, offer)
        widths = np.sqrt(np.maximum(0.0, np.einsum("ki,ij,kj->k", rows, self.inverse, rows)))
        arm = int(np.argmax(np.einsum("ki,i->k", rows, self.mean) + beta * widths))
        return arm, rows[arm]

    def votes(self, offer: Offer) -> tuple[IntArray, FloatArray]:
        return optimistic_vote(self, self.stream, offer)

    def estimates(self, round: int) -> FloatArray:
        return optimistic_estimate(self, self.stream)


def optimistic_estimate(model: ThetaModel, radius: OptimisticModel) -> FloatArray:
    """Return theta~ of the coming round's x by the centre of `model`."""
    if isinstance(radius.arms, ChangingArms):
        return model.mean[None].copy()
    _, x = model.best(0, radius.arms)
    return _core.optimistic_theta(model.inverse, model.mean, x, radius.beta)[None]


def optimistic_vote(
    model: ThetaModel, radius: OptimisticModel, offer: Offer
) -> tuple[IntArray, FloatArray]:
    """Return the arm that promises most, and its promise x'theta_hat + beta |x|_{V^-1}."""
    arm, x = model.best(0, offer)
    width = math.sqrt(max(0.0, float(x @ model.inverse @ x)))
    promise = float(x @ model.mean) + radius.beta * width
    return np.array([arm], np.int64), np.array([promise])


def farthest_point(centre: FloatArray, V: FloatArray, radius: float, least: float) -> FloatArray:
    """Return the longest y with |y - centre|_V <= radius; V has no eigenvalue below `least`.

    A trust-region problem. In the eigenbasis of V, with b_i = radius^2 / v_i, the solution is y_i =
    mu c_i / (mu - b_i) where mu >= max b solves the secular equation sum_i b_i c_i^2 / (mu - b_i)^2
    = 1. The inverse root of that sum is increasing and concave in mu, so that Newton's method
    climbs to the solution from the left. Where the centre has no part in the least known direction
    there may be none: then mu = max b and that direction takes what is left of the radius, to its
    positive side.

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
        if total <= 1.0:
            break
        step = total * (math.sqrt(total) - 1.0) / float(divide(shares**2, s + gaps).sum())
        if not s + step > s:
            break
        s += step
    y = divide((b[0] + s) * c, s + gaps)
    if s == 0.0:
        side = vectors[np.argmax(np.abs(vectors[:, 0])), 0]
        y[0] = math.copysign(math.sqrt(b[0] * max(0.0, 1.0 - total)), side)
    return np.asarray(vectors @ y)


def divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Return top / bottom, 0 where both are."""
    return np.divide(top, bottom, out=np.zeros(top.size), where=bottom > 0.0)
