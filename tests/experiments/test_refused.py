"""What a model refuses has not happened, and what a batch has answered is kept whoever closes."""

import threading

import pytest

import ensample as es
from ensample.experiments.sqlite import SQLiteStorage


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
        es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(5, model=model), reward=reward)


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_a_reward_that_the_model_refuses_changes_nothing(where, tmp_path, monkeypatch):
    given = {"actions": ["a", "b"], "recipe": es.EnsembleSampling(5)}
    experiment = es.Experiment("news", **given) if where == "memory" else es.open_experiment(tmp_path / "news.db", **given)
    first, second = experiment.decide(id="1"), experiment.decide(id="2")
    model = experiment._state.learner.policy.model

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
    group, started, go = experiment._group, threading.Event(), threading.Event()
    answers = []

    def slow():
        started.set()
        go.wait(10)

    threads = [threading.Thread(target=lambda: group.do(slow))]
    threads[0].start()
    started.wait(10)
    threads.append(threading.Thread(target=lambda: answers.append(experiment.decide(id="kept"))))
    threads.append(threading.Thread(target=experiment.close))
    for thread in threads[1:]:
        thread.start()
        while len(group._queue) < threads.index(thread):
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
        self._lock.release()

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
    experiment = es.open_experiment(tmp_path / "news.db", actions=["a", "b"], recipe=es.EnsembleSampling(5))
    experiment.close()
    for _ in range(3):
        with pytest.raises(es.StorageError, match="closed"):
            experiment.decide()


def test_what_cannot_be_written_is_refused():
    with pytest.raises(es.InvalidArgument, match="UTF-8"):
        es.Experiment("news", actions=["a", "\ud800"])
    with pytest.raises(es.InvalidArgument, match="UTF-8"):
        es.Experiment("news", actions=["a", "b"]).decide(id="\udfff")
