"""The simulator: the same bits for any threads, kernels that play as live policies do, errors."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import ensample as es
from ensample.lab.tasks import tasks_of
from ensample.randomness import RunStream, run_generator
from ensample.registry import public_classes
from ensample.simulation import threads as pool
from ensample.simulation.plan import Plan, checkpoint_rounds, chunks
from ensample.simulation.threads import ENOUGH, MAX_PAUSE, PAUSE, PoolSize, Spent, cores, on_threads
from naive.stored import StoredRows, StoredVectors

ES = es.EnsembleSampling
FAMILY = es.problem("sphere", dim=4, arms=8, noise=0.4)
TWO = es.FiniteArms(np.eye(2))
RECIPES = [
    ES(size=20, scale=0.4),
    ES(size=20, scale=0.4, member=es.OptimisticMember()),
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

# Bits


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
def test_the_same_bits_for_any_threads(recipe: es.Recipe) -> None:
    one, *others = (es.simulate(recipe, FAMILY, 300, 6, seed=3, threads=n) for n in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(one.regret, other.regret)
        np.testing.assert_array_equal(one.pulls, other.pulls)
    assert one.evaluation != "live"
    assert not np.array_equal(one.regret, es.simulate(recipe, FAMILY, 300, 6, seed=4).regret)


def test_replicate_does_not_depend_on_how_many_there_are() -> None:
    many, few = (es.simulate(RECIPES[0], FAMILY, 100, runs) for runs in (7, 3))
    np.testing.assert_array_equal(many.regret[:3], few.regret)


def test_recipes_face_the_same_problem_and_noise() -> None:
    """Two deterministic recipes that agree on the arms see the same rewards."""
    first = es.simulate(es.LinUCB(radius=0.0), FAMILY, 200, 5)
    second = es.simulate(es.Greedy(regularization=1.0), FAMILY, 200, 5)
    np.testing.assert_array_equal(first.regret, second.regret)


def of_known_scale(recipe: es.Recipe) -> es.Recipe:
    return replace(recipe, scale=0.5) if "scale" in recipe.__dataclass_fields__ else recipe


def every_kernel() -> Iterator[tuple[es.Recipe, str, str]]:
    """Yield recipes of each type, with known and learned scales, problems and evaluations."""
    kinds = public_classes(es.Recipe).values()
    usual = [kind(3) if "size" in kind.__dataclass_fields__ else kind() for kind in kinds]
    logistic = {"model": es.Logistic()}
    within_a_type = [
        ES(3, fresh=False),
        es.InformationDirected(3, fresh=True),
        ES(3, member=es.OptimisticMember()),
        es.PerturbedHistory(reward=es.Uniform(1.0)),
        ES(3, **logistic),
        ES(3, **logistic, fresh=False),
        ES(3, model=es.Logistic("exact")),
        es.ThompsonSampling(**logistic),
    ]
    learned = [*usual, *within_a_type, ES(3, scale=0.5, half_life=9.0)]
    recipes = {repr(recipe): recipe for recipe in (*map(of_known_scale, learned), *learned)}
    for recipe in recipes.values():
        clicks = recipe.model.reward_range[1] == 1.0
        for name in ("logistic", "clicks") if clicks else ("sphere", "contextual"):
            for way in ("lazy", "eager"):
                with suppress(es.InvalidArgument):
                    es.simulate(recipe, es.problem(name, dim=2, arms=5), 1, evaluation=way)
                    yield recipe, name, way


@pytest.mark.parametrize(("recipe", "name", "way"), list(every_kernel()), ids=repr)
def test_replicate_does_not_depend_on_those_before_it(
    recipe: es.Recipe, name: str, way: str
) -> None:
    """Generators are moved from replicate to replicate."""
    family = es.problem(name, dim=2, arms=5)
    for faced in (family, family.draw(np.random.default_rng(0))):
        whole = es.simulate(recipe, faced, 60, 12, evaluation=way, checkpoints=2, threads=1)
        plan = Plan(recipe, faced, whole.checkpoints, way)
        for numbers in ((3,), (11, 3, 3, 4, 11)):
            part = plan.run(numbers)
            np.testing.assert_array_equal(part.regret, whole.regret[list(numbers)])
            if whole.pulls is not None:
                np.testing.assert_array_equal(part.pulls, whole.pulls[list(numbers)])


TS_EXACT = es.ThompsonSampling(model=es.Logistic("exact"))
RULES = [es.UniformMember(), es.RoundRobin(), es.StickyMember(3), es.OptimisticMember()]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("law", [es.Gaussian(0.6), es.Uniform(0.6)], ids=repr)
def test_eager_kernel_plays_the_live_policys_arms(
    law: es.Perturbation, rule: es.MemberRule
) -> None:
    """The live policy is handed the numbers that the kernel drew."""
    rounds, size, dim, seed = 400, 9, 3, 5
    features = np.random.default_rng(0).standard_normal((7, dim)) / 2
    problem = es.LinearProblem(es.FiniteArms(features), [0.5, -0.3, 0.4], 0.3)
    recipe = ES(size=size, scale=0.6, reward=law, initial=law, member=rule)
    simulated = es.simulate(recipe, problem, rounds, 1, seed, "eager", checkpoints=rounds)

    streams = RunStream.PERTURBATION, RunStream.MEMBER, RunStream.NOISE
    perturbation, member, noise = (run_generator(seed, 0, 0, stream) for stream in streams)
    W, Z = law.draw(perturbation, (size, dim)), law.draw(perturbation, (rounds, size))
    j = (member.random(rounds) * size).astype(int)
    eta = 0.3 * noise.standard_normal(rounds)
    drawn = {
        es.UniformMember(): lambda t, m, rng: int(j[t]),
        es.StickyMember(3): lambda t, m, rng: int(j[t // 3]),
    }
    stored = ES(size, 0.6, 1.0, StoredVectors(W), StoredRows(Z), drawn.get(rule, rule))
    policy, regret = stored.start(problem.arms), 0.0
    for t in range(rounds):
        decision = policy.decide()
        mean = problem.mean(decision.features)
        policy.update(decision, mean + eta[t])
        regret += problem.best_mean() - mean
        assert simulated.regret[0, t] == pytest.approx(regret, abs=1e-9), f"round {t}"


# Rounds, runs and chunks


def test_checkpoints() -> None:
    runs = es.simulate(es.Greedy(), FAMILY, 1000, 2, checkpoints=7)
    assert runs.checkpoints[-1] == 1000 and runs.regret.shape == (2, 7)
    assert (np.diff(runs.regret, axis=1) >= 0).all()
    assert es.simulate(es.Greedy(), FAMILY, 5, 1).checkpoints.tolist() == [1, 2, 3, 4, 5]
    assert es.simulate(es.Greedy(), FAMILY, 1, 1, checkpoints=1).regret.shape == (1, 1)


@pytest.mark.parametrize(
    ("runs", "most", "first"), [(1, 1, 1), (7, 3, 1), (1000, 64, 1), (9, 4, 4)]
)
def test_chunks_grow_and_hold_every_replicate_once(runs: int, most: int, first: int) -> None:
    found = list(chunks(range(2, 2 + runs), most, first))
    assert [number for chunk in found for number in chunk] == list(range(2, 2 + runs))
    assert len(found[0]) == min(first, runs) and max(map(len, found)) <= most


@pytest.mark.parametrize(("evaluation", "least"), [("live", 100), ("auto", 3)])
def test_rounds_are_counted_on_the_way(evaluation: str, least: int) -> None:
    """By the live policy before its run is over, so that a bar moves; by kernels after each run."""
    seen: list[int] = []
    options = {"evaluation": evaluation, "threads": 1, "rounds": seen.append}
    es.simulate(es.Greedy(), FAMILY, 250, 3, **options)  # type: ignore[arg-type]
    assert seen == sorted(seen) and seen[-1] == 750 and len(seen) >= least
    assert {250, 500} <= set(seen)


def test_finished_runs_are_counted() -> None:
    seen: list[int] = []
    es.simulate(es.Greedy(), FAMILY, 10, 5, progress=seen.append)
    assert seen == [1, 2, 3, 4, 5]


def test_memory_does_not_grow_with_the_ensemble() -> None:
    """A billion members, of which a run of 200 rounds can meet 200."""
    runs = es.simulate(ES(size=10**9, scale=0.4), FAMILY, 200, 2)
    assert runs.evaluation == "lazy" and np.isfinite(runs.regret).all()


PLAYED = ["sphere", "linreboot", "kveton", "two-arms", "trap", "ball", "contextual"]


@pytest.mark.parametrize("name", PLAYED)
def test_every_problem_can_be_played(name: str) -> None:
    runs = es.simulate(es.PerturbedHistory(scale=0.5), es.problem(name), 120, 2)
    assert np.isfinite(runs.regret).all() and (runs.regret >= -1e-9).all()


def test_equal_arms_and_their_warm_up_count_as_one_for_kvetons_phe() -> None:
    """Kernel and live policy count pseudo-rewards by arm, and of equal arms play the first."""
    features = np.random.default_rng(0).standard_normal((5, 3)) / 2
    arms = es.FiniteArms(np.vstack([features, features]))
    given = {"warmup": [0, 1, 2], "opening": [7, 8, 9, 7]}
    problem = es.LinearProblem(arms, [0.5, 0.3, 0.4], 0.3, **given)
    ways = ("eager", "live")
    kernel, live = (es.simulate(es.KvetonPHE(), problem, 60, 300, evaluation=way) for way in ways)
    error = np.hypot(kernel.standard_error[-1], live.standard_error[-1])
    assert abs(kernel.mean[-1] - live.mean[-1]) < 5 * error
    assert kernel.pulls is not None and (kernel.pulls.sum(axis=1) == 60).all()
    for way in ways:
        with pytest.raises(es.InvalidArgument, match="standing arm"):
            es.simulate(es.KvetonPHE(), es.problem("trap"), 20, 1, evaluation=way)


# The longest run: kernels count pulls in 32 bits, those of the warm-up too

LONGEST, WARMUP = 2**31 - 1, 3
WARMED = es.LinearProblem(TWO, [0.2, 0.9], 0.1, warmup=[0, 0, 1])
TOO_LONG = f"^horizon = {LONGEST - WARMUP + 1}: expected at most {LONGEST - WARMUP}, "
TOO_LONG += f".* the {WARMUP} rounds of the warm-up"


def evaluation_of(problem: es.Problem, horizon: int, way: str, fresh: bool | None = None) -> str:
    """Return the evaluation of a run that is not begun."""
    plan = Plan(ES(3, fresh=fresh), problem, checkpoint_rounds(horizon, 5), way)
    return plan.prepared.evaluation


@pytest.mark.parametrize(
    ("evaluation", "fresh"),
    [("lazy", False), ("eager", False), ("live", False), ("lazy", True), ("live", True)],
)
def test_rounds_of_the_warm_up_count(evaluation: str, fresh: bool) -> None:
    assert evaluation_of(WARMED, LONGEST - WARMUP, evaluation, fresh) == evaluation
    with pytest.raises(es.InvalidArgument, match=rf"{TOO_LONG}$"):
        evaluation_of(WARMED, LONGEST - WARMUP + 1, evaluation, fresh)


@pytest.mark.parametrize("name", ["sphere", "contextual"])
def test_without_a_warm_up_every_round_counts(name: str) -> None:
    problem = es.problem(name, dim=2).draw(np.random.default_rng(0))
    assert evaluation_of(problem, LONGEST, "auto") == "lazy"


def test_run_that_is_too_long_is_refused_before_a_round_is_played() -> None:
    with pytest.raises(es.InvalidArgument, match=rf"{TOO_LONG} \(Greedy on LinearProblem\)$"):
        es.simulate(es.Greedy(), WARMED, LONGEST - WARMUP + 1, runs=3)
    trap = {"family": "trap", "dim": 3}
    study = es.Study(name="long", horizon=LONGEST, problem=trap, policy={"recipe": "Greedy"})
    said = f"^Greedy on trap: horizon = {LONGEST}: expected at most {LONGEST - 203}"
    with pytest.raises(es.InvalidArgument, match=said):
        next(tasks_of(study, study.cells, {})).run()


# Errors


class Own(es.Uniform):
    """A law that kernels do not know."""


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("recipe", (None, "greedy", es.Greedy)),
        ("problem", (None, "sphere", 3)),
        ("horizon", (0, -1, 1.5, None, 2**31)),
        ("runs", (0, "2", 1.0)),
        ("seed", (-1, None)),
        ("evaluation", ("fast", None, "eager")),
        ("checkpoints", (0, 2.5)),
        ("threads", (0, -1, "all")),
        ("cell", (-1, "a")),
        ("progress", (3, "bar")),
        ("rounds", (3,)),
    ],
)
def test_bad_arguments_are_named(argument: str, values: tuple[object, ...]) -> None:
    good = {"recipe": ES(size=3, reward=Own()), "problem": FAMILY, "horizon": 10, "runs": 1}
    for value in values:
        with pytest.raises(es.InvalidArgument) as caught:
            es.simulate(**(good | {argument: value}))
        assert caught.value.argument == argument
    with pytest.raises(TypeError, match="thread"):
        es.simulate(**good, thread=1)


def test_error_in_a_replicate_ends_the_simulation() -> None:
    def broken(round, size, rng):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        es.simulate(ES(size=3, member=broken), FAMILY, 10, 20, evaluation="live")


@pytest.mark.parametrize(("runs", "after"), [(4, 1.0), (20_000, 0.3)])
def test_ctrl_c_stops_within_a_second(runs: int, after: float) -> None:
    """Also while many replicates wait for their turn.

    Two threads work for less than three seconds then, which take as long as the machine lets them.
    """
    play = "es.simulate(es.EnsembleSampling(size=10, scale=0.3), es.problem('sphere'), "
    code = f"""
import ensample as es, signal, threading, os, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background ignores it
{play} 10, 1)
worked = []
def stop():
    worked.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer({after}, stop).start()
try:
    {play} 10**9, {runs}, threads=2)
except KeyboardInterrupt:
    print(time.process_time() - worked[0])
"""
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert 0.0 <= float(shown.stdout) < 3.0, shown.stderr


@pytest.mark.parametrize("recipe", [ES(5, model=es.Logistic()), TS_EXACT])
def test_rewards_that_a_model_is_not_for_are_refused(recipe: es.Recipe) -> None:
    """As the live policy refuses them: no kernel plays where they might come."""
    outside = es.LinearProblem(TWO, [3.0, 2.0], 0.1)
    with (
        pytest.warns(es.LiveSimulationWarning),
        pytest.raises(es.InvalidArgument, match=r"^reward = .*0.*1"),
    ):
        es.simulate(recipe, outside, 20)
    with pytest.raises(es.InvalidArgument, match=r"^evaluation = 'eager'"):
        es.simulate(recipe, outside, 20, evaluation="eager")
    inside = es.LinearProblem(TWO, [0.6, 0.4], es.RademacherNoise(0.1))
    assert es.simulate(recipe, inside, 20, evaluation="live").evaluation == "live"
    assert es.simulate(recipe, es.problem("logistic", dim=2, arms=3), 20).evaluation != "live"


@pytest.mark.parametrize("drawn", [False, True])
def test_recipe_that_cannot_learn_a_problems_rewards_is_named_with_it(drawn: bool) -> None:
    problem = FAMILY.draw(np.random.default_rng(0)) if drawn else FAMILY
    name = "LinearProblem" if drawn else "sphere"
    said = rf"expected a number from 0 to 1 .* \(EnsembleSampling on {name}\)$"
    with pytest.raises(es.InvalidArgument, match=said) as caught:
        es.simulate(ES(3, model=es.Logistic()), problem, horizon=100, evaluation="live")
    assert caught.value.argument == "reward"


# Logs


@pytest.mark.parametrize("family", ["sphere", "contextual"])
def test_log_has_every_decision_of_the_live_policy(family: str, tmp_path: Any) -> None:
    problem, path = es.problem(family, dim=3, arms=6), tmp_path / "log.parquet"
    runs = es.simulate(ES(10), problem, 40, runs=3, seed=5, log=path)
    again = es.simulate(ES(10), problem, 40, runs=3, seed=5, evaluation="live")
    assert np.array_equal(runs.regret, again.regret)
    log = es.read_log(path)
    assert log.height == 120 and log["id"].n_unique() == 120
    shares = np.array(log["propensities"].to_list())
    assert shares.shape == (120, 6) and np.allclose(shares.sum(axis=1), 1.0)
    chosen = log["action"].cast(pl.Int64).to_numpy()
    assert np.array_equal(shares[np.arange(120), chosen], log["propensity"].to_numpy())
    assert (log["features"].null_count() == 120) == (family == "sphere")


def test_evaluation_finds_what_was_logged(tmp_path: Any) -> None:
    path, problem = tmp_path / "log.parquet", es.problem("sphere", dim=3, arms=4)
    es.simulate(es.EpsilonGreedy(0.5), problem, 300, seed=1, log=path)
    found = es.evaluate(path, "logged")["ips"].value
    assert found == pytest.approx(es.read_log(path)["reward"].mean())
    unknown = es.PerturbedHistory(scale=1.0, regularization=1.0)
    es.simulate(unknown, problem, 20, log=path)
    assert es.read_log(path)["propensity"].null_count() == 20


@pytest.mark.parametrize(
    ("problem", "options", "said"),
    [
        ("sphere", {"evaluation": "lazy"}, "evaluation = 'lazy'"),
        ("sphere", {"log": "nowhere/log.parquet"}, "log"),
        ("ball", {}, "listed"),
    ],
)
def test_what_cannot_be_logged_is_refused(
    problem: str, options: dict[str, Any], said: str, tmp_path: Any
) -> None:
    log = tmp_path / options.get("log", "log.parquet")
    with pytest.raises(es.InvalidArgument, match=said):
        es.simulate(ES(3), es.problem(problem), 10, **options | {"log": log})


# Threads


def size_after(size: PoolSize, *shares: float, now: float = 0.0, passed: float = ENOUGH) -> int:
    """Return the size of a pool whose threads were busy for these shares, after a task each."""
    for share in [0.0] * size._ignored + list(shares):
        size.record(size.size, Spent(share * passed, passed), now)
    return size.current(now)


@pytest.mark.parametrize("most", [2, 8, 64])
def test_one_thread_is_left_where_all_use_little_more_than_one_core(most: int) -> None:
    assert size_after(PoolSize(most), *[1.5 / most] * most) == most
    assert size_after(PoolSize(most), *[1.3 / most] * most) == 1


@pytest.mark.parametrize(("most", "share"), [(2, 0.72), (8, 0.5), (16, 0.9), (64, 0.3), (8, 1.2)])
def test_all_threads_stay_where_they_use_more(most: int, share: float) -> None:
    assert size_after(PoolSize(most), *[share] * 1000) == most


def test_pool_is_judged_by_all_threads_after_their_first_tasks_and_some_time() -> None:
    assert size_after(PoolSize(8), *[0.0, *[0.9] * 7] * 9) == 8
    assert size_after(PoolSize(8), *[0.0] * 7) == 8
    size = PoolSize(2)
    for busy in (0.1, 29.0):  # modules are imported there
        size.record(2, Spent(busy, 30.0), 0.0)
    assert size_after(size, 0.9, 0.8) == 2
    size = PoolSize(2)
    assert size_after(size, 0.1, 0.1, passed=0.4 * ENOUGH) == 2
    assert size_after(size, 0.1, passed=0.4 * ENOUGH) == 1


def test_tasks_that_began_among_other_threads_do_not_count() -> None:
    size = PoolSize(4)
    assert size_after(size, *[0.3] * 4) == 1
    size.record(4, Spent(0.0, 9.0), 0.0)
    assert size_after(size, 0.0) == 1, "one alone is never too many"
    assert size_after(size, 0.0, now=PAUSE) == 4


def test_after_a_pause_all_threads_are_tried_again_and_then_less_often() -> None:
    size, now, pause = PoolSize(2), 0.0, PAUSE
    for _ in range(12):
        assert size_after(size, 0.1, 0.1, now=now) == 1
        assert size.current(now + 0.9 * pause) == 1 and size.current(now + pause) == 2
        now, pause = now + pause, min(2.0 * pause, MAX_PAUSE)
    assert pause == MAX_PAUSE


def at_work(workers: int, **options: bool) -> list[int]:
    """Return how many threads worked at once, task by task; they are never busy, and all begin."""
    lock, first, here, seen = threading.Lock(), threading.Barrier(workers, timeout=60.0), [0], [0]

    def work(task: int) -> int:
        with lock:
            here[0] += 1
            seen.append(here[0])
        if task < workers:
            first.wait()
        time.sleep(ENOUGH)
        with lock:
            here[0] -= 1
        return task * task

    found = dict(on_threads(work, range(40), workers, np.zeros(1, np.int64), **options))
    assert found == {task: task * task for task in range(40)}
    return seen


def test_threads_that_wait_for_others_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PAUSE", 1e9)
    seen = at_work(3)
    assert max(seen) == 3 and set(seen[-20:]) == {1}
    assert max(at_work(3, all_of_them=True)[-20:]) > 1, "unless somebody asks for them"


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="processes cannot be kept to some cores here"
)
def test_process_that_is_kept_to_one_core_has_one() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
