"""What a model refuses has not happened, and what a batch has answered is kept whoever closes."""

import threading

import pytest

import ensample as es
from ensample.experiments.storage.sqlite import SQLiteStorage


@pytest.mark.parametrize(
    ("model", "reward"),
    [
        (es.Logistic(), es.Reward(0, 10)),
        (es.Logistic(), es.Reward(0, 1, wait="1 min", rule="sum")),
        (es.Neural(loss="logistic"), es.Reward(-1, 1)),
    ],
)
def test_a_model_that_cannot_learn_some_rewards_is_refused_at_once(model, reward):
    with pytest.raises(es.InvalidArgument, match="reward"):
        es.Experiment(
            "news", actions=["a", "b"], recipe=es.EnsembleSampling(5, model=model), reward=reward
        )


@pytest.mark.parametrize("fresh", [False, True])
def test_members_that_no_memory_holds_are_refused_at_once(fresh, monkeypatch):
    """Also fresh ones, as every decision counts the votes of all."""
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: 1 << 35)
    with pytest.raises(
        es.InvalidArgument, match=r"^size = 100000000000: expected what fits in memory"
    ):
        es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(10**11, fresh=fresh))


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_reward_that_the_model_refuses_changes_nothing(where, tmp_path, monkeypatch):
    given = {"actions": ["a", "b"], "recipe": es.EnsembleSampling(5)}
    experiment = (
        es.Experiment("news", **given)
        if where == "memory"
        else es.open_experiment(tmp_path / "news.db", **given)
    )
    first, second = experiment.decide(id="1"), experiment.decide(id="2")
    model = experiment.engine.state.learner.model

    def refuse(*_):
        raise es.InvalidArgument("reward", 1.0, "another one")

    monkeypatch.setattr(model, "learn", refuse)
    with pytest.raises(es.InvalidArgument, match="another one"):
        experiment.reward(first, 1.0)
    assert experiment.reward(second, 0.5) == "applied"  # by a state that was folded anew
    assert experiment.reward(first, 1.0) == "applied"
    assert experiment.log()["reward"].to_list() == [1.0, 0.5]
    experiment.close()


def test_decisions_of_the_batch_in_which_it_is_closed_are_kept(tmp_path, monkeypatch):
    """A decision, and closing, in one batch: the decision was answered, so it is there when one opens it again."""
    path = tmp_path / "news.db"
    experiment = es.open_experiment(path, actions=["a", "b"], recipe=es.EnsembleSampling(5))
    queue, started, go = experiment.engine.queue, threading.Event(), threading.Event()
    answers = []

    def slow():
        started.set()
        go.wait(60)

    threads = [threading.Thread(target=lambda: queue.ask(slow))]
    threads[0].start()
    started.wait(60)
    threads.append(threading.Thread(target=lambda: answers.append(experiment.decide(id="kept"))))
    threads.append(threading.Thread(target=experiment.close))
    for thread in threads[1:]:
        thread.start()
        while len(queue._waiting) < threads.index(thread):
            pass
    go.set()
    for thread in threads:
        thread.join(10)
    assert [answer.id for answer in answers] == ["kept"]
    with es.open_experiment(path) as again:
        assert again.log()["id"].to_list() == ["kept"]


def test_without_its_commit_closing_loses_them(tmp_path, monkeypatch):
    """The negative control of the test before."""

    def careless(self):
        self.closed = True
        self._connection.close()
        self._writer.release()

    monkeypatch.setattr(SQLiteStorage, "close", careless)
    with pytest.raises(AssertionError):
        test_decisions_of_the_batch_in_which_it_is_closed_are_kept(tmp_path, monkeypatch)


def test_ids_that_come_twice_or_are_no_text_are_refused():
    experiment = es.Experiment("news", actions=["a", "b"], ids=lambda: "same")
    experiment.decide()
    with pytest.raises(es.DecisionError, match="not given before"):
        experiment.decide()
    with pytest.raises(es.WrongType, match="ids"):
        es.Experiment("news", actions=["a", "b"], ids=lambda: 17).decide()
    assert experiment.log().height == 1


def test_after_closing_every_question_is_refused(tmp_path):
    experiment = es.open_experiment(
        tmp_path / "news.db", actions=["a", "b"], recipe=es.EnsembleSampling(5)
    )
    experiment.close()
    for _ in range(3):
        with pytest.raises(es.StorageError, match="closed"):
            experiment.decide()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.add(None), "action = None"),
        (lambda e: e.remove(None), "action = None"),
        (lambda e: e.remove("c"), "action = 'c': expected one of the actions a, b"),
        (
            lambda e: e.decide(excluded=["c"]),
            "excluded = 'c': expected actions that could be on offer: a, b",
        ),
        (
            lambda e: e.decide(time="2024-01-01"),
            r"time = '2024-01-01' \(str\): expected seconds since 1970 .*or a datetime",
        ),
        (lambda e: e.decide(time=True), "expected seconds since 1970"),
        (lambda e: e.decide(time=1e300), "expected seconds since 1970"),
        (
            lambda e: e.reward("1", "1"),
            r"value = '1' \(str\): expected a reward, a number from 0 to 1",
        ),
        (lambda e: e.reward("1", 2), "value = 2: expected a reward, a number from 0 to 1"),
    ],
)
def test_what_is_meant_otherwise_is_told(call, message):
    experiment = es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(5))
    hash = experiment.hash
    with pytest.raises(es.InvalidArgument, match=message):
        call(experiment)
    assert experiment.hash == hash and experiment.log().is_empty()


def test_clocks_and_ids_are_functions():
    with pytest.raises(es.WrongType, match=r"clock = 3 .*a function"):
        es.Experiment("news", actions=["a", "b"], clock=3)
    with pytest.raises(es.WrongType, match=r"ids = 5 .*a function"):
        es.Experiment("news", actions=["a", "b"], ids=5)


def test_what_stands_may_be_excluded_though_it_is_not_on_offer():
    experiment = es.Experiment("news", actions=["a", "b", "c"], recipe=es.EnsembleSampling(5))
    assert list(experiment.decide(actions=["a", "b"], excluded=["c", "b"]).propensities) == ["a"]


def test_a_reward_that_is_said_to_come_before_its_decision_is_for_nothing_that_was_shown():
    """A clock that was set back in between loses no reward."""
    now = [1000.0]
    experiment = es.Experiment(
        "news", actions=["a", "b"], recipe=es.EnsembleSampling(5), clock=lambda: now[0]
    )
    first, second = experiment.decide(), experiment.decide()
    assert (
        experiment.reward(first, 1, time=999) == "not_shown"
        and experiment.reward(first, 1, time=1000) == "applied"
    )
    now[0] = 990.0
    assert experiment.reward(second, 1) == "applied" and experiment.version == 2


def test_what_cannot_be_written_is_refused():
    with pytest.raises(es.InvalidArgument, match="UTF-8"):
        es.Experiment("news", actions=["a", "\ud800"])
    with pytest.raises(es.InvalidArgument, match="UTF-8"):
        es.Experiment("news", actions=["a", "b"]).decide(id="\udfff")
