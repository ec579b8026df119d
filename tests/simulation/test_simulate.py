"""The simulator: the same bits for any threads, kernels that play as live policies do, and clear complaints."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import ensample as es
from ensample.randomness import RunStream, run_generator
from ensample.registry import public_classes
from ensample.simulation.plan import Plan, chunks
from naive.stored import StoredRows, StoredVectors

FAMILY = es.problem("sphere", dim=4, arms=8, noise=0.4)
RECIPES = [
    es.EnsembleSampling(size=20, scale=0.4),
    es.EnsembleSampling(size=20, scale=0.4, member=es.OptimisticMember()),
    es.PerturbedHistory(scale=0.4),
    es.PerturbedHistory(scale=0.4, reward=es.Rademacher(0.4)),
    es.ThompsonSampling(scale=0.4),
    es.LinUCB(radius=0.8),
    es.Greedy(),
    es.EpsilonGreedy(),
    es.SymmetrizedEnsembleSampling(size=10, scale=0.4),
    es.SharpEnsembleSampling(size=10, gamma=0.3),
    es.RefreshedEnsembleSampling(size=10, scale=0.4),
    es.KvetonPHE(),
    es.SupLinUCB(500, 0.5),
    es.MultiplierBootstrap(5),
    es.EnsemblePlusPlus(size=8, scale=0.4),
    es.InformationDirected(size=10, scale=0.4),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
def test_the_same_bits_for_any_threads(recipe: es.Recipe) -> None:
    one, two, three = (
        es.simulate(recipe, FAMILY, 300, 6, seed=3, threads=threads) for threads in (1, 2, 3)
    )
    np.testing.assert_array_equal(one.regret, two.regret)
    np.testing.assert_array_equal(one.regret, three.regret)
    np.testing.assert_array_equal(one.pulls, two.pulls)
    assert one.evaluation != "live"
    assert not np.array_equal(one.regret, es.simulate(recipe, FAMILY, 300, 6, seed=4).regret)


def test_a_replicate_does_not_depend_on_how_many_there_are() -> None:
    many, few = (es.simulate(RECIPES[0], FAMILY, 100, runs) for runs in (7, 3))
    np.testing.assert_array_equal(many.regret[:3], few.regret)


def test_all_recipes_face_the_same_problem_and_noise() -> None:
    """Two deterministic recipes that agree on the arms see the same rewards."""
    first = es.simulate(es.LinUCB(radius=0.0), FAMILY, 200, 5)
    second = es.simulate(es.Greedy(regularization=1.0), FAMILY, 200, 5)
    np.testing.assert_array_equal(first.regret, second.regret)


@pytest.mark.parametrize(
    "rule",
    [es.UniformMember(), es.RoundRobin(), es.StickyMember(3), es.OptimisticMember()],
    ids=repr,
)
@pytest.mark.parametrize("law", [es.Gaussian(0.6), es.Uniform(0.6)], ids=repr)
def test_the_eager_kernel_plays_the_live_policys_arms(
    law: es.Perturbation, rule: es.MemberRule
) -> None:
    """The live policy is handed the numbers that the kernel drew."""
    rounds, size, dim, seed = 400, 9, 3, 5
    X = np.random.default_rng(0).standard_normal((7, dim)) / 2
    problem = es.LinearProblem(es.FiniteArms(X), [0.5, -0.3, 0.4], 0.3)
    recipe = es.EnsembleSampling(size=size, scale=0.6, reward=law, initial=law, member=rule)
    simulated = es.simulate(recipe, problem, rounds, 1, seed, "eager", checkpoints=rounds)

    perturbation, member, noise = (
        run_generator(seed, 0, 0, stream)
        for stream in (RunStream.PERTURBATION, RunStream.MEMBER, RunStream.NOISE)
    )
    W, Z = law.draw(perturbation, (size, dim)), law.draw(perturbation, (rounds, size))
    j = (member.random(rounds) * size).astype(int)
    eta = 0.3 * noise.standard_normal(rounds)
    drawn = {
        es.UniformMember(): lambda t, m, rng: int(j[t]),
        es.StickyMember(3): lambda t, m, rng: int(j[t // 3]),
    }
    stored = drawn.get(rule, rule)
    policy = es.EnsembleSampling(size, 0.6, 1.0, StoredVectors(W), StoredRows(Z), stored).start(
        problem.arms
    )
    regret = 0.0
    for t in range(rounds):
        decision = policy.decide()
        mean = problem.mean(decision.features)
        policy.update(decision, mean + eta[t])
        regret += problem.best_mean() - mean
        assert simulated.regret[0, t] == pytest.approx(regret, abs=1e-9), (
            f"another arm in round {t}"
        )


def test_checkpoints() -> None:
    runs = es.simulate(es.Greedy(), FAMILY, 1000, 2, checkpoints=7)
    assert (
        runs.checkpoints[-1] == 1000 and runs.checkpoints.size == 7 and runs.regret.shape == (2, 7)
    )
    assert (np.diff(runs.regret, axis=1) >= 0).all()
    assert es.simulate(es.Greedy(), FAMILY, 5, 1).checkpoints.tolist() == [1, 2, 3, 4, 5]
    assert es.simulate(es.Greedy(), FAMILY, 1, 1, checkpoints=1).regret.shape == (1, 1)


def test_runs_say_what_happened() -> None:
    runs = es.simulate(RECIPES[0], FAMILY, 100, 8)
    summary = runs.summary()
    assert (
        summary["mean"] == pytest.approx(runs.regret[:, -1].mean()) == pytest.approx(runs.mean[-1])
    )
    assert summary["standard_error"] == pytest.approx(runs.regret[:, -1].std(ddof=1) / 8**0.5)
    assert summary["p90"] == pytest.approx(runs.quantile(0.9)[-1])
    assert runs.pulls.sum(axis=1).tolist() == [100] * 8
    frame = runs.to_frame()
    assert frame.columns == ["run", "round", "regret"] and frame.height == 8 * 100
    assert frame["regret"].to_numpy() == pytest.approx(runs.regret.ravel())
    assert np.isnan(es.simulate(RECIPES[0], FAMILY, 10, 1).standard_error).all()
    assert "8 runs" in repr(runs)
    slow = replace(runs, seconds=np.array([9.0] + [0.5] * 7))  # the first run had to wait
    assert slow.seconds_per_round == 0.005 and slow.summary()["rounds_per_second"] == pytest.approx(
        200
    )


@pytest.mark.parametrize(
    ("runs", "most", "first"), [(1, 1, 1), (7, 3, 1), (1000, 64, 1), (9, 4, 4)]
)
def test_chunks_grow_and_hold_every_replicate_once(runs: int, most: int, first: int) -> None:
    found = list(chunks(range(2, 2 + runs), most, first))
    assert [number for chunk in found for number in chunk] == list(range(2, 2 + runs))
    assert len(found[0]) == min(first, runs) and max(map(len, found)) <= most


def of_known_scale(recipe: es.Recipe) -> es.Recipe:
    return replace(recipe, scale=0.5) if "scale" in recipe.__dataclass_fields__ else recipe


def recipes() -> list[es.Recipe]:
    """Return a recipe of each type, and those whose kernels differ within a type."""
    usual = (
        kind(3) if "size" in kind.__dataclass_fields__ else kind()
        for kind in public_classes(es.Recipe).values()
    )
    return [
        *usual,
        es.EnsembleSampling(3, fresh=False),
        es.InformationDirected(3, fresh=True),
        es.EnsembleSampling(3, member=es.OptimisticMember()),
        es.PerturbedHistory(reward=es.Uniform(1.0)),
        es.EnsembleSampling(3, model=es.Logistic()),
        es.EnsembleSampling(3, model=es.Logistic(), fresh=False),
        es.EnsembleSampling(3, model=es.Logistic("exact")),
        es.ThompsonSampling(model=es.Logistic()),
    ]


def ways(recipe: es.Recipe, family: es.Family) -> Iterator[str]:
    """Yield the evaluations that kernels have for a recipe."""
    for way in ("lazy", "eager"):
        with suppress(es.InvalidArgument):
            yield es.simulate(recipe, family, 1, 1, evaluation=way, threads=1).evaluation


def by_kernels() -> list[tuple[es.Recipe, str, str]]:
    """Every recipe, with scales that are known and that are learned, where kernels play it: the problem and the way."""
    forgets = es.EnsembleSampling(3, scale=0.5, half_life=9.0)
    cases = []
    for recipe in {
        repr(recipe): recipe for recipe in (*map(of_known_scale, recipes()), *recipes(), forgets)
    }.values():
        clicks = recipe.model.reward_range[1] == 1.0
        for name in ("logistic", "clicks") if clicks else ("sphere", "contextual"):
            cases += [(recipe, name, way) for way in ways(recipe, es.problem(name, dim=2, arms=5))]
    return cases


@pytest.mark.parametrize(("recipe", "name", "way"), by_kernels(), ids=repr)
def test_replicate_does_not_depend_on_those_before_it(
    recipe: es.Recipe, name: str, way: str
) -> None:
    """Generators are moved and states reset from replicate to replicate."""
    family = es.problem(name, dim=2, arms=5)
    for faced in (family, family.draw(np.random.default_rng(0))):
        whole = es.simulate(recipe, faced, 60, 12, evaluation=way, checkpoints=2, threads=1)
        plan = Plan(recipe, faced, whole.checkpoints, way)
        for numbers in ((3,), (4,), (11,), (11, 3, 3, 4, 11)):
            part = plan.run(numbers)
            for row, r in enumerate(numbers):
                np.testing.assert_array_equal(part.regret[row], whole.regret[r])
                if whole.pulls is not None:
                    np.testing.assert_array_equal(part.pulls[row], whole.pulls[r])


def test_rounds_are_told_of_on_the_way() -> None:
    """By the live policy before its run is over, so that a bar moves; by kernels after each run."""
    for evaluation, least in (("live", 100), ("auto", 3)):
        told: list[int] = []
        es.simulate(
            es.Greedy(), FAMILY, 250, 3, evaluation=evaluation, threads=1, rounds=told.append
        )
        assert told == sorted(told) and told[-1] == 750 and len(told) >= least
        assert {250, 500} <= set(told)


def test_progress_is_told() -> None:
    told: list[int] = []
    es.simulate(es.Greedy(), FAMILY, 10, 5, progress=told.append)
    assert told == [1, 2, 3, 4, 5]


def test_memory_does_not_grow_with_the_ensemble() -> None:
    """A billion members, of which a run of 200 rounds can meet 200."""
    runs = es.simulate(es.EnsembleSampling(size=10**9, scale=0.4), FAMILY, 200, 2)
    assert runs.evaluation == "lazy" and np.isfinite(runs.regret).all()


@pytest.mark.parametrize(
    "name", ["sphere", "linreboot", "kveton", "two-arms", "trap", "ball", "contextual"]
)
def test_every_problem_can_be_played(name: str) -> None:
    runs = es.simulate(es.PerturbedHistory(scale=0.5), es.problem(name), 120, 2)
    assert np.isfinite(runs.regret).all() and (runs.regret >= -1e-9).all()


def test_an_error_in_a_replicate_ends_the_simulation() -> None:
    def broken(round, size, rng):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        es.simulate(es.EnsembleSampling(size=3, member=broken), FAMILY, 10, 20, evaluation="live")


@pytest.mark.parametrize(("runs", "after"), [(4, 1.0), (20_000, 0.3)])
def test_ctrl_c_stops_within_a_second(runs: int, after: float) -> None:
    """Also while many replicates wait for their turn. Two threads work for less than three seconds then, which take as long as
    the machine lets them."""
    code = (
        "import ensample as es, signal, threading, os, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a run in the background inherits that it is ignored
        "es.simulate(es.EnsembleSampling(size=10, scale=0.3), es.problem('sphere'), 10, 1)\n"
        "worked = []\n"
        "def stop():\n"
        "    worked.append(time.process_time())\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        f"threading.Timer({after}, stop).start()\n"
        "try:\n"
        f"    es.simulate(es.EnsembleSampling(size=10, scale=0.3), es.problem('sphere'), 10**9, {runs}, threads=2)\n"
        "except KeyboardInterrupt:\n"
        "    print(time.process_time() - worked[0])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert 0.0 <= float(shown.stdout) < 3.0, shown.stderr


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        *(({"recipe": value}, "recipe") for value in (None, "greedy", es.Greedy)),
        *(({"problem": value}, "problem") for value in (None, "sphere", 3)),
        *(({"horizon": value}, "horizon") for value in (0, -1, 1.5, None, 2**31)),
        *(({"runs": value}, "runs") for value in (0, "2", 1.0)),
        *(({"seed": value}, "seed") for value in (-1, None)),
        *(({"evaluation": value}, "evaluation") for value in ("fast", None, "eager")),
        *(({"checkpoints": value}, "checkpoints") for value in (0, 2.5)),
        *(({"threads": value}, "threads") for value in (0, -1, "all")),
        *(({"cell": value}, "cell") for value in (-1, "a")),
        *(({"progress": value}, "progress") for value in (3, "bar")),
        ({"rounds": 3}, "rounds"),
    ],
)
def test_bad_arguments_are_named(change: dict, argument: str) -> None:
    arguments = {
        "recipe": es.EnsembleSampling(size=3, reward=Own()),
        "problem": FAMILY,
        "horizon": 10,
        "runs": 1,
    }
    with pytest.raises(es.InvalidArgument) as caught:
        es.simulate(**(arguments | change))
    assert caught.value.argument == argument


class Own(es.Uniform):
    """A law that kernels do not know."""


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(es.InvalidArgument, match=r"one of .*sphere.*did you mean 'sphere'\?"):
        es.problem("spere")
    with pytest.raises(es.InvalidArgument, match=r"^arm = 3: expected .*did you mean 'arms'"):
        es.problem("sphere", arm=3)
    with pytest.raises(es.InvalidArgument, match=r"^problem = 7"):
        es.problem(7)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: es.problem("sphere", dim=0), "dim"),
        (lambda: es.problem("sphere", noise=-1), "noise"),
        (lambda: es.problem("kveton", dim=10, arms=5), "arms"),
        (lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0], 0.1), "theta"),
        (lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, np.nan], 0.1), "theta"),
        (
            lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [2.0, 0.5], es.BernoulliNoise()),
            "theta",
        ),
        (lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], "loud"), "noise"),
        (
            lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], es.BernoulliNoise),
            "noise",
        ),
        (lambda: es.LinearProblem(es.ChangingArms(2), [1.0, 0.5], 0.1), "arms"),
        (lambda: es.LinearProblem("arms", [1.0, 0.5], 0.1), "arms"),
        (
            lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, opening=[2]),
            "opening",
        ),
        (
            lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, warmup=[[1.0]]),
            "warmup",
        ),
        (lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, warmup=[2]), "warmup"),
        (
            lambda: es.LinearProblem(es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, warmup=[0.5]),
            "warmup",
        ),
        (
            lambda: es.LinearProblem(
                es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, warmup=[3], others=[[1.0, 1.0]]
            ),
            "warmup",
        ),
        (
            lambda: es.LinearProblem(
                es.FiniteArms(np.eye(2)), [1.0, 0.5], 0.1, warmup=[2], others=[[1.0]]
            ),
            "others",
        ),
        (lambda: es.LinearProblem(es.UnitBall(2), [0.5, 0.0], 0.1, warmup=[0]), "warmup"),
        (lambda: es.HeteroscedasticNoise(0.5, 0.1), "high"),
        (lambda: es.LinearProblem(es.UnitBall(2), [0.5, 0.0], es.BernoulliNoise()), "theta"),
        (
            lambda: es.LinearProblem(
                es.FiniteArms([[0.5]]), [1.0], es.BernoulliNoise(), warmup=[[5.0]]
            ),
            "theta",
        ),
        (lambda: es.ContextualLinearProblem(3, [0.5, 0.0], es.BernoulliNoise()), "theta"),
        (lambda: es.LinearProblem(es.UnitBall(2), [0.5, 0.0], 0.1, opening=[0]), "opening"),
        (lambda: es.problem("two-arms", noise=-1), "noise"),
        (lambda: es.ContextualLinearProblem(0, [1.0], 0.1), "count"),
    ],
)
def test_bad_problems_are_named(make, argument: str) -> None:
    with pytest.raises(es.InvalidArgument) as caught:
        make()
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    "noise",
    [
        es.GaussianNoise(0.3),
        es.RademacherNoise(0.3),
        es.BernoulliNoise(),
        es.HeteroscedasticNoise(0.1, 0.6),
    ],
    ids=repr,
)
def test_noise_has_its_mean_and_spread(noise) -> None:
    problem = es.LinearProblem(es.FiniteArms([[0.6], [0.2]]), [1.0], noise)
    rng = np.random.default_rng(0)
    for x in problem.arms.features:
        rewards = np.array([problem.reward(x, rng) for _ in range(20_000)])
        spread = float(noise.spreads(x)[0])
        assert rewards.mean() == pytest.approx(x[0], abs=6 * spread / 20_000**0.5)
        assert rewards.std() == pytest.approx(spread, rel=0.05)
        assert spread <= noise.subgaussian


def test_equal_arms_and_their_warm_up_count_as_one_for_kvetons_phe() -> None:
    """Kernel and live policy count pseudo-rewards by arm, and of equal arms play the first."""
    F = np.random.default_rng(0).standard_normal((5, 3)) / 2
    problem = es.LinearProblem(
        es.FiniteArms(np.vstack([F, F])),
        [0.5, 0.3, 0.4],
        0.3,
        warmup=[0, 1, 2],
        opening=[7, 8, 9, 7],
    )
    kernel, live = (
        es.simulate(es.KvetonPHE(), problem, 60, 300, evaluation=way) for way in ("eager", "live")
    )
    assert abs(kernel.mean[-1] - live.mean[-1]) < 5 * np.hypot(
        kernel.standard_error[-1], live.standard_error[-1]
    )
    assert (kernel.pulls.sum(axis=1) == 60).all()
    for way in ("eager", "live"):
        with pytest.raises(es.InvalidArgument, match="standing arm"):
            es.simulate(es.KvetonPHE(), es.problem("trap"), 20, 1, evaluation=way)


@pytest.mark.parametrize(
    "recipe",
    [es.EnsembleSampling(5, model=es.Logistic()), es.ThompsonSampling(model=es.Logistic("exact"))],
)
def test_rewards_that_a_model_is_not_for_are_refused(recipe: es.Recipe) -> None:
    """As the live policy refuses them: no kernel plays where they might come."""
    outside = es.LinearProblem(es.FiniteArms(np.eye(2)), [3.0, 2.0], 0.1)
    with (
        pytest.warns(es.LiveSimulationWarning),
        pytest.raises(es.InvalidArgument, match=r"^reward = .*0.*1"),
    ):
        es.simulate(recipe, outside, 20)
    with pytest.raises(es.InvalidArgument, match=r"^evaluation = 'eager'"):
        es.simulate(recipe, outside, 20, evaluation="eager")
    inside = es.LinearProblem(es.FiniteArms(np.eye(2)), [0.6, 0.4], es.RademacherNoise(0.1))
    assert es.simulate(recipe, inside, 20, evaluation="live").evaluation == "live"
    assert es.simulate(recipe, es.problem("logistic", dim=2, arms=3), 20).evaluation != "live"


def test_a_recipe_that_cannot_learn_a_problems_rewards_is_named_with_it() -> None:
    recipe = es.EnsembleSampling(3, model=es.Logistic())
    for problem, name in (
        (FAMILY, "sphere"),
        (FAMILY.draw(np.random.default_rng(0)), "LinearProblem"),
    ):
        with pytest.raises(
            es.InvalidArgument,
            match=rf"expected a number from 0 to 1 .* \(EnsembleSampling on {name}\)$",
        ) as caught:
            es.simulate(recipe, problem, horizon=100, evaluation="live")
        assert caught.value.argument == "reward"
