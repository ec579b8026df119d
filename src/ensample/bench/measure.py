"""The rows of the benchmark: what was measured beside what is to be reached."""

import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ensample.bench.contestants import (
    ARMS,
    DIM,
    HORIZON,
    SCALE,
    floored,
    live,
    peered,
    simulated,
    sphere,
    textbook,
    threaded,
)
from ensample.bench.engines import bare, studied
from ensample.bench.experiments import bare_policy, durable, in_memory, synced
from ensample.bench.floor import build_floor
from ensample.bench.large import ARMS as MANY
from ensample.bench.large import DIM as WIDE
from ensample.bench.large import approximate, deciding, many_arms, product, voting
from ensample.bench.networks import MEMBERS, network_products, network_rounds
from ensample.bench.peers import PEERS
from ensample.bench.service import (
    MANY_CALLS,
    WORKERS,
    Clients,
    Measured,
    measured_clients,
    measured_service,
)
from ensample.bench.timing import Times, Turn, median, ratio, take_turns
from ensample.extras import has, install_command
from ensample.models import Logistic
from ensample.numerals import terminal
from ensample.policies import EnsembleSampling, PerturbedHistory
from ensample.problems import problem

SIZES = {
    100: 1_000,
    1_000: 500,
    29_000: 100,
}  # members: rounds of the textbook, whose cost a round is the same in all of them
FASTER = {100: 40.0, 1_000: 90.0, 29_000: 2_000.0}
FLOOR = 1.05
SERVED = "starlette", "uvicorn", "apsw", "msgspec"  # packages that the service needs
LIVE_ROUNDS, PEER_ROUNDS, NETWORK_ROUNDS = 2_000, 20, 50


@dataclass(frozen=True)
class Ratio:
    """One ratio. `measured` is None where it could not be taken; `note` says why, or the times behind it."""

    name: str
    measured: float | None
    target: float | None
    at_least: bool  # else at most
    note: str

    @property
    def reached(self) -> bool | None:
        """None where there is nothing to reach or nothing measured."""
        if self.measured is None or self.target is None:
            return None
        return self.measured >= self.target if self.at_least else self.measured <= self.target


Step = Callable[[], None]
Figures = TypeVar("Figures", Measured, Clients)


def ensemble(size: int) -> EnsembleSampling:
    return EnsembleSampling(size=size, scale=SCALE)


def compared(
    name: str,
    over: Turn,
    under: Turn,
    target: float | None,
    at_least: bool,
    turns: int,
    step: Step,
    note: str = "",
) -> Ratio:
    """time(over) / time(under), with both times in the note."""
    times = take_turns({"over": over, "under": under}, turns, step)
    said = f"{time(times, 'over')} over {time(times, 'under')}"
    return Ratio(
        name, ratio(times, "over", "under"), target, at_least, f"{said}; {note}" if note else said
    )


def time(times: Times, name: str) -> str:
    """A contestant's time a round."""
    return f"{terminal(median(times, name))} us"


def against_others(turns: int, step: Step) -> Iterator[Ratio]:
    """Our simulator against the textbook and the C floor."""
    with tempfile.TemporaryDirectory() as folder:
        program = build_floor(Path(folder))
        for size, rounds in SIZES.items():
            contestants = {
                "ours": simulated(ensemble(size), sphere()),
                "textbook": textbook(size, rounds),
            }
            if program is not None:
                contestants["floor"] = floored(program, size)
            times = take_turns(contestants, turns, step)
            ours = time(times, "ours")
            note = f"{time(times, 'textbook')} over {ours}; the textbook over {rounds:,} rounds"
            yield Ratio(
                f"textbook / simulated, m={size:,}",
                ratio(times, "textbook", "ours"),
                FASTER[size],
                True,
                note,
            )
            name = f"simulated / C floor, m={size:,}"
            if program is None:
                yield Ratio(name, None, FLOOR, False, "no C compiler (gcc or cc)")
            else:
                note = f"{ours} over {time(times, 'floor')}"
                yield Ratio(name, ratio(times, "ours", "floor"), FLOOR, False, note)


def scaling(turns: int, step: Step) -> Iterator[Ratio]:
    """Our simulator against itself: more members, more rounds, more threads."""
    small = simulated(ensemble(100), sphere())
    for size, target in ((29_000, 2.5), (1_000_000, 4.0)):
        large = simulated(ensemble(size), sphere())
        yield compared(f"m={size:,} / m=100", large, small, target, False, turns, step)
    for name, recipe in (
        ("ensemble, m=100", ensemble(100)),
        ("LinPHE", PerturbedHistory(scale=SCALE)),
    ):
        long, short = simulated(recipe, sphere(), 100 * HORIZON, 1), simulated(recipe, sphere())
        yield compared(f"T=1,000,000 / T=10,000, {name}", long, short, 1.3, False, turns, step)
    contexts = problem("contextual", dim=DIM, arms=20)
    large, small = (simulated(ensemble(size), contexts) for size in (29_000, 100))
    yield compared("contextual, m=29,000 / m=100", large, small, 2.5, False, turns, step)
    yield compared(
        "one thread / two, 8 runs",
        threaded(ensemble(100), 1),
        threaded(ensemble(100), 2),
        1.7,
        True,
        turns,
        step,
    )


def live_policies(turns: int, step: Step) -> Iterator[Ratio]:
    """decide + update through the Python API against the textbook."""
    for size in (100, 1_000):
        ours = live(ensemble(size), LIVE_ROUNDS)
        name = f"textbook / live, m={size:,}"
        yield compared(name, textbook(size, LIVE_ROUNDS), ours, 2.5, True, turns, step)


def calibration(turns: int, step: Step) -> Iterator[Ratio]:
    """Scales that are learned against scales that are given, both with stored members."""
    for size in (100, 29_000):
        learned = simulated(EnsembleSampling(size, fresh=False, ageing=0), sphere())
        yield compared(
            f"auto / fixed, m={size:,}",
            learned,
            simulated(ensemble(size), sphere()),
            1.15,
            False,
            turns,
            step,
        )
    learned = live(EnsembleSampling(100, fresh=False, ageing=0), LIVE_ROUNDS)
    yield compared(
        "auto / fixed, live, m=100",
        learned,
        live(ensemble(100), LIVE_ROUNDS),
        1.3,
        False,
        turns,
        step,
    )


def logistic(turns: int, step: Step) -> Iterator[Ratio]:
    """The stream fit of clicks against linear ensembles on the same clicks, both as they come, and against itself.

    Any other pair would have scales of its own: how long a simulated round takes depends on how many arms are still played.
    """
    clicks = problem("logistic", dim=DIM, arms=ARMS, features="sphere")
    few, many = (EnsembleSampling(size, model=Logistic()) for size in (100, 29_000))
    small = simulated(few, clicks)
    linear = simulated(EnsembleSampling(100), clicks)
    yield compared("logistic / linear, simulated, m=100", small, linear, 2.5, False, turns, step)
    yield compared(
        "logistic, m=29,000 / m=100", simulated(many, clicks), small, 2.5, False, turns, step
    )
    alive = (
        live(few, LIVE_ROUNDS, clicks=True),
        live(EnsembleSampling(100), LIVE_ROUNDS, clicks=True),
    )
    yield compared("logistic / linear, live, m=100", *alive, 2.5, False, turns, step)


def neural(turns: int, step: Step) -> Iterator[Ratio]:
    """A round of networks, which decides, learns and keeps what it was, against the matrix products of its step alone.

    Of standing arms a minibatch has some more than once, and they are multiplied once; of changing ones all are different.
    """
    shape, products = f"{MEMBERS} members, 50-50, batch 64", network_products(NETWORK_ROUNDS)
    for arms in ("standing", "changing"):
        ours = network_rounds(NETWORK_ROUNDS, arms == "changing")
        yield compared(
            f"network round / its bare products, {shape}, {arms} arms",
            ours,
            products,
            1.3,
            False,
            turns,
            step,
        )


def engines(turns: int, step: Step) -> Iterator[Ratio]:
    """A study on one thread against the bare kernels."""
    try:
        import polars  # noqa: F401
    except ImportError:
        yield Ratio(
            "study / bare kernels", None, 1.05, False, f"not installed: {install_command('polars')}"
        )
        return
    yield compared("study / bare kernels, one thread", studied(), bare(), 1.05, False, turns, step)


def peers(turns: int, step: Step) -> Iterator[Ratio]:
    """decide + update of other libraries against our live ensemble of 100; bayesianbandits has a target."""
    for name, make in PEERS.items():
        target = 20.0 if name == "bayesianbandits" else None
        title = f"{name} / live, m=100"
        try:
            other = peered(make, PEER_ROUNDS)
        except ImportError:
            yield Ratio(
                title,
                None,
                target,
                True,
                f"not installed: {install_command(name.partition(' ')[0])}",
            )
            continue
        note = "it shares nothing between arms" if name == "mabwiser" else ""
        yield compared(
            title, other, live(ensemble(100), LIVE_ROUNDS), target, True, turns, step, note
        )


def large(turns: int, step: Step) -> Iterator[Ratio]:
    """A million arms, exactly: decide + update against the product of all features with one theta, and in microseconds."""
    policy = many_arms()
    times = take_turns(
        {"ours": deciding(policy), "numpy": product(policy), "vote": voting(policy)}, turns, step
    )
    size = f"{MANY:,} arms, d={WIDE}"
    note = f"{time(times, 'ours')} over {time(times, 'numpy')}"
    yield Ratio(
        f"decide + update / numpy's X @ theta, {size}",
        ratio(times, "ours", "numpy"),
        1.1,
        False,
        note,
    )
    yield Ratio(
        f"decide + update, us, {size}",
        median(times, "ours"),
        1_000.0,
        False,
        f"exact; a vote: {time(times, 'vote')}",
    )
    name = f"approximate / exact, {size}"
    if not has("faiss"):
        yield Ratio(name, None, None, False, f"not installed: {install_command('faiss')}")
        return
    index = approximate(policy)
    times = take_turns({"index": deciding(index), "exact": deciding(policy)}, turns, step)
    note = f"{time(times, 'index')} over {time(times, 'exact')}; recall {index.recall():.2f}"
    yield Ratio(name, ratio(times, "index", "exact"), None, False, note)


def experiments(turns: int, step: Step) -> Iterator[Ratio]:
    """Decisions through an experiment, in microseconds and a second: what a product sees, on this machine."""
    times = take_turns({"ours": in_memory(), "bare": bare_policy()}, turns, step)
    note = f"the policy alone, all thetas and all propensities: {time(times, 'bare')}"
    yield Ratio(
        "an experiment's decision, us (10 actions, d=54, m=100)",
        median(times, "ours"),
        150.0,
        False,
        note,
    )
    name = "durable decisions a second, 32 threads"
    if not has("apsw"):
        yield Ratio(name, None, 2_000.0, True, f"not installed: {install_command('apsw')}")
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        times = take_turns(
            {"ours": durable(Path(folder)), "sync": synced(Path(folder))}, turns, step
        )
    note = f"one sync of this disk: {time(times, 'sync')}"
    yield Ratio(name, 1e6 / median(times, "ours"), 2_000.0, True, note)


def service(turns: int, step: Step) -> Iterator[Ratio]:
    """Durable decisions over HTTP (10 actions, d=20, m=32) against the framework's hello-world, both with 32 clients."""
    if missing := [name for name in SERVED if not has(name)]:
        yield Ratio(
            "durable decide / hello-world",
            None,
            0.3,
            True,
            f"not installed: {install_command(*missing)}",
        )
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        found = []
        for turn in measured_service(Path(folder), turns):
            step()
            found.append(turn)
    note = f"{between(found, lambda t: t.hello.calls / t.hello.seconds):.0f} greetings a second"
    rates = between(
        found, lambda t: (t.decide.calls / t.decide.seconds) / (t.hello.calls / t.hello.seconds)
    )
    yield Ratio("durable decisions / greetings a second, 32 clients", rates, 0.3, True, note)
    note = f"{between(found, lambda t: t.decide.at(0.99)):.3g} ms over {between(found, lambda t: t.hello.at(0.99)):.3g} ms"
    yield Ratio(
        "99% of them, decide / hello",
        between(found, lambda t: t.decide.at(0.99) / t.hello.at(0.99)),
        4.0,
        False,
        note,
    )
    note = f"{between(found, lambda t: t.alone.at(0.5)):.3g} ms less {between(found, lambda t: t.sync):.3g} ms"
    note += f"; a greeting {between(found, lambda t: t.greeted.at(0.5)):.3g} ms"
    yield Ratio(
        "one client: half of them less a sync, ms",
        between(found, lambda t: t.alone.at(0.5) - t.sync),
        0.7,
        False,
        note,
    )


def clients(turns: int, step: Step) -> Iterator[Ratio]:
    """Decisions a second of `AsyncClient` against a bare loop of httpx, and with many more calls at once."""
    name = f"AsyncClient / httpx.AsyncClient, decisions a second, {WORKERS} calls at once"
    if missing := [name for name in (*SERVED, "httpx") if not has(name)]:
        yield Ratio(name, None, 0.8, True, f"not installed: {install_command(*missing)}")
        return
    with tempfile.TemporaryDirectory(dir=".") as folder:
        found: list[Clients] = []
        for turn in measured_clients(Path(folder), turns):
            step()
            found.append(turn)
    note = f"{between(found, lambda t: t.ours):.0f} over {between(found, lambda t: t.bare):.0f} a second"
    yield Ratio(name, between(found, lambda t: t.ours / t.bare), 0.8, True, note)
    note = f"{between(found, lambda t: t.crowd):.0f} over {between(found, lambda t: t.ours):.0f} a second"
    name = f"AsyncClient, {MANY_CALLS} calls at once / {WORKERS}"
    yield Ratio(name, between(found, lambda t: t.crowd / t.ours), 0.8, True, note)


def between(found: list[Figures], number: Callable[[Figures], float]) -> float:
    """The median over the turns."""
    return statistics.median(number(turn) for turn in found)


GROUPS: dict[str, Callable[[int, Step], Iterator[Ratio]]] = {
    "simulated": against_others,
    "scaling": scaling,
    "live": live_policies,
    "calibration": calibration,
    "logistic": logistic,
    "neural": neural,
    "large": large,
    "engines": engines,
    "experiments": experiments,
    "service": service,
    "clients": clients,
    "peers": peers,
}


def measure(groups: list[str], turns: int, step: Step) -> Iterator[Ratio]:
    """The rows of some GROUPS, as they are measured; `step` is called after each contestant's turn."""
    for group in groups:
        yield from GROUPS[group](turns, step)
