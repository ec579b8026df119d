"""A service against a dict, over HTTP: calls and restarts in any order."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

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

from attempts import attempts
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.service.app import application
from ensample.service.journal import Journal
from ensample.service.service import Service
from ensample.service.settings import ServiceSettings
from service.conftest import ADDRESS, SHOP, TestClient

RUNS, STEPS = attempts(sample=12, full=150), attempts(sample=30, full=60)
ONE = "/v1/experiments/shop"
IDS = st.sampled_from([f"q{number}" for number in range(6)])
CONTEXTS = st.sampled_from([{}, {"x": 1}, {"x": 2.5, "city": "Kiel"}])
SHARED = Path("/dev/shm")


class Machine(RuleBasedStateMachine):
    """Each rule says what must come of it."""

    met: ClassVar[Counter[str]] = Counter()

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=SHARED if SHARED.is_dir() else None))
        self.decided: dict[str, tuple[Any, bool, dict[str, Any]]] = {}  # context, active, answer
        self.active: set[str] = set()
        self.rewarded: set[str] = set()
        self.actions, self.paused = ["a", "b"], False
        self.open()
        assert self.client.put(ONE, json=SHOP).status_code == 201
        for id, active in (("q0", True), ("q1", False), ("q2", True)):
            self.decide_one(id, {"x": 1}, active)

    def open(self) -> None:
        given = ServiceSettings(data=self.folder, log_level="error", snapshot_every=9)
        service = Service(
            given, Journal("error"), lambda path: SQLiteStorage(path, synchronous="OFF")
        )
        self.client = TestClient(application(service), ADDRESS)
        self.client.__enter__()

    def teardown(self) -> None:
        self.client.__exit__()
        shutil.rmtree(self.folder)

    def answered(self, path: str, body: Any, status: int = 200) -> Any:
        found = self.client.post(f"{ONE}/{path}", json=body)
        assert found.status_code == status, (path, body, found.text)
        self.met[f"{path.rpartition('/')[2]} {status}"] += 1
        return found.json()

    @rule(id=IDS, context=CONTEXTS, active=st.sampled_from([True, True, False]))
    def decide(self, id: str, context: Any, active: bool) -> None:
        self.decide_one(id, context, active)

    @rule(id=IDS)
    def decide_as_usual(self, id: str) -> None:
        self.decide_one(id, {"x": 1}, True)

    def decide_one(self, id: str, context: Any, active: bool) -> None:
        body = {"id": id, "context": context, "active": active}
        if self.paused:
            assert self.answered("decide", body, 409)["error"]["code"] == "paused"
        elif id not in self.decided:
            answer = self.answered("decide", body)
            assert list(answer["propensities"]) == self.actions and answer["action"] in self.actions
            self.decided[id] = context, active, answer
            if active:
                self.active.add(id)
        elif self.decided[id][:2] == (context, active):
            assert self.answered("decide", body) == self.decided[id][2]
        else:
            self.answered("decide", body, 409)

    @rule(ids=st.lists(IDS, min_size=1, max_size=4))
    def reward(self, ids: list[str]) -> None:
        """One by one or together."""
        expected = []
        for id in ids:
            counts = id in self.active and id not in self.rewarded
            known = (
                "unknown"
                if id not in self.decided
                else "not_shown"
                if id not in self.active
                else "duplicate"
            )
            expected.append("applied" if counts else known)
            if counts:
                self.rewarded.add(id)
        if len(ids) == 1:
            said = [self.answered(f"decisions/{ids[0]}/reward", {"value": 1})]
        else:
            said = self.answered("rewards", [{"id": id, "value": 1} for id in ids])
        assert [each["outcome"] for each in said] == expected
        self.met.update(expected)

    @rule(id=IDS)
    def activate(self, id: str) -> None:
        expected = (
            "unknown" if id not in self.decided else "duplicate" if id in self.active else "applied"
        )
        assert self.answered(f"decisions/{id}/activate", None)["outcome"] == expected
        if expected == "applied":
            self.active.add(id)

    @rule(name=st.sampled_from("bcd"))
    def change(self, name: str) -> None:
        there = name in self.actions
        self.answered("actions", {"remove": [name]} if there else {"add": [name]})
        self.actions = (
            [each for each in self.actions if each != name] if there else [*self.actions, name]
        )

    @rule(paused=st.sampled_from([False, False, False, True]))
    def pause(self, paused: bool) -> None:
        self.answered("pause", {"paused": paused})
        self.paused = paused

    @precondition(lambda self: self.decided)
    @rule(data=st.data())
    def explain(self, data: Any) -> None:
        id = data.draw(st.sampled_from(sorted(self.decided)))
        found = self.client.get(f"{ONE}/decisions/{id}").json()
        answer = self.decided[id][2]
        assert (found["action"], found["propensities"]) == (
            answer["action"],
            answer["propensities"],
        )

    @rule(really=st.sampled_from([False, False, True]))
    def start_again(self, really: bool) -> None:
        if not really:
            return
        before = self.client.get(f"{ONE}?hash=yes").json()
        self.client.__exit__()
        self.open()
        assert self.client.get(f"{ONE}?hash=yes").json() == before
        self.met["starts"] += 1

    @invariant()
    def is_what_the_dict_says(self) -> None:
        found = self.client.get(ONE).json()
        assert (found["decisions"], found["version"]) == (len(self.decided), len(self.rewarded))
        assert (found["actions"], found["paused"]) == (self.actions, self.paused)
        self.met["steps"] += 1


def often(runs: int, **more: Any) -> settings:
    return settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        **more,
    )


def test_a_service_is_what_a_dict_says() -> None:
    Machine.met = Counter()
    run_state_machine_as_test(Machine, settings=often(RUNS))
    print(f"\n{dict(Machine.met)}")
    assert Machine.met["steps"] > RUNS * STEPS / 2
    assert all(
        Machine.met[what]
        for what in ("applied", "duplicate", "unknown", "not_shown", "decide 409", "starts")
    )


def test_the_dict_tells_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: decisions that were never shown count."""
    monkeypatch.setattr("ensample.experiments.core.outcome_of_closed", lambda *_: "late")
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Machine, settings=often(20, phases=[Phase.generate]))
