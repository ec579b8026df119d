"""An experiment against a dict: decisions, rewards, time, actions and crashes in any order."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import ensample as es
from attempts import attempts
from ensample.experiments.opening import experiment_in
from ensample.experiments.storage.sqlite import SQLiteStorage
from experiments.places import Ticking, counted

WAIT = 60
OFTEN = st.sampled_from([True, True, True, False])
SNAPSHOTS = 9  # events between two
RUNS, STEPS = attempts(sample=40, full=250), attempts(sample=40, full=50)
VALUES = st.integers(-3, 3) | st.sampled_from(["x", "y", "z"]) | st.none()
CONTEXTS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
VALUE, KEY = st.integers(0, 9), st.none() | st.sampled_from("uv")
MEMORY = Path("/dev/shm")  # whether it lasts is for other tests to say


class Known:
    """What the model knows of a decision."""

    def __init__(self, time: float, action: str, active: bool) -> None:
        self.time, self.action, self.active = time, action, active
        self.rewards: list[float] = []
        self.keys: set[str] = set()
        self.closed = False


class Machine(RuleBasedStateMachine):
    """Rules of the experiment, each with what the dict says must come of it."""

    counts: Literal["first", "sum"] = "first"
    met: ClassVar[Counter[str]] = Counter()  # outcomes of rewards, over all runs

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None))
        self.files = 0
        self.clock = Ticking()
        self.ids = counted()
        self.given: dict[str, Any] = {
            "actions": ["p", "q"],
            "recipe": es.EnsembleSampling(size=5),
            "reward": es.Reward(0, 9, wait=WAIT, default=0, rule=self.counts),
        }
        self.known: dict[str, Known] = {}
        self.actions = ["p", "q"]
        self.learned = 0
        self.experiment = self.opened()

    def opened(self) -> es.Experiment:
        storage = SQLiteStorage(self.folder / f"{self.files}.db", synchronous="OFF")
        return experiment_in(storage, {"name": "machine"}, self.given, self.clock, self.ids)

    def teardown(self) -> None:
        storage = self.experiment.engine.storage
        assert storage.count < SNAPSHOTS or list(storage.snapshots())
        self.experiment.verify()
        self.experiment.close()
        shutil.rmtree(self.folder)

    @rule(context=CONTEXTS, active=OFTEN)
    def decide(self, context: dict[str, Any], active: bool) -> None:
        self.decide_on(context, active)

    def decide_on(self, context: dict[str, Any], active: bool) -> None:
        decision = self.experiment.decide(context, active=active)
        self.expired(64)
        assert list(decision.propensities) == self.actions
        assert sum(decision.propensities.values()) == pytest.approx(1)
        self.known[decision.id] = Known(self.clock.now, decision.action, active)

    @initialize(contexts=st.lists(CONTEXTS, min_size=3, max_size=3))
    def begin(self, contexts: list[dict[str, Any]]) -> None:
        for context in contexts:
            self.decide_on(context, True)

    @rule(data=st.data(), value=VALUE, key=KEY, right=st.sampled_from([None, True, True, False]))
    def reward(self, data: Any, value: int, key: str | None, right: bool | None) -> None:
        self.reward_one(data.draw(st.sampled_from(sorted(self.known))), value, key, right)

    @rule(value=VALUE, key=KEY)
    def reward_the_newest(self, value: int, key: str | None) -> None:
        self.reward_one(list(self.known)[-1], value, key, True)

    @rule(value=VALUE, key=KEY)
    def reward_the_oldest_open(self, value: int, key: str | None) -> None:
        open = (id for id, known in self.known.items() if not known.closed)
        self.reward_one(next(open, "d0"), value, key, None)

    @rule(data=st.data(), value=VALUE, key=st.sampled_from("uv"))
    def reward_twice(self, data: Any, value: int, key: str) -> None:
        id = data.draw(st.sampled_from(sorted(self.known)))
        for _ in range(2):
            self.reward_one(id, value, key, None)

    def reward_one(self, id: str, value: int, key: str | None, right: bool | None) -> None:
        known = self.known[id]
        action = None if right is None else known.action if right else "somebody else's"
        expected = self.outcome(known, action, key)
        self.met[expected] += 1
        assert self.experiment.reward(id, value, action=action, key=key) == expected
        if expected == "applied":
            known.rewards.append(value)
            known.keys |= {key} if key else set()
            if self.counts == "first":
                known.closed = True
                self.learned += 1

    def outcome(self, known: Known, action: str | None, key: str | None) -> str:
        late = self.clock.now > known.time + WAIT
        if action is not None and action != known.action:
            return "not_shown"
        if self.counts == "first" and known.rewards:
            return "duplicate"
        if self.counts == "sum" and known.closed:
            return "duplicate" if key in known.keys else "late"
        if late or known.closed:
            return "late"
        if not known.active:
            return "not_shown"
        return "duplicate" if self.counts == "sum" and key in known.keys else "applied"

    @rule()
    def reward_nobody(self) -> None:
        assert self.experiment.reward("nobody", 1) == "unknown"

    @rule(data=st.data())
    def activate(self, data: Any) -> None:
        id = data.draw(st.sampled_from(sorted(self.known)))
        known = self.known[id]
        late = known.closed or self.clock.now > known.time + WAIT
        expected = "duplicate" if known.active else "late" if late else "applied"
        assert self.experiment.activate(id) == expected
        known.active = known.active or expected == "applied"

    @rule(seconds=st.sampled_from([1, 30, WAIT + 1]))
    def wait(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule()
    def expire(self) -> None:
        before = sum(not known.closed for known in self.known.values())
        assert self.experiment.expire() == before - self.expired(None)

    def expired(self, most: int | None) -> int:
        """Close what is due, earliest first; how many are open after that."""
        open = [known for known in self.known.values() if not known.closed]
        due = [known for known in open if self.clock.now > known.time + WAIT]
        for known in due[:most]:
            known.closed = True
            self.learned += bool(known.rewards) or known.active
        return sum(not known.closed for known in self.known.values())

    @precondition(lambda self: len(self.actions) < 5)
    @rule()
    def add(self) -> None:
        name = next(name for name in "pqrstuvw" if name not in self.actions)
        self.experiment.add(name)
        self.actions.append(name)

    @precondition(lambda self: len(self.actions) > 1)
    @rule(data=st.data())
    def remove(self, data: Any) -> None:
        name = data.draw(st.sampled_from(self.actions))
        self.experiment.remove(name)
        self.actions.remove(name)

    @rule()
    def reopen(self) -> None:
        hash = self.experiment.hash
        self.experiment.close()
        self.experiment = self.opened()
        assert self.experiment.hash == hash

    @rule()
    def crash(self) -> None:
        """Go on with the files as they are, while the old process holds them still."""
        hash, old = self.experiment.hash, self.experiment
        for suffix in ("", "-wal"):
            file = self.folder / f"{self.files}.db{suffix}"
            if file.exists():
                shutil.copy(file, self.folder / f"{self.files + 1}.db{suffix}")
        self.files += 1
        self.experiment = self.opened()
        old.close()
        assert self.experiment.hash == hash

    @rule(context=CONTEXTS)
    def try_out(self, context: dict[str, Any]) -> None:
        hash = self.experiment.hash
        self.experiment.decide(context, dry_run=True)
        assert self.experiment.hash == hash

    @invariant()
    def agree(self) -> None:
        self.met["steps"] += 1
        assert self.experiment.actions == self.actions and self.experiment.version == self.learned
        assert self.experiment.waiting == sum(not known.closed for known in self.known.values())


class SumMachine(Machine):
    counts = "sum"


@pytest.mark.parametrize("machine", [Machine, SumMachine])
def test_an_experiment_is_what_a_dict_says(
    machine: type[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts what was met: a machine that rewards nobody agrees with anything."""
    monkeypatch.setattr("ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", SNAPSHOTS)
    machine.met = Counter()
    run_state_machine_as_test(machine, settings=often(RUNS, STEPS))
    print(f"\n{machine.__name__}: {dict(machine.met)}")
    assert machine.met["steps"] > RUNS * STEPS / 2
    for outcome in ("applied", "duplicate", "late", "not_shown"):
        assert machine.met[outcome] >= RUNS / 10


BROKEN = {
    "never late": ("ensample.experiments.state.Open.is_late", lambda self, time: False),
    "never another action": ("ensample.experiments.core.outcome_of_closed", lambda *_: "duplicate"),
    "nothing expires": ("ensample.experiments.state.State.due_at", lambda self, time, most: []),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_dict_tells_a_mistake(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative controls."""
    monkeypatch.setattr("ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", SNAPSHOTS)
    monkeypatch.setattr(*BROKEN[name])
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=often(60, 40, phases=[Phase.generate]))


def often(runs: int, steps: int, **more: Any) -> settings:
    """The same steps each time, so that what they meet does not depend on luck."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(
        max_examples=runs,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        suppress_health_check=checks,
        **more,
    )
