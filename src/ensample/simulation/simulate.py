"""`simulate`: replicates on threads, the same numbers for any number of them."""

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

import numpy as np

from ensample.arms import FiniteArms
from ensample.checks import instance, whole
from ensample.errors import InvalidArgument, WrongType
from ensample.kernels.world import new_track
from ensample.policies.recipe import Evaluation, Recipe, Streams, pick
from ensample.problems import Family, LinearProblem, Problem
from ensample.randomness import RunStream, run_generator
from ensample.simulation.live import run_live
from ensample.simulation.runs import Runs
from ensample.types import FloatArray, IntArray

__all__ = ["simulate"]

EVALUATIONS = ("auto", "lazy", "eager", "live")


def simulate(
    recipe: Recipe,
    problem: Problem | Family,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    evaluation: str = "auto",
    checkpoints: int = 200,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    cell: int = 0,
) -> Runs:
    """Play a recipe on a problem `runs` times for `horizon` rounds and record the regret.

    `evaluation`: "lazy" touches only the member that acts (exact in law, cost independent of the ensemble size), "eager" keeps
    all members up to date, "live" runs the live policy in Python; "auto" takes the fastest that there is. A family draws a
    problem of its own for each replicate. Replicate r faces the same problem and the same noise under every recipe, and gives
    the same bits whatever the threads and the order. `progress` is called with the number of finished runs. `cell` numbers the
    cells of a study, so that their random numbers differ.

    >>> import ensample as es
    >>> runs = simulate(es.EnsembleSampling(size=10**6, scale=0.3), es.problem("sphere", dim=5), horizon=500, runs=4)
    >>> runs.regret.shape, runs.evaluation
    ((4, 200), 'lazy')
    """
    instance("recipe", recipe, Recipe, "a recipe such as EnsembleSampling(size=100)")
    if not isinstance(problem, Problem | Family):
        raise WrongType("problem", problem, "a LinearProblem or a family such as problem('sphere')")
    horizon, runs, seed = whole("horizon", horizon, 1), whole("runs", runs, 1), whole("seed", seed, 0)
    whole("cell", cell, 0)
    if progress is not None and not callable(progress):
        raise WrongType("progress", progress, "a function of the number of finished runs, or None")
    if not isinstance(evaluation, str) or evaluation not in EVALUATIONS:
        raise InvalidArgument("evaluation", evaluation, f"one of {', '.join(EVALUATIONS)}")
    marks = checkpoint_rounds(horizon, whole("checkpoints", checkpoints, 1))
    workers = min(runs, os.cpu_count() or 1 if threads is None else whole("threads", threads, 1))
    stop = np.zeros(1, np.int64)
    shape = runs, marks.size
    regret, seconds, ways = np.full(shape, np.nan), np.zeros(runs), [""] * runs
    pulls: list[IntArray | None] = [None] * runs

    def replicate(r: int) -> None:
        drawn = problem.draw(run_generator(seed, cell, r, RunStream.PROBLEM)) if isinstance(problem, Family) else problem
        start = time.perf_counter()
        ways[r], regret[r], pulls[r] = run(recipe, drawn, marks, streams_of(seed, cell, r), evaluation, stop)
        seconds[r] = time.perf_counter() - start

    run_all(replicate, runs, workers, stop, progress)
    counts = None if pulls[0] is None else np.array(pulls)
    return Runs(recipe, problem, horizon, seed, ways[0], marks, regret, counts, seconds)


def run(
    recipe: Recipe, problem: Problem, marks: IntArray, streams: Streams, evaluation: str, stop: IntArray
) -> tuple[str, FloatArray, IntArray | None]:
    """One replicate: (evaluation used, regret at the checkpoints, pulls)."""
    recipe.check(problem.arms)
    dim, lam = problem.arms.dim, recipe.regularization
    if isinstance(problem, LinearProblem) and isinstance(problem.arms, FiniteArms):
        way = recipe.evaluation_on_finite_arms(evaluation)
        if way is not Evaluation.LIVE:
            world, arms = problem.world(), len(problem.arms)
            track = new_track(dim, len(world.features), arms, lam, marks, stop)
            recipe.run_on_finite_arms(world, track, streams, way)
            return way.value, track.regret, (track.pulls - np.bincount(world.warmup, minlength=track.pulls.size))[:arms]
        return "live", *run_live(recipe, problem, marks, streams, stop)
    scene = problem.scene()
    way = recipe.evaluation_on_moving_arms(evaluation) if scene is not None else pick(evaluation, (Evaluation.LIVE,), recipe)
    if scene is None or way is Evaluation.LIVE:
        return "live", *run_live(recipe, problem, marks, streams, stop)
    track = new_track(dim, 0, scene.offered, lam, marks, stop)
    recipe.run_on_moving_arms(scene, track, streams, way)
    return way.value, track.regret, None


def run_all(
    replicate: Callable[[int], None], runs: int, workers: int, stop: IntArray, progress: Callable[[int], None] | None
) -> None:
    """All replicates on threads; on Ctrl-C or an error the running ones are told to stop."""
    done, coming = 0, iter(range(runs))
    waiting: set[Future[None]] = set()
    with ThreadPoolExecutor(workers) as pool:
        try:
            while done < runs:
                for r in itertools.islice(coming, 2 * workers - len(waiting)):
                    waiting.add(pool.submit(replicate, r))
                finished, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                    done += 1
                    if progress is not None:
                        progress(done)
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def streams_of(seed: int, cell: int, replicate: int) -> Streams:
    noise, member, perturbation, context = (
        run_generator(seed, cell, replicate, stream)
        for stream in (RunStream.NOISE, RunStream.MEMBER, RunStream.PERTURBATION, RunStream.CONTEXT)
    )
    return Streams(noise, member, perturbation, context)


def checkpoint_rounds(horizon: int, count: int) -> IntArray:
    """At most `count` numbers of rounds from 1 to the horizon, evenly spaced, the last being the horizon."""
    return np.unique(np.linspace(0, horizon, min(count, horizon) + 1)[1:].round().astype(np.int64))
