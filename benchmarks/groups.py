"""The groups of ratios: what is measured, and what is to be reached."""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import ensample as es
from benchmarks import baselines, loops, service
from benchmarks.loops import SCALE, live, simulated, sphere
from benchmarks.rivals import SINGLE_ROUNDS
from benchmarks.timing import Ratio, Step, Target, compare, median, microseconds, ratio, take_turns
from ensample.extras import has, install_command

# Number of members: rounds of the textbook, each of which costs the same.
TEXTBOOK_ROUNDS = {100: 1_000, 1_000: 500, 29_000: 100}
TEXTBOOK_TARGETS = {100: 40.0, 1_000: 90.0, 29_000: 2_000.0}
FLOOR_TARGET = 1.05
LIVE_ROUNDS, RIVAL_ROUNDS, NETWORK_ROUNDS = 2_000, 20, 50
SERVED = "starlette", "uvicorn", "apsw", "msgspec"  # packages that the service needs


def stored(size: int) -> es.EnsembleSampling:
    """Return an ensemble with a given scale, which stores its members."""
    return es.EnsembleSampling(size=size, scale=SCALE)


def stored_calibrated(size: int) -> es.EnsembleSampling:
    """Return an ensemble that stores its members and learns the scales."""
    return es.EnsembleSampling(size, fresh=False, ageing=0)


def not_installed(target: Target, *packages: str) -> Ratio:
    return target.ratio(None, f"not installed: {install_command(*packages)}")


def missing(*packages: str) -> list[str]:
    return [name for name in packages if not has(name)]


def simulated_rounds(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare our simulator with the textbook and with the C loop."""
    with tempfile.TemporaryDirectory() as folder:
        program = baselines.build_floor(Path(folder))
        for size, rounds in TEXTBOOK_ROUNDS.items():
            contestants = {
                "ours": simulated(stored(size), sphere()),
                "textbook": textbook(size, rounds),
            }
            if program is not None:
                arguments = loops.DIM, loops.ARMS, size, loops.HORIZON, loops.NOISE, SCALE
                contestants["floor"] = baselines.floor(program, *arguments)
            times = take_turns(contestants, turns, step)
            ours = microseconds(times, "ours")
            target = Target(f"textbook / simulated, m={size:,}", TEXTBOOK_TARGETS[size], True)
            note = f"{microseconds(times, 'textbook')} over {ours}; {rounds:,} textbook rounds"
            yield target.ratio(ratio(times, "textbook", "ours"), note)
            target = Target(f"simulated / C floor, m={size:,}", FLOOR_TARGET)
            if program is None:
                yield target.ratio(None, "no C compiler (gcc or cc)")
            else:
                note = f"{ours} over {microseconds(times, 'floor')}"
                yield target.ratio(ratio(times, "ours", "floor"), note)


def textbook(size: int, rounds: int) -> Callable[[], float]:
    return loops.played(lambda features: baselines.Textbook(features, size, SCALE), rounds)


def scaling(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare our simulator with itself: more members, more rounds, more threads."""
    small = simulated(stored(100), sphere())
    for size, limit in ((29_000, 2.5), (1_000_000, 4.0)):
        target = Target(f"m={size:,} / m=100", limit)
        yield compare(target, simulated(stored(size), sphere()), small, turns, step)
    recipes = {"ensemble, m=100": stored(100), "LinPHE": es.PerturbedHistory(scale=SCALE)}
    for name, recipe in recipes.items():
        long = simulated(recipe, sphere(), 100 * loops.HORIZON, 1)
        target = Target(f"T=1,000,000 / T=10,000, {name}", 1.3)
        yield compare(target, long, simulated(recipe, sphere()), turns, step)
    contexts = es.problem("contextual", dim=loops.DIM, arms=20)
    large, small = (simulated(stored(size), contexts) for size in (29_000, 100))
    yield compare(Target("contextual, m=29,000 / m=100", 2.5), large, small, turns, step)
    one, two = (loops.threaded(stored(100), threads) for threads in (1, 2))
    yield compare(Target("one thread / two, 8 runs", 1.7, True), one, two, turns, step)


def live_policies(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare decide and update through the Python API with the textbook."""
    for size in (100, 1_000):
        target = Target(f"textbook / live, m={size:,}", 2.5, True)
        ours = live(stored(size), LIVE_ROUNDS)
        yield compare(target, textbook(size, LIVE_ROUNDS), ours, turns, step)


def calibration(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare learned scales with given ones, both with stored members."""
    for size in (100, 29_000):
        learned = simulated(stored_calibrated(size), sphere())
        known = simulated(stored(size), sphere())
        yield compare(Target(f"auto / fixed, m={size:,}", 1.15), learned, known, turns, step)
    learned = live(stored_calibrated(100), LIVE_ROUNDS)
    known = live(stored(100), LIVE_ROUNDS)
    yield compare(Target("auto / fixed, live, m=100", 1.3), learned, known, turns, step)


def logistic(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare the logistic fit of clicks with linear ensembles on the same clicks, and with itself.

    Other pairs would differ in scale: the time of a simulated round depends on how many arms are
    still played.
    """
    clicks = es.problem("logistic", dim=loops.DIM, arms=loops.ARMS, features="sphere")
    few, many = (es.EnsembleSampling(size, model=es.Logistic()) for size in (100, 29_000))
    linear = es.EnsembleSampling(100)
    small = simulated(few, clicks)
    target = Target("logistic / linear, simulated, m=100", 2.5)
    yield compare(target, small, simulated(linear, clicks), turns, step)
    target = Target("logistic, m=29,000 / m=100", 2.5)
    yield compare(target, simulated(many, clicks), small, turns, step)
    ours, plain = (live(recipe, LIVE_ROUNDS, clicks=True) for recipe in (few, linear))
    yield compare(Target("logistic / linear, live, m=100", 2.5), ours, plain, turns, step)


def neural(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare a round of networks with the bare matrix products of its training step.

    A minibatch has some standing arms more than once, which are multiplied once; changing arms are
    all different.
    """
    members, width, batch = loops.MEMBERS, loops.WIDTH, loops.BATCH
    products = baselines.network_products(NETWORK_ROUNDS, members, loops.INPUTS, width, batch)
    shape = f"{members} members, {width}-{width}, batch {batch}"
    for arms in ("standing", "changing"):
        target = Target(f"network round / its bare products, {shape}, {arms} arms", 1.3)
        ours = loops.network_rounds(NETWORK_ROUNDS, arms == "changing")
        yield compare(target, ours, products, turns, step)


def large(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare an exact decide and update on a million arms with numpy's X @ theta."""
    policy = loops.many_arms()
    rows = policy.arms.rows
    assert rows is not None
    contestants = {
        "ours": loops.decide_and_update(policy),
        "numpy": baselines.product(rows, policy.mean, 5),
        "vote": loops.vote(policy),
    }
    times = take_turns(contestants, turns, step)
    size = f"{loops.MANY_ARMS:,} arms, d={loops.MANY_DIM}"
    note = f"{microseconds(times, 'ours')} over {microseconds(times, 'numpy')}"
    target = Target(f"decide + update / numpy's X @ theta, {size}", 1.1)
    yield target.ratio(ratio(times, "ours", "numpy"), note)
    note = f"exact; a vote: {microseconds(times, 'vote')}"
    yield Target(f"decide + update, us, {size}", 1_000.0).ratio(median(times, "ours"), note)
    target = Target(f"approximate / exact, {size}", None)
    if not has("faiss"):
        yield not_installed(target, "faiss")
        return
    index = loops.partly_trained(es.ApproximateArms(rows))
    pair = {"index": loops.decide_and_update(index), "exact": loops.decide_and_update(policy)}
    times = take_turns(pair, turns, step)
    note = f"{microseconds(times, 'index')} over {microseconds(times, 'exact')}"
    yield target.ratio(ratio(times, "index", "exact"), f"{note}; recall {index.recall():.2f}")


def studies(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare a study on one thread with `simulate` on its cells."""
    target = Target("study / simulate, one thread", 1.05)
    if not has("polars"):
        yield not_installed(target, "polars")
        return
    yield compare(target, loops.studied(), loops.study_simulated(), turns, step)


def experiments(turns: int, step: Step) -> Iterator[Ratio]:
    """Measure decisions through an experiment, in microseconds and a second."""
    pair = {"ours": loops.experiment_decisions(), "bare": loops.policy_decisions()}
    times = take_turns(pair, turns, step)
    note = f"the policy alone, all thetas and all propensities: {microseconds(times, 'bare')}"
    target = Target("an experiment's decision, us (10 actions, d=54, m=100)", 150.0)
    yield target.ratio(median(times, "ours"), note)
    target = Target("durable decisions a second, 32 threads", 2_000.0, True)
    if not has("apsw"):
        yield not_installed(target, "apsw")
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder)
        pair = {"ours": loops.durable_decisions(path), "sync": loops.disk_syncs(path)}
        times = take_turns(pair, turns, step)
    note = f"one sync of this disk: {microseconds(times, 'sync')}"
    yield target.ratio(1e6 / median(times, "ours"), note)


def service_decisions(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare durable decisions (10 actions, d=20, m=32) with the framework's hello-world."""
    rates = Target("durable decisions / greetings a second, 32 clients", 0.3, True)
    if absent := missing(*SERVED):
        yield not_installed(rates, *absent)
        return
    found = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for turn in service.measured_service(Path(folder), turns):
            step()
            found.append(turn)
    note = f"{middle(turn.hello.rate for turn in found):.0f} greetings a second"
    yield rates.ratio(middle(turn.decide.rate / turn.hello.rate for turn in found), note)
    slow = [(turn.decide.milliseconds(0.99), turn.hello.milliseconds(0.99)) for turn in found]
    note = (
        f"{middle(ours for ours, _ in slow):.3g} ms over {middle(bare for _, bare in slow):.3g} ms"
    )
    target = Target("99% of them, decide / hello", 4.0)
    yield target.ratio(middle(ours / bare for ours, bare in slow), note)
    alone = [(turn.alone.milliseconds(0.5), turn.sync) for turn in found]
    half, sync = (middle(turn[place] for turn in alone) for place in (0, 1))
    note = f"{half:.3g} ms less {sync:.3g} ms"
    note += f"; a greeting {middle(turn.greeted.milliseconds(0.5) for turn in found):.3g} ms"
    target = Target("one client: half of them less a sync, ms", 0.7)
    yield target.ratio(middle(half - sync for half, sync in alone), note)


def clients(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare decisions a second of `AsyncClient` with httpx, and with many more calls at once."""
    few, many = service.FEW_CALLS, service.MANY_CALLS
    rates = Target(
        f"AsyncClient / httpx.AsyncClient, decisions a second, {few} calls at once", 0.8, True
    )
    if absent := missing(*SERVED, "httpx"):
        yield not_installed(rates, *absent)
        return
    found = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for turn in service.measured_clients(Path(folder), turns):
            step()
            found.append(turn)
    ours, bare, all_calls = (middle(turn[place] for turn in found) for place in (1, 0, 2))
    note = f"{ours:.0f} over {bare:.0f} a second"
    yield rates.ratio(middle(turn.ours / turn.bare for turn in found), note)
    target = Target(f"AsyncClient, {many} calls at once / {few}", 0.8, True)
    note = f"{all_calls:.0f} over {ours:.0f} a second"
    yield target.ratio(middle(turn.many / turn.ours for turn in found), note)


def rivals(turns: int, step: Step) -> Iterator[Ratio]:
    """Compare decide and update of other libraries with our live ensemble of 100.

    Bayesianbandits has a target.
    """
    for name, make in SINGLE_ROUNDS.items():
        target = Target(f"{name} / live, m=100", 20.0 if name == "bayesianbandits" else None, True)
        try:
            other = loops.played(partial(make, scale=SCALE), RIVAL_ROUNDS)
        except ImportError:
            yield not_installed(target, name.partition(" ")[0])
            continue
        yield compare(target, other, live(stored(100), LIVE_ROUNDS), turns, step)


def middle(numbers: Iterator[float]) -> float:
    """Return the median over the turns."""
    return statistics.median(numbers)


GROUPS: dict[str, Callable[[int, Step], Iterator[Ratio]]] = {
    "simulated": simulated_rounds,
    "scaling": scaling,
    "live": live_policies,
    "calibration": calibration,
    "logistic": logistic,
    "neural": neural,
    "large": large,
    "engines": studies,
    "experiments": experiments,
    "service": service_decisions,
    "clients": clients,
    "peers": rivals,
}


def measure(groups: list[str], turns: int, step: Step) -> Iterator[Ratio]:
    """Yield the rows of some GROUPS as they are measured.

    `step` is called after each contestant's turn.
    """
    for group in groups:
        yield from GROUPS[group](turns, step)
