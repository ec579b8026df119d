"""Numbers of any size: a call is refused and changes nothing, or all that is learned is finite."""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer

import ensample as es
from conformance.policies import RECIPES
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.events import Decided, Rewarded
from ensample.experiments.snapshots import captured, replayed, snapshot_of
from ensample.experiments.storage.sqlite import SQLiteStorage
from ensample.models.learning import Learning
from ensample.policies.recipe import Recipe
from ensample.service.maintenance import replayed_events
from experiments.places import Ticking

SIZES = [5e-324, 1e-200, 1e-155, 1e-20, 1.0, 3.0, 1e9, 1e20, 1e49, 1e80, 1e99, 1e100, 1e101]
SIZES += [1e150, 1e308, float("inf")]
SIGNS = st.sampled_from([-1.0, 0.0, 1.0, 1.0])
NUMBERS = st.builds(lambda size, sign: size * sign, st.sampled_from(SIZES), SIGNS)
SIMPLE = NUMBERS | st.sampled_from(["a", None, True])
FLAT = st.dictionaries(st.sampled_from("uvw"), SIMPLE, max_size=3)
VALUES = NUMBERS | FLAT | st.lists(NUMBERS, max_size=2) | st.text(max_size=2)
CONTEXTS = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
OFFERS = st.fixed_dictionaries({"a": st.none() | FLAT, "b": st.none() | FLAT})
CALLS = st.tuples(st.sampled_from(["first", "late", "never", "learn"]), CONTEXTS, OFFERS, NUMBERS)
CONSTANT = es.FromTransformer(FunctionTransformer(lambda rows: [[len(rows[0]), 1e99]]))
FEATURES = {
    "Crosses": es.Crosses(cap=32),
    "Disjoint": es.Disjoint(cap=32),
    "Hybrid": es.Hybrid(es.OneHot("x"), es.Columns("y.u", "z"), cap=32),
    "Hashing": es.Hashing(8),
    "Crosses of Hashing": es.Crosses(es.Hashing(3), cap=32),
    "FromTransformer": es.Crosses(CONSTANT, cap=32),
}


def learns_contexts(recipe: Recipe) -> bool:
    """Return True for recipes that need neither standing arms nor the whole log."""
    try:
        recipe.start(es.ChangingArms(2), log=None)
    except es.InvalidArgument:
        return False
    return True


LEARNERS = [name for name, recipe in RECIPES.items() if learns_contexts(recipe)]


def attempt(experiment: es.Experiment, call: Callable[[], Any]) -> Any:
    """Return what a call returns; None if it is refused and changes nothing."""
    before, columns, found = experiment.hash, experiment.columns, None
    try:
        found = call()
    except es.InvalidArgument:
        assert experiment.columns == columns and experiment.hash == before
    arrays = experiment.engine.state.learner.arrays()
    assert all(np.isfinite(values).all() for values in arrays.values())
    return found


def play(recipe: str, features: str, rule: str, calls: list[tuple[str, Any, Any, float]]) -> None:
    low, high = RECIPES[recipe].model.reward_range
    low, high = max(low, -1e150), min(high, 1e150)
    rule = "first" if high == 1.0 else rule
    given = {"recipe": RECIPES[recipe], "features": FEATURES[features], "seed": 0}
    given["reward"] = es.Reward(low, high, wait=10.0, default=min(high, 1e100), rule=rule)
    clock = Ticking(1e9)
    experiment = es.Experiment("any", clock=clock, **given)
    for kind, context, offer, y in calls:
        clock.move(20.0 if kind == "late" else 1.0)
        if kind == "learn":
            rows = pl.DataFrame({"context": ['{"x": 1.0}'], "action": ["a"], "reward": [y]})
            attempt(experiment, partial(experiment.learn, rows))
        decision = attempt(experiment, partial(experiment.decide, context, actions=offer))
        if decision is None:
            continue
        if decision.propensities is not None:
            assert np.isclose(sum(decision.propensities.values()), 1.0)
        if kind != "never":
            for key in ("1", "2"):
                attempt(experiment, partial(experiment.reward, decision.id, y, key=key))
        attempt(experiment, partial(experiment.propensities, context, {"a": None, "c": None}))
    attempt(experiment, lambda: experiment.expire(clock.now + 100.0))
    experiment.verify()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(LEARNERS),
    st.sampled_from([*FEATURES]),
    st.sampled_from(["first", "sum"]),
    st.lists(CALLS, max_size=6),
)
def test_numbers_of_any_size_are_refused_or_leave_all_finite(recipe, features, rule, calls) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        play(recipe, features, rule, calls)


def test_without_the_checks_a_price_makes_a_model_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what the released version did."""
    monkeypatch.setattr("ensample.experiments.features.Featuriser.check", lambda *_: None)
    monkeypatch.setattr(Learning, "is_finite", lambda self: True)
    calls = [("first", {"x": 1e80}, {"a": {"price": 1e80}, "b": {"price": 2e80}}, 1.0)]
    with np.errstate(all="ignore"), pytest.raises(AssertionError):
        play("ensemble, calibrated", "Crosses", "first", calls)


@pytest.mark.parametrize(
    ("features", "column"),
    [
        (es.Crosses(), "'x x price'"),
        (es.Crosses(hashed=16), "[0-9]+"),
        (es.Crosses(es.Columns("x"), es.Columns("price")), "'x x price'"),
    ],
)
def test_product_that_is_too_large_is_named(features: es.Features, column: str) -> None:
    experiment = es.Experiment("shop", features=features, seed=0)
    experiment.decide({"x": 1.0}, actions={"a": {"price": 1.0}, "b": None})
    hash, columns, events = experiment.hash, experiment.columns, experiment.events
    offer = {"b": {"price": 1.0, "new": 2.0}, "a": {"price": 1e80}}
    said = rf"column {column} of action 'a' = -?1e\+160: expected a number of at most 1e\+100"
    for ask in (experiment.decide, experiment.propensities):
        with pytest.raises(es.InvalidArgument, match=said):
            ask({"x": 1e80}, offer)
    assert experiment.columns == columns and experiment.hash == hash and experiment.events == events


def overflowing(clock: Ticking, **settings: Any) -> es.Experiment:
    """Return an experiment whose model cannot learn a reward of 1e150 for `UNLEARNABLE`."""
    recipe = es.EnsembleSampling(5, scale=0.5)
    rewards = es.Reward(-1e150, 1e150, **settings)
    return es.Experiment("shop", recipe=recipe, floor=0.0, seed=0, clock=clock, reward=rewards)


UNLEARNABLE = {"a": {"u": 3e98, "v": -5e98, "w": 9e98}}


def test_reward_that_would_overflow_is_refused_and_its_decision_stays_open() -> None:
    experiment = overflowing(Ticking())
    decision = experiment.decide(actions=UNLEARNABLE)
    hash, events, state = experiment.hash, experiment.events, experiment.engine.state
    said = r"reward = 1e\+150: expected one with which all that is learned stays finite"
    with pytest.raises(es.InvalidArgument, match=said):
        experiment.reward(decision, 1e150)
    assert experiment.hash == hash and experiment.events == events
    assert experiment.engine.state is state
    assert experiment.reward(experiment.decide(actions={"a": None}), 1) == "applied"
    assert experiment.is_finite


def test_rewards_are_added_up_to_what_one_may_be() -> None:
    clock = Ticking()
    experiment = overflowing(clock, wait=10, rule="sum")
    decision = experiment.decide(actions=["a", "b"])
    experiment.reward(decision, 0.9e150)
    hash = experiment.hash
    said = r"value = 9e\+149: expected .* those before of 9e\+149, comes to at most 1e\+150"
    with pytest.raises(es.InvalidArgument, match=said):
        experiment.reward(decision, 0.9e150)
    assert experiment.hash == hash
    clock.move(11)
    assert experiment.expire() == 1 and experiment.version == 1 and experiment.is_finite


def test_default_that_would_overflow_is_left_out_and_decisions_go_on() -> None:
    clock = Ticking()
    experiment = overflowing(clock, wait=10, default=1e150)
    lost = experiment.decide(actions=UNLEARNABLE)
    clock.move(11)
    said = rf"shop: the reward of '{lost.id}' \(event 2\) is left out of the model"
    with pytest.warns(es.LeftOutWarning, match=said):
        experiment.decide(actions={"a": None})
    assert experiment.version == 0 and experiment.counts["default"] == 1 and experiment.is_finite
    experiment.reward(experiment.decide(actions={"a": None}), 1)
    with pytest.warns(es.LeftOutWarning):
        experiment.verify()


def test_of_learned_rows_none_is_learned_if_one_is_refused() -> None:
    experiment = overflowing(Ticking())
    rows = {name: [1.0] * 1199 + [number] for name, number in UNLEARNABLE["a"].items()}
    frame = pl.DataFrame({"action": ["a"] * 1200, "reward": [1.0] * 1199 + [1e150]} | rows)
    hash, columns = experiment.hash, experiment.columns
    said = r"^row 1199 of data: reward = 1e\+150: expected one with which"
    with pytest.raises(es.InvalidArgument, match=said):
        experiment.learn(frame)
    assert experiment.hash == hash and experiment.columns == columns
    assert experiment.learn(frame[:1199]) == 1199


def old_log(path: Path) -> tuple[list[Any], str]:
    """Write the log of a release without the checks, with a price of 1e80.

    Return its events, and the id of the decision that led to NaN.
    """
    experiment = es.Experiment("shop", seed=0, reward=es.Reward(0, 10))
    for number in range(6):
        offer = {"a": {"price": 1.0 + number}, "b": {"price": 2.0}}
        decision = experiment.decide({"x": float(number)}, actions=offer)
        experiment.reward(decision, number % 2)
    events = list(experiment.engine.storage.read())
    large = [n for n, event in enumerate(events) if isinstance(event, Decided)][3]
    offer = {"a": {"price": 1e80}, "b": {"price": 2e80}}
    events[large] = events[large]._replace(context={"x": 1e80}, features=offer)
    poisoned = events[large + 1]
    assert isinstance(poisoned, Rewarded)
    storage = SQLiteStorage(path, synchronous="OFF")
    with storage.batch():
        for event in events:
            storage.append(event)
        moment = captured(experiment.engine.state)
        for values in moment.arrays.values():
            values[:] = np.nan
        storage.keep(snapshot_of(moment))
    storage.close()
    return events, poisoned.id


def test_log_that_led_to_nan_opens_and_names_the_event(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    events, id = old_log(file)
    left_out = partial(pytest.warns, es.LeftOutWarning, match=rf"'{id}' \(event 8\) is left out")
    with np.errstate(all="ignore"), left_out():
        experiment = es.open_experiment(file)
    assert experiment.is_finite and experiment.version == 5 and experiment.events == len(events)
    assert experiment.log()["reward"].to_list() == [0.0, 1.0] * 3  # the log has it still
    experiment.reward(experiment.decide({"x": 1.0}, actions={"a": {"price": 1.0}}), 1)
    experiment.engine.snapshots.every = 1
    experiment.decide({"x": 1.0}, actions={"a": {"price": 1.0}})  # keeps a snapshot that is finite
    with np.errstate(all="ignore"), left_out():
        experiment.verify()
    with np.errstate(all="ignore"), left_out():
        assert replayed_events(experiment.engine.storage, verify=True).compared == 1
    hash = experiment.hash
    experiment.close()
    with es.open_experiment(file) as again:  # from that snapshot: there is nothing to warn of
        assert again.hash == hash


def test_a_finite_snapshot_that_does_not_fit_is_damage_after_a_left_out_event_too(
    tmp_path: Path,
) -> None:
    """The negative control of skipping snapshots."""
    old_log(tmp_path / "shop.db")
    storage = SQLiteStorage(tmp_path / "shop.db", synchronous="OFF")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = es.Experiment("shop", seed=0, reward=es.Reward(0, 10)).settings
        experiment = es.Experiment("shop", _engine=ExperimentEngine(settings, storage))
        other = captured(experiment.engine.state)
        other.arrays["ridge"][0, 0] += 1.0
        with storage.batch():
            storage.keep(snapshot_of(other))
        with pytest.raises(es.errors.SnapshotError, match="not the one that was kept"):
            replayed(experiment.settings, storage)
    experiment.close()
