"""Experiments in memory and on the disk: decisions, rewards and what becomes of them."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
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
from evidence import holds
from experiments.places import NAMES, SMALL, News
from experiments.ticking import Ticking


def test_in_five_lines() -> None:
    experiment = es.Experiment(
        "news",
        actions=NAMES,
        features=es.Crosses(),
        reward=es.Reward(low=0, high=1, wait="30 min", default=0),
    )
    decision = experiment.decide({"age": 31, "device": "phone", "tags": ["tennis"]})
    assert (
        isinstance(decision.id, str) and decision.action in NAMES and 0 < decision.propensity <= 1
    )
    assert experiment.reward(decision.id, 1) == "applied"
    experiment.add("weather")
    experiment.remove("sport")
    assert experiment.actions == ["politics", "culture", "weather"]
    assert sum(decision.propensities.values()) == pytest.approx(1)
    assert json.loads(json.dumps(decision.to_dict()))["action"] == decision.action


def test_it_learns_who_likes_what(news: News) -> None:
    experiment = news(floor=0.05)
    rng = np.random.default_rng(0)
    for _ in range(400):
        device = ["phone", "tablet"][rng.integers(2)]
        decision = experiment.decide({"device": device})
        experiment.reward(
            decision, decision.action == {"phone": "sport", "tablet": "culture"}[device]
        )
    assert experiment.decide({"device": "phone"}).propensities["sport"] > 0.8
    assert experiment.decide({"device": "tablet"}).propensities["culture"] > 0.8


def test_outcomes_are_values(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    first, second, third = (experiment.decide({"age": age}) for age in (1, 2, 3))
    other = next(name for name in NAMES if name != second.action)
    assert (
        experiment.reward(first, True) == "applied" and experiment.reward(first, 0) == "duplicate"
    )
    assert experiment.reward("nobody", 1) == "unknown"
    assert experiment.reward(second, 1, action=other) == "not_shown"
    assert experiment.reward(second, 1, action=second.action) == "applied"
    clock.move(1801)
    assert experiment.reward(third, 1) == "late" and experiment.version == 2
    assert experiment.expire() == 1 and experiment.version == 3, "the default was learned"
    assert experiment.reward(third, 1) == "late" and experiment.waiting == 0
    assert experiment.counts == {
        "applied": 2,
        "duplicate": 1,
        "unknown": 1,
        "not_shown": 1,
        "late": 2,
        "default": 1,
    }


def test_the_wait_ends_with_its_last_microsecond(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    early, late = experiment.decide(), experiment.decide()
    clock.move(1800)
    assert experiment.reward(early, 1) == "applied" and experiment.expire() == 0
    clock.move(2e-6)
    assert experiment.reward(late, 1) == "late" and experiment.expire() == 1


def test_decisions_expire_on_the_way(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    for _ in range(100):
        experiment.decide()
    clock.move(3600)
    experiment.decide()
    assert experiment.waiting == 37
    experiment.decide()
    assert experiment.waiting == 2 and experiment.counts == {"default": 100}


def test_without_a_default_nothing_is_learned(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(wait=60))
    decision = experiment.decide()
    assert experiment.expire(clock.now + 61) == 1 and experiment.version == 0
    assert (
        experiment.log()["outcome"].to_list() == ["expired"]
        and experiment.reward(decision, 1) == "late"
    )


def test_rewards_may_be_added_up(news: News) -> None:
    clock = Ticking()
    experiment = news(clock, reward=es.Reward(0, 10, wait="1 h", rule="sum", default=0))
    first, second = experiment.decide(), experiment.decide()
    assert [experiment.reward(first, 2, key=key) for key in ("a", "b", "a")] == [
        "applied",
        "applied",
        "duplicate",
    ]
    assert experiment.reward(first, 1) == "applied" and experiment.version == 0
    clock.move(3601)
    assert experiment.reward(first, 1) == "late"
    experiment.expire()
    assert experiment.version == 2 and experiment.reward(first, 2, key="a") == "duplicate"
    assert experiment.reward(second, 2) == "late"
    log = experiment.log()
    assert log["reward"].to_list() == [5.0, 0.0] and log["outcome"].to_list() == [
        "applied",
        "default",
    ]
    assert experiment.engine.state.learner.model.count == 2


def test_a_decision_may_wait_to_be_shown(news: News) -> None:
    clock = Ticking()
    experiment = news(clock)
    shown, hidden = experiment.decide(active=False), experiment.decide(active=False)
    assert experiment.reward(shown, 1) == "not_shown"
    assert [experiment.activate(item) for item in (shown, shown, "nobody")] == [
        "applied",
        "duplicate",
        "unknown",
    ]
    assert experiment.reward(shown, 1) == "applied" and experiment.activate(shown) == "duplicate"
    clock.move(3600)
    assert experiment.activate(hidden) == "late"
    experiment.expire()
    assert experiment.version == 1 and experiment.activate(hidden) == "late"
    assert experiment.log()["active"].to_list() == [True, False]
    assert experiment.log()["outcome"].to_list() == ["applied", "expired"]


def test_the_same_question_has_the_same_answer(news: News) -> None:
    experiment = news()
    decision = experiment.decide({"age": 1}, id="q1")
    experiment.reward(decision, 1)
    assert experiment.decide({"age": 1}, id="q1") == decision
    with pytest.raises(es.DecisionError, match="used for another context or offer"):
        experiment.decide({"age": 2}, id="q1")
    with pytest.raises(es.DecisionError):
        experiment.decide({"age": 1}, ["sport", "culture"], id="q1")
    assert len(experiment.log()) == 1
    assert experiment.reward("q2", 1) == "unknown" and experiment.decide(id="q2").id == "q2", (
        "a reward names no decision"
    )


def test_a_dry_run_leaves_no_trace(news: News) -> None:
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
    assert list(experiment.decide(excluded=["culture"]).propensities) == [
        "politics",
        "weather",
        "games",
    ]
    assert experiment.decide(excluded=["culture", "weather", "games"]).propensity == 1.0
    for call, message in [
        (lambda: experiment.add("games"), "action = 'games': expected the name of a new action"),
        (lambda: experiment.remove("sport"), "action = 'sport': expected one of the actions"),
        (
            lambda: experiment.decide(actions=["sport"]),
            "actions = 'sport': expected actions of the experiment",
        ),
        (lambda: experiment.decide(excluded=experiment.actions), "at least one action left"),
        (lambda: experiment.remove(experiment.actions), "not the last one"),
    ]:
        with pytest.raises(es.InvalidArgument, match=message):
            call()


def test_actions_may_come_with_each_decision() -> None:
    experiment = es.Experiment("ads", features=es.Hashing(32), recipe=SMALL)
    with pytest.raises(es.InvalidArgument, match="the experiment has none of its own"):
        experiment.decide()
    decision = experiment.decide({"page": "home"}, {"tea": {"price": 3}, "shoes": {"price": 80}})
    assert experiment.reward(decision, 1) == "applied"
    assert json.loads(experiment.log()["features"][0]) == {
        "tea": {"price": 3},
        "shoes": {"price": 80},
    }


@pytest.mark.parametrize("baseline", [None, ("culture", 0.2)])
@pytest.mark.parametrize("recipe", [SMALL, es.Greedy(), es.EpsilonGreedy(0.3)])
def test_what_is_logged_is_what_was_drawn_from(
    news: News, recipe: es.Recipe, baseline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each action's frequency is a martingale around its propensities; with another floor than the logged one it is not."""
    monkeypatch.setattr(
        "ensample.experiments.snapshot_scheduler.SNAPSHOT_EVERY", 300
    )  # five of more and more open decisions
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
    wrong = 0.5 * known + 0.5 / 3
    assert not all(holds(p) for p in martingale(drawn, wrong))
    kept = 1.0 if baseline is None else 0.8
    assert known.min() >= kept * 0.3 / 3 - 1e-12
    np.testing.assert_allclose(known.sum(axis=1), 1.0)


def martingale(drawn: np.ndarray, known: np.ndarray) -> list[float]:
    """p-values that sum (p_k - 1/K) (1{a = k} - p_k) is what chance makes of it."""
    weight = known - 1.0 / known.shape[1]
    spread = np.sqrt((weight**2 * known * (1.0 - known)).sum(axis=0))
    return list(2.0 * stats.norm.sf(np.abs(((drawn - known) * weight).sum(axis=0)) / spread))


def test_the_mixture_is_the_formula() -> None:
    mixture = Mixture(floor=0.1, share=0.2, baseline=1, arms=4)
    weights = [0.5, 0.5, 0.0, 0.0]
    expected = [0.8 * (0.9 * w + 0.1 / 4) + (0.2 if k == 1 else 0.0) for k, w in enumerate(weights)]
    np.testing.assert_allclose(mixture.propensities(weights), expected, rtol=1e-15)
    np.testing.assert_allclose(mixture.weights(mixture.propensities(weights)), weights, atol=1e-15)
    drawn = Counter(
        (mixture.pick((i + 0.5) / 10_000).drawn, mixture.pick((i + 0.5) / 10_000).place)
        for i in range(10_000)
    )
    assert drawn == {
        ("baseline", 1): 2_000,
        ("policy", None): 7_200,
        **{("floor", k): 200 for k in range(4)},
    }


def test_floor_and_baseline_alone(news: News) -> None:
    uniform = news(floor=1.0)
    assert set(uniform.decide().propensities.values()) == {1 / 3}
    held = news(baseline=("culture", 1.0))
    assert held.decide().propensities == {"sport": 0.0, "politics": 0.0, "culture": 1.0}
    assert held.decide(actions=["sport", "politics"]).propensities["sport"] > 0, (
        "a baseline that is not on offer has no share"
    )


def test_recipes_without_known_propensities_say_so(news: News) -> None:
    experiment = news(recipe=es.ThompsonSampling())
    decision = experiment.decide()
    assert decision.propensity is None and experiment.log()["propensities"].to_list() == [None]
    assert experiment.reward(decision, 1) == "applied"


@pytest.mark.parametrize("fresh", [False, True])
def test_an_explanation_is_the_state_of_its_time(news: News, fresh: bool) -> None:
    experiment = news(floor=0.1, recipe=es.EnsembleSampling(size=10, fresh=fresh))
    decisions = []
    for number in range(30):
        decisions.append(experiment.decide({"age": number % 3}))
        experiment.reward(decisions[-1], number % 2)
    for decision in decisions[::7]:
        explained = experiment.explain(decision.id)
        mixed = {name: 0.9 * votes / 10 + 0.1 / 3 for name, votes in explained.votes.items()}
        assert (
            mixed == pytest.approx(decision.propensities, abs=1e-15)
            and sum(explained.votes.values()) == 10
        )
        assert (explained.action, explained.version) == (decision.action, decision.version)
        if decision.drawn == "policy":
            assert (
                max(explained.scores, key=explained.scores.get) == decision.action
                and explained.member == decision.member
            )
    with pytest.raises(es.DecisionError, match="the id of a decision"):
        experiment.explain("nobody")


@pytest.mark.parametrize("fresh", [False, True])
def test_votes_are_explained_by_their_round_however_late_rewards_are(
    news: News, fresh: bool
) -> None:
    """The logged mixture, the votes explained and the state read again are those of the round."""
    experiment = news(
        floor=0.1, baseline=("culture", 0.2), recipe=es.EnsembleSampling(size=40, fresh=fresh)
    )
    for number in range(30):
        decision = experiment.decide()
        experiment.reward(
            decision, 0.4 * (decision.action == "sport") + 0.3 * (1.0 + np.sin(number))
        )
    late = [experiment.decide() for _ in range(31)]  # rounds 30 to 60
    assert (len({tuple(decision.propensities.values()) for decision in late}) > 1) == fresh
    for decision in (*late[:3], *late[-3:]):
        explained = experiment.explain(decision.id)
        mixed = {
            name: 0.8 * (0.9 * votes / 40 + 0.1 / 3) + 0.2 * (name == "culture")
            for name, votes in explained.votes.items()
        }
        assert mixed == pytest.approx(decision.propensities, abs=1e-15)
        if decision.drawn == "policy":
            assert max(explained.scores, key=explained.scores.get) == decision.action


def played(news: News, rounds: int = 60, **settings: Any) -> es.Experiment:
    clock = Ticking()
    experiment = news(clock, **settings)
    rng = np.random.default_rng(5)
    for number in range(rounds):
        decision = experiment.decide(
            {"city": f"c{rng.integers(8)}", "age": int(rng.integers(60))}, active=bool(number % 5)
        )
        clock.move(100)
        if number % 3:
            experiment.reward(decision, float(rng.random()))
        if number % 5 == 0:
            experiment.activate(decision)
        if number == 20:
            experiment.add("weather", {"sun": 1})
            experiment.remove("sport")
    return experiment


def arrays(state: State) -> dict[str, list[Any]]:
    return {name: values.tolist() for name, values in state.learner.arrays().items()}


def test_state_is_a_fold_of_events_that_went_through_json(news: News) -> None:
    experiment = played(news)
    events = [from_json(to_json(event)) for event in experiment.engine.storage.read()]
    assert events == list(experiment.engine.storage.read())
    state = State(Settings.rebuilt(events[0].settings))
    for event in events:
        state.apply(event)
    live = experiment.engine.state
    assert (
        arrays(state) == arrays(live)
        and state.counts == live.counts
        and state.featuriser.seen.columns == live.featuriser.seen.columns
    )
    assert (
        list(state.open) == list(live.open)
        and state.round == live.round
        and state.standing == live.standing
    )


def test_decisions_depend_on_seed_and_events_only(news: News) -> None:
    first, again, other = played(news), played(news), played(news, seed=1)
    drop = ["id"]
    assert first.log().drop(drop).equals(again.log().drop(drop)) and not first.log().drop(
        drop
    ).equals(other.log().drop(drop))


@pytest.mark.parametrize(
    "where",
    ["ensample.experiments.state.State._learn", "ensample.experiments.state.heapq.heappush"],
)
def test_what_is_cut_short_happened_whole_or_not_at_all(
    news: News, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its batch is undone, and the state is folded again."""
    experiment, twin = news(), news()
    for each in (experiment, twin):
        each.reward(each.decide({"age": 1}), 1)
    waiting = experiment.decide({"age": 2}, id="w"), twin.decide({"age": 2}, id="w")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, interrupted)
        with pytest.raises(KeyboardInterrupt):
            if where.endswith("heappush"):
                experiment.decide({"age": 3}, id="v")
            else:
                experiment.reward(waiting[0], 1)
    assert experiment.engine.storage.count == twin.engine.storage.count == 4
    for each, decision in zip((experiment, twin), waiting, strict=True):
        assert each.reward(decision, 1) == "applied"
    assert (
        experiment.decide({"age": 4}, id="z").propensities
        == twin.decide({"age": 4}, id="z").propensities
    )
    assert arrays(experiment.engine.state) == arrays(twin.engine.state)


def test_what_is_cut_short_before_its_event_never_happened(
    news: News, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, twin = news(), news()
    with monkeypatch.context() as patch:
        patch.setattr(
            experiment.engine.storage,
            "append",
            lambda event: (_ for _ in ()).throw(KeyboardInterrupt()),
        )
        with pytest.raises(KeyboardInterrupt):
            experiment.decide({f"new{i}": i for i in range(30)})
    assert experiment.decide({"age": 1}).propensities == twin.decide({"age": 1}).propensities
    assert (
        experiment.columns == twin.columns
        and experiment.engine.state.learner.dim == twin.engine.state.learner.dim
    )


def test_times_are_seconds_or_datetimes(news: News) -> None:
    experiment = news(reward=es.Reward(wait=timedelta(minutes=1)))
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    decision = experiment.decide(time=moment)
    assert experiment.log()["time"].to_list() == [moment]
    assert experiment.reward(decision, 1, time=moment + timedelta(seconds=61)) == "late"
    assert experiment.reward(decision, 1, time=datetime(2026, 3, 1, 12, 0, 59)) == "applied"


@pytest.mark.parametrize(
    "wait", ["30 min", "30 minutes", "1800 s", 1800, timedelta(minutes=30), "0.5 h", "1800000ms"]
)
def test_waits_in_words(wait: Any) -> None:
    assert es.Reward(wait=wait).wait == 1800.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda news: es.Reward(wait="soon"), "wait = 'soon': expected a time such as '30 min'"),
        (lambda news: es.Reward(wait=0), "longer than nothing"),
        (lambda news: es.Reward(wait=5e-324), "at least a microsecond"),
        (lambda news: es.Reward(1, 0), r"high = 0\.0: expected a number above low = 1"),
        (
            lambda news: es.Reward(wait=1, default=2),
            "default = 2: expected a reward, a number from 0 to 1",
        ),
        (
            lambda news: es.Reward(default=0),
            "wait = None: expected a time such as '30 min', with a default",
        ),
        (lambda news: es.Reward(rule="sum"), 'with rule = "sum"'),
        (lambda news: es.Reward(rule="last"), "rule = 'last'"),
        (lambda news: es.Experiment("x", actions=[]), "1 to 10000 actions"),
        (lambda news: es.Experiment("x", actions=["a", "a"]), "none of them twice"),
        (
            lambda news: es.Experiment("x", actions="ab"),
            r"actions = 'ab' \(str\): expected names of actions",
        ),
        (lambda news: es.Experiment("x", actions=[1]), r"actions = 1 \(int\)"),
        (lambda news: es.Experiment("", actions=["a"]), "name = ''"),
        (lambda news: es.Experiment("x", actions=["a"], floor=2), "floor = 2"),
        (
            lambda news: es.Experiment("x", actions=["a"], baseline=("b", 0.1)),
            "baseline = 'b': expected one of the actions a",
        ),
        (lambda news: es.Experiment("x", actions=["a"], baseline="a"), "baseline = 'a'"),
        (
            lambda news: es.Experiment("x", actions=["a"], recipe="greedy"),
            r"recipe = 'greedy' \(str\): expected a recipe",
        ),
        (lambda news: es.Experiment("x", actions=["a"], reward=1), "expected the rules of rewards"),
        (
            lambda news: news().reward("d", 1.5),
            r"value = 1\.5: expected a reward, a number from 0 to 1",
        ),
        (lambda news: news().reward("d", float("nan")), "value = nan"),
        (lambda news: news().reward(None, 1), r"id = None \(NoneType\): expected a text"),
        (lambda news: news().decide(id=""), "id = ''"),
        (lambda news: news().decide(active=1), "active = 1"),
    ],
)
def test_bad_input_names_what_is_wrong(news: News, call: Any, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        call(news)


@pytest.mark.parametrize(
    ("asked", "argument"),
    [
        ({"context": {"a": "\ud800"}}, "context.a"),
        ({"context": {"\udfff": 1}}, "context"),
        ({"context": {"tags": ["x", "\ud800"]}}, "context.tags[1]"),
        ({"context": {"day": pd.Timestamp("2026-01-01")}}, "context.day"),
        ({"excluded": ""}, "excluded"),
        ({"excluded": 0}, "excluded"),
    ],
    ids=str,
)
def test_what_no_log_could_have_is_refused_when_it_is_asked(
    asked: dict[str, Any], argument: str
) -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    with pytest.raises(es.InvalidArgument) as caught:
        experiment.decide(**asked)
    assert caught.value.argument == argument and len(experiment.log()) == 0


def test_arrays_and_series_of_excluded_actions() -> None:
    experiment = es.Experiment("news", actions=["a", "b", "c"])
    for excluded in (np.array(["a", "b"]), pd.Series(["a", "b"]), ["a", "b"]):
        assert experiment.decide({"size": np.array(2.0)}, excluded=excluded).action == "c"
    assert len(experiment.decide({}, excluded=[]).propensities or {}) == 3


@pytest.mark.parametrize(
    "recipe", [es.EVILL(), es.SupLinUCB(), es.KvetonPHE(), es.MultiplierBootstrap()]
)
def test_recipes_that_are_for_something_else_are_refused_by_name(recipe: es.Recipe) -> None:
    with pytest.raises(
        es.InvalidArgument, match=r"expected one (for features|that looks)"
    ) as caught:
        es.Experiment("news", actions=["a", "b"], recipe=recipe)
    assert caught.value.argument == "recipe"


def test_threads_share_an_experiment(news: News) -> None:
    import threading

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
