"""Experiments in memory, on the disk and in PostgreSQL: decisions, actions, propensities, state."""

import json
import threading
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import ensample as es
from ensample.experiments.events import from_json, to_json
from ensample.experiments.mixture import Mixture
from ensample.experiments.settings import Settings
from ensample.experiments.state import State
from ensample.experiments.storage.sqlite import SQLiteStorage
from evidence import holds
from experiments.places import NAMES, SMALL, News, Ticking, played

LOGISTIC = es.EnsembleSampling(5, model=es.Logistic())


def test_experiment_decides_learns_and_changes_its_actions() -> None:
    rules = es.Reward(low=0, high=1, wait="30 min", default=0)
    experiment = es.Experiment("news", actions=NAMES, features=es.Crosses(), reward=rules)
    decision = experiment.decide({"age": 31, "device": "phone", "tags": ["tennis"]})
    assert decision.action in NAMES and 0 < decision.propensity <= 1
    assert sum(decision.propensities.values()) == pytest.approx(1)
    assert json.loads(json.dumps(decision.to_dict()))["action"] == decision.action
    assert experiment.reward(decision.id, 1) == "applied"
    experiment.add("weather")
    experiment.remove("sport")
    assert experiment.actions == ["politics", "culture", "weather"]


def test_policy_learns_which_action_fits_which_context(news: News) -> None:
    experiment = news(floor=0.05)
    rng, best = np.random.default_rng(0), {"phone": "sport", "tablet": "culture"}
    for _ in range(400):
        device = ["phone", "tablet"][rng.integers(2)]
        decision = experiment.decide({"device": device})
        experiment.reward(decision, decision.action == best[device])
    for device, action in best.items():
        assert experiment.decide({"device": device}).propensities[action] > 0.8


def test_same_id_has_the_same_answer_or_is_an_error(news: News) -> None:
    experiment = news()
    decision = experiment.decide({"age": 1}, id="q1")
    experiment.reward(decision, 1)
    assert experiment.decide({"age": 1}, id="q1") == decision
    with pytest.raises(es.DecisionError, match="used for another context or offer"):
        experiment.decide({"age": 2}, id="q1")
    with pytest.raises(es.DecisionError):
        experiment.decide({"age": 1}, ["sport", "culture"], id="q1")
    assert len(experiment.log()) == 1
    assert experiment.reward("q2", 1) == "unknown", "a reward names no decision"
    assert experiment.decide(id="q2").id == "q2"


def test_ids_must_be_new_texts() -> None:
    experiment = es.Experiment("news", actions=["a", "b"], ids=lambda: "same")
    experiment.decide()
    with pytest.raises(es.DecisionError, match="not given before"):
        experiment.decide()
    with pytest.raises(es.WrongType, match="ids"):
        es.Experiment("news", actions=["a", "b"], ids=lambda: 17).decide()
    assert experiment.log().height == 1


def test_dry_run_leaves_no_trace(news: News) -> None:
    experiment, twin = news(), news()
    tried = experiment.decide({"device": "phone"}, dry_run=True)
    assert len(experiment.log()) == 0 and experiment.reward(tried, 1) == "unknown"
    mine, theirs = experiment.decide({"age": 3}), twin.decide({"age": 3})
    assert mine.propensities == theirs.propensities and experiment.columns == twin.columns


def test_actions_come_and_go(news: News) -> None:
    experiment = news()
    removed = experiment.decide(actions=["sport"])
    experiment.remove("sport")
    assert experiment.reward(removed, 1) == "applied", "what was shown still counts"
    assert set(experiment.decide().propensities) == {"politics", "culture"}
    experiment.add({"weather": {"sun": True}, "games": None})
    offer = list(experiment.decide(excluded=["culture"]).propensities)
    assert offer == ["politics", "weather", "games"]
    assert experiment.decide(excluded=["culture", "weather", "games"]).propensity == 1.0
    offer = experiment.decide(actions=["weather", "games"], excluded=["culture", "games"])
    assert list(offer.propensities) == ["weather"]
    for call, message in [
        (lambda: experiment.add("games"), "action = 'games': expected the name of a new action"),
        (lambda: experiment.remove("sport"), "action = 'sport': expected one of the actions"),
        (lambda: experiment.decide(actions=["sport"]), "'sport': expected actions of the exper"),
        (lambda: experiment.decide(excluded=experiment.actions), "at least one action left"),
        (lambda: experiment.remove(experiment.actions), "not the last one"),
    ]:
        with pytest.raises(es.InvalidArgument, match=message):
            call()


def test_actions_may_come_with_each_decision() -> None:
    experiment = es.Experiment("ads", features=es.Hashing(32), recipe=SMALL)
    with pytest.raises(es.InvalidArgument, match="the experiment has none of its own"):
        experiment.decide()
    offer = {"tea": {"price": 3}, "shoes": {"price": 80}}
    assert experiment.reward(experiment.decide({"page": "home"}, offer), 1) == "applied"
    assert json.loads(experiment.log()["features"][0]) == offer


@pytest.mark.parametrize("baseline", [None, ("culture", 0.2)])
@pytest.mark.parametrize("recipe", [SMALL, es.Greedy(), es.EpsilonGreedy(0.3)])
def test_logged_propensities_are_those_drawn_from(
    news: News, recipe: es.Recipe, baseline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each action's frequency is a martingale around its propensities; with another floor not."""
    monkeypatch.setattr("ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", 300)
    experiment = news(recipe=recipe, floor=0.3, baseline=baseline)
    rng = np.random.default_rng(1)
    chosen, expected = [], []
    for _ in range(1_500):
        decision = experiment.decide({"x": rng.normal()})
        chosen.append([name == decision.action for name in NAMES])
        expected.append(list(decision.propensities.values()))
        if rng.random() < 0.1:
            experiment.reward(decision, rng.random())
    drawn, known = np.array(chosen, float), np.array(expected)
    assert all(holds(p) for p in martingale(drawn, known))
    assert not all(holds(p) for p in martingale(drawn, 0.5 * known + 0.5 / 3))
    assert known.min() >= (1.0 if baseline is None else 0.8) * 0.3 / 3 - 1e-12
    np.testing.assert_allclose(known.sum(axis=1), 1.0)


def martingale(drawn: np.ndarray, known: np.ndarray) -> list[float]:
    """Return p-values of sum (p_k - 1/K) (1{a = k} - p_k)."""
    weight = known - 1.0 / known.shape[1]
    spread = np.sqrt((weight**2 * known * (1.0 - known)).sum(axis=0))
    return list(2.0 * stats.norm.sf(np.abs(((drawn - known) * weight).sum(axis=0)) / spread))


def test_mixture_is_the_formula() -> None:
    mixture, weights = Mixture(floor=0.1, share=0.2, baseline=1, arms=4), [0.5, 0.5, 0.0, 0.0]
    expected = [0.8 * (0.9 * w + 0.1 / 4) + (0.2 if k == 1 else 0.0) for k, w in enumerate(weights)]
    np.testing.assert_allclose(mixture.propensities(weights), expected, rtol=1e-15)
    np.testing.assert_allclose(mixture.weights(mixture.propensities(weights)), weights, atol=1e-15)
    drawn = Counter(tuple(mixture.pick((i + 0.5) / 10_000)) for i in range(10_000))
    floor = {("floor", k): 200 for k in range(4)}
    assert drawn == {("baseline", 1): 2_000, ("policy", None): 7_200, **floor}


def test_floor_and_baseline_alone(news: News) -> None:
    assert set(news(floor=1.0).decide().propensities.values()) == {1 / 3}
    held = news(baseline=("culture", 1.0))
    assert held.decide().propensities == {"sport": 0.0, "politics": 0.0, "culture": 1.0}
    assert held.decide(actions=["sport", "politics"]).propensities["sport"] > 0, (
        "it is not on offer"
    )


def test_recipes_without_known_propensities_say_so(news: News) -> None:
    experiment = news(recipe=es.ThompsonSampling())
    decision = experiment.decide()
    assert decision.propensity is None and experiment.log()["propensities"].to_list() == [None]
    assert experiment.reward(decision, 1) == "applied"


@pytest.mark.parametrize("fresh", [False, True])
def test_explanation_is_the_state_of_its_time(news: News, fresh: bool) -> None:
    """Also of rounds whose rewards never came, and whose members are drawn anew in each."""
    recipe = es.EnsembleSampling(size=40, fresh=fresh)
    experiment = news(floor=0.1, baseline=("culture", 0.2), recipe=recipe)
    decisions = []
    for number in range(30):
        decisions.append(experiment.decide({"age": number % 3}))
        experiment.reward(decisions[-1], number % 2)
    late = [experiment.decide() for _ in range(31)]
    assert (len({tuple(each.propensities.values()) for each in late}) > 1) == fresh
    for decision in (*decisions[::7], *late[:3], *late[-3:]):
        found = experiment.explain(decision.id)
        mixed = {
            name: 0.8 * (0.9 * votes / 40 + 0.1 / 3) + 0.2 * (name == "culture")
            for name, votes in found.votes.items()
        }
        assert mixed == pytest.approx(decision.propensities, abs=1e-15)
        assert sum(found.votes.values()) == 40
        assert (found.action, found.version) == (decision.action, decision.version)
        if decision.drawn == "policy":
            assert max(found.scores, key=found.scores.get) == decision.action
            assert found.member == decision.member
    with pytest.raises(es.DecisionError, match="the id of a decision"):
        experiment.explain("nobody")


def arrays(state: State) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in state.learner.arrays().items()}


def test_state_is_a_fold_of_events_that_went_through_json(news: News) -> None:
    experiment = played(news)
    stored = list(experiment.engine.storage.read())
    events = [from_json(to_json(event)) for event in stored]
    assert events == stored
    state, live = State(Settings.rebuilt(events[0].settings)), experiment.engine.state
    for event in events:
        state.apply(event)
    assert (
        arrays(state) == arrays(live) and state.featuriser.seen.order == live.featuriser.seen.order
    )
    for name in ("counts", "round", "standing", "open"):
        found, expected = getattr(state, name), getattr(live, name)
        assert list(found) == list(expected) if name == "open" else found == expected


def test_decisions_depend_on_seed_and_events_only(news: News) -> None:
    first, again, other = (played(news, seed=seed).log().drop("id") for seed in (0, 0, 1))
    assert first.equals(again) and not first.equals(other)


@pytest.mark.parametrize("where", ["State._learn", "heapq.heappush"])
def test_interrupted_call_happened_whole_or_not_at_all(
    news: News, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batch is undone, and the state is folded again."""
    experiment, twin = news(), news()
    for each in (experiment, twin):
        each.reward(each.decide({"age": 1}), 1)
    waiting = experiment.decide({"age": 2}, id="w"), twin.decide({"age": 2}, id="w")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"ensample.experiments.state.{where}", interrupted)
        if where.endswith("heappush"):
            experiment.decide({"age": 3}, id="v")
        else:
            experiment.reward(waiting[0], 1)
    assert experiment.engine.storage.count == twin.engine.storage.count == 4
    decisions = []
    for each, decision in zip((experiment, twin), waiting, strict=True):
        assert each.reward(decision, 1) == "applied"
        decisions.append(each.decide({"age": 4}, id="z").propensities)
    assert decisions[0] == decisions[1]
    assert arrays(experiment.engine.state) == arrays(twin.engine.state)


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_call_interrupted_before_its_event_never_happened(
    news: News, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, twin = news(), news()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(experiment.engine.storage, "append", interrupted)
        experiment.decide({f"new{i}": i for i in range(30)})
    assert experiment.decide({"age": 1}).propensities == twin.decide({"age": 1}).propensities
    assert experiment.columns == twin.columns
    assert experiment.engine.state.learner.dim == twin.engine.state.learner.dim


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_reward_that_the_model_refuses_changes_nothing(where, tmp_path, monkeypatch) -> None:
    given = {"actions": ["a", "b"], "recipe": es.EnsembleSampling(5)}
    if where == "memory":
        experiment = es.Experiment("news", **given)
    else:
        experiment = es.open_experiment(tmp_path / "news.db", **given)
    first, second = experiment.decide(id="1"), experiment.decide(id="2")

    def refuse(*_: object) -> None:
        raise es.InvalidArgument("reward", 1.0, "another one")

    monkeypatch.setattr(experiment.engine.state.learner.model, "learn", refuse)
    with pytest.raises(es.InvalidArgument, match="another one"):
        experiment.reward(first, 1.0)
    assert experiment.reward(second, 0.5) == "applied"  # by a state that was folded anew
    assert experiment.reward(first, 1.0) == "applied"
    assert experiment.log()["reward"].to_list() == [1.0, 0.5]
    experiment.close()


def close_together(path: Any) -> None:
    """Answer a decision, and close, in one batch."""
    experiment = es.open_experiment(path, actions=["a", "b"], recipe=es.EnsembleSampling(5))
    queue, started, go = experiment.engine.queue, threading.Event(), threading.Event()
    answers: list[Any] = []

    def slow() -> None:
        started.set()
        go.wait(60)

    calls = [
        lambda: queue.ask(slow),
        lambda: answers.append(experiment.decide(id="kept")),
        experiment.close,
    ]
    threads = [threading.Thread(target=call) for call in calls]
    for number, thread in enumerate(threads):
        thread.start()
        while len(queue._waiting) < number or not started.is_set():
            pass
    go.set()
    for thread in threads:
        thread.join(10)
    assert [answer.id for answer in answers] == ["kept"]
    with es.open_experiment(path) as again:
        assert again.log()["id"].to_list() == ["kept"]


def test_decision_of_the_batch_that_closes_is_kept(tmp_path, monkeypatch) -> None:
    close_together(tmp_path / "news.db")

    def careless(self: SQLiteStorage) -> None:
        self.closed = True
        self._connection.close()
        self._writer.release()

    monkeypatch.setattr(SQLiteStorage, "close", careless)
    with pytest.raises(AssertionError):  # the negative control: without its commit it is lost
        close_together(tmp_path / "lost.db")


def test_threads_share_an_experiment(news: News) -> None:
    experiment = news()

    def work() -> None:
        for _ in range(60):
            experiment.reward(experiment.decide({"age": 1}), 1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert experiment.version == 360 and experiment.log()["round"].to_list() == list(range(360))


def test_arrays_and_series_of_excluded_actions() -> None:
    experiment = es.Experiment("news", actions=["a", "b", "c"])
    for excluded in (np.array(["a", "b"]), pd.Series(["a", "b"]), ["a", "b"]):
        assert experiment.decide({"size": np.array(2.0)}, excluded=excluded).action == "c"
    assert len(experiment.decide({}, excluded=[]).propensities or {}) == 3


def made(**given: Any) -> Any:
    return lambda _: es.Experiment("x", **({"actions": ["a", "b"]} | given))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (made(actions=[]), "1 to 10000 actions"),
        (made(actions=["a", "a"]), "none of them twice"),
        (made(actions="ab"), r"actions = 'ab' \(str\): expected names of actions"),
        (made(actions=[1]), r"actions = 1 \(int\)"),
        (made(actions=["a", "\ud800"]), "UTF-8"),
        (lambda _: es.Experiment("", actions=["a"]), "name = ''"),
        (made(floor=2), "floor = 2"),
        (made(baseline=("c", 0.1)), "baseline = 'c': expected one of the actions a, b"),
        (made(baseline="a"), "baseline = 'a'"),
        (made(recipe="greedy"), r"recipe = 'greedy' \(str\): expected a recipe"),
        (made(reward=1), "expected the rules of rewards"),
        (made(recipe=LOGISTIC, reward=es.Reward(0, 10)), "reward"),
        (made(recipe=LOGISTIC, reward=es.Reward(0, 1, wait=60, rule="sum")), "reward"),
        (made(clock=3), r"clock = 3 .*a function"),
        (made(ids=5), r"ids = 5 .*a function"),
        (lambda e: e.reward("d", 1.5), r"value = 1\.5: expected a reward, a number from 0 to 1"),
        (lambda e: e.reward("d", float("nan")), "value = nan"),
        (lambda e: e.reward("1", "1"), r"value = '1' \(str\): expected a reward"),
        (lambda e: e.reward(None, 1), r"id = None \(NoneType\): expected a text"),
        (lambda e: e.decide(id=""), "id = ''"),
        (lambda e: e.decide(id="\udfff"), "UTF-8"),
        (lambda e: e.decide(active=1), "active = 1"),
        (lambda e: e.decide(excluded=["c"]), "'c': expected actions that could be on offer: a, b"),
        (lambda e: e.decide(excluded=""), "excluded"),
        (lambda e: e.decide(time="2024-01-01"), r"\(str\): expected seconds since 1970 .*datetime"),
        (lambda e: e.decide(time=True), "expected seconds since 1970"),
        (lambda e: e.decide(time=1e300), "expected seconds since 1970"),
        (lambda e: e.decide({"a": "\ud800"}), r"context\.a ="),
        (lambda e: e.decide({"\udfff": 1}), r"context ="),
        (lambda e: e.decide({"tags": ["x", "\ud800"]}), r"context\.tags\[1\] ="),
        (lambda e: e.decide({"day": pd.Timestamp("2026-01-01")}), r"context\.day ="),
        (lambda e: e.add(None), "action = None"),
        (lambda e: e.remove(None), "action = None"),
        (lambda e: e.remove("c"), "action = 'c': expected one of the actions a, b"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call: Any, message: str) -> None:
    experiment = es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(5))
    hash = experiment.hash
    with pytest.raises(es.InvalidArgument, match=message):
        call(experiment)
    assert experiment.hash == hash and experiment.log().is_empty()


RIVALS = [es.EVILL(), es.SupLinUCB(), es.KvetonPHE(), es.MultiplierBootstrap()]


@pytest.mark.parametrize("recipe", RIVALS)
def test_recipes_for_something_else_are_refused(recipe: es.Recipe) -> None:
    with pytest.raises(es.InvalidArgument, match=r"expected one (for features|that looks)") as said:
        es.Experiment("news", actions=["a", "b"], recipe=recipe)
    assert said.value.argument == "recipe"


@pytest.mark.parametrize("fresh", [False, True])
def test_members_that_no_memory_holds_are_refused(fresh: bool, monkeypatch) -> None:
    monkeypatch.setattr("ensample.memory.memory_bytes", lambda: 1 << 35)
    expected = r"^size = 100000000000: expected what fits in memory"
    with pytest.raises(es.InvalidArgument, match=expected):
        es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(10**11, fresh=fresh))


def test_failed_batch_is_its_questions_failure_and_closing_is_final(tmp_path) -> None:
    experiment = es.open_experiment(tmp_path / "news.db", actions=["a"], recipe=SMALL)
    experiment.close()
    for call in (experiment.decide, experiment.log, lambda: experiment.together([lambda: 1])):
        with pytest.raises(es.StorageError, match="closed"):
            call()
    assert "1 actions" in repr(experiment) and Ticking()() > 0
