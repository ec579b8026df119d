"""An experiment against a dict: decisions, rewards of every kind, time, actions, crashes, in any order."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import ensample as es
from attempts import attempts
from ensample.experiments.opening import begun
from ensample.experiments.sqlite import SQLiteStorage
from experiments.ticking import Ticking, counted

WAIT = 60
RUNS, STEPS = attempts(sample=6, full=100), attempts(sample=30, full=50)
CONTEXTS = st.dictionaries(
    st.sampled_from("abc"), st.integers(-3, 3) | st.sampled_from(["x", "y", "z"]) | st.none(), max_size=3
)
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
        return begun(storage, {"name": "machine"}, self.given, self.clock, self.ids)

    def teardown(self) -> None:
        self.experiment.verify()
        self.experiment.close()
        shutil.rmtree(self.folder)

    @rule(context=CONTEXTS, active=st.booleans())
    def decide(self, context: dict[str, Any], active: bool) -> None:
        decision = self.experiment.decide(context, active=active)
        self.expired(64)
        assert list(decision.propensities) == self.actions and sum(decision.propensities.values()) == pytest.approx(1)
        self.known[decision.id] = Known(self.clock.now, decision.action, active)

    @precondition(lambda self: self.known)
    @rule(
        data=st.data(),
        value=st.integers(0, 9),
        key=st.none() | st.sampled_from("uv"),
        right=st.sampled_from([None, True, True, False]),
    )
    def reward(self, data: Any, value: int, key: str | None, right: bool | None) -> None:
        id = data.draw(st.sampled_from(sorted(self.known)))
        known = self.known[id]
        action = None if right is None else known.action if right else "somebody else's"
        expected = self.outcome(known, action, key)
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
        if self.counts == "sum":
            if known.closed:
                return "duplicate" if key in known.keys else "late"
            return "late" if late else "not_shown" if not known.active else "duplicate" if key in known.keys else "applied"
        if known.rewards:
            return "duplicate"
        return "late" if late or known.closed else "applied" if known.active else "not_shown"

    @rule()
    def reward_nobody(self) -> None:
        assert self.experiment.reward("nobody", 1) == "unknown"

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def activate(self, data: Any) -> None:
        id = data.draw(st.sampled_from(sorted(self.known)))
        known = self.known[id]
        late = known.closed or self.clock.now > known.time + WAIT
        expected = "duplicate" if known.active else "late" if late else "applied"
        assert self.experiment.activate(id) == expected
        known.active = known.active or expected == "applied"

    @rule(seconds=st.integers(1, 50))
    def wait(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule()
    def expire(self) -> None:
        before = sum(not known.closed for known in self.known.values())
        assert self.experiment.expire() == before - self.expired(None)

    def expired(self, most: int | None) -> int:
        """Close what is due, earliest first; how many are open after that."""
        due = [known for known in self.known.values() if not known.closed and self.clock.now > known.time + WAIT]
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
        assert self.experiment.actions == self.actions and self.experiment.version == self.learned
        assert self.experiment.waiting == sum(not known.closed for known in self.known.values())


class SumMachine(Machine):
    counts = "sum"


@pytest.mark.parametrize("machine", [Machine, SumMachine])
def test_an_experiment_is_what_a_dict_says(machine: type[Machine]) -> None:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine, settings=settings(max_examples=RUNS, stateful_step_count=STEPS, deadline=None, suppress_health_check=checks)
    )


def test_the_dict_tells_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: an experiment to which no reward is ever late."""
    monkeypatch.setattr("ensample.experiments.state.Open.is_late", lambda self, time: False)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            Machine, settings=settings(max_examples=100, stateful_step_count=40, deadline=None, phases=[Phase.generate])
        )
