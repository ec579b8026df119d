"""IPS, SNIPS, DM and DR are what their definitions say, however the rows are cut into pieces."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import ensample as es
from attempts import attempts
from ensample.evaluation.cross_fitting import FOLDS
from ensample.evaluation.estimators import doubly_robust, held_below, weights_of
from ensample.evaluation.log import LoggedData
from ensample.evaluation.options import EvaluationOptions
from ensample.evaluation.reward_model import ActionRidges
from ensample.evaluation.targets import as_target
from ensample.evaluation.weighing import RowWeigher, pieces
from evaluation.logs import ACTIONS, World
from evidence import FALSE_ALARM
from naive import off_policy as naive
from naive import reward_model as twin


def parts(log, target):
    """What the twins need, and the predictions that the package made on the way."""
    data = LoggedData(log, EvaluationOptions(low=0.0, high=1.0))
    weigher = RowWeigher(data, as_target(target))
    found = [weigher.weigh(data.rows(*piece)) for piece in pieces(len(log), len(ACTIONS))]
    propensity = np.concatenate(
        [rows.target[np.arange(len(rows.chosen)), rows.chosen] / rows.weights for rows in found]
    )
    joined = {
        name: np.concatenate([getattr(rows, name) for rows in found]) for name in found[0]._fields
    }
    return joined, propensity


def shifting(world: World, rows: int, seed: int) -> pl.DataFrame:
    """A log of a policy whose propensities change from row to row."""
    rng = np.random.default_rng(seed)
    return world.frame(rng.normal(size=(rows, 5)), rng.dirichlet(np.full(10, 5.0), rows), rng)


@pytest.mark.parametrize("rows", [1, 50, 51, 1500])
def test_the_estimates_are_their_definitions(rows):
    world = World(1)
    log = shifting(world, rows, 2)
    found = es.evaluate(log, world.target, low=0, high=1)
    joined, _ = parts(log, world.target)
    given_to = (
        joined["target"],
        log["propensity"].to_list(),
        joined["chosen"],
        log["reward"].to_list(),
    )
    assert found["ips"].value == pytest.approx(naive.ips(*given_to), rel=1e-12)
    assert found["dm"].value == pytest.approx(
        naive.dm(joined["target"], joined["predicted"]), rel=1e-12
    )
    assert found["dr"].value == pytest.approx(naive.dr(*given_to, joined["predicted"]), rel=1e-12)
    assert found.effective_rows == pytest.approx(naive.effective(*given_to[:3]), rel=1e-12)
    if rows > 1:
        assert found["snips"].value == pytest.approx(naive.snips(*given_to), rel=1e-12)


@pytest.mark.parametrize("rows", [1, 11, 300])
def test_the_model_is_its_definition(rows):
    """Predictions of every row, against regressions that are solved anew from all rows before."""
    log = (
        World(2).log(rows, 1).with_columns(reward=pl.col("reward") * pl.int_range(pl.len()) / rows)
    )
    joined, _ = parts(log, "uniform")
    given_to = np.array(log["context"].to_list()), joined["chosen"], joined["rewards"], len(ACTIONS)
    assert np.allclose(
        joined["predicted"], twin.in_time(*given_to, pieces(rows, 10)), rtol=0.0, atol=1e-12
    )


@pytest.mark.parametrize(("rows", "room"), [(1, 4096), (11, 4096), (150, 4096), (150, 90)])
def test_a_log_of_one_policy_is_predicted_in_folds(rows, room, monkeypatch):
    """The first rows from all other folds, later ones in time; the lift follows, and intervals
    contain both."""
    monkeypatch.setattr("ensample.evaluation.cross_fitting.MOST_ROWS", room)
    world = World(2)
    log = world.log(rows, 1)
    found = es.evaluate(log, world.target, low=0, high=1)
    joined, propensity = parts(log, world.target)
    cuts = [piece for piece in pieces(rows, 10) if piece[1] <= room]
    held = cuts[-1][1]
    predicted, given_to = (
        joined["predicted"].copy(),
        (np.array(log["context"].to_list()), joined["chosen"], joined["rewards"]),
    )
    predicted[:held] = twin.in_folds(*(each[:held] for each in given_to), len(ACTIONS), cuts, FOLDS)
    value = naive.dr(joined["target"], propensity, joined["chosen"], joined["rewards"], predicted)
    assert found["dr"].value == pytest.approx(value, rel=1e-12)
    assert all(each.low <= each.value <= each.high for each in (found["dr"], found.lift))
    assert found.lift.value == pytest.approx(value - log["reward"].mean(), rel=1e-12, abs=1e-12)


def test_one_row_of_another_policy_and_all_is_predicted_in_time():
    """Whoever changes may have learned from the rows before."""
    world = World(2)
    log, other = world.log(300, 1), world.log(1, 2)
    shares = [0.05, 0.15] + [0.1] * 8
    changed = {
        "propensities": pl.Series([shares]),
        "propensity": pl.Series([shares[ACTIONS.index(other["action"][0])]]),
    }
    log = pl.concat([log, other.with_columns(**changed)])
    joined, propensity = parts(log, world.target)
    value = naive.dr(
        *(joined["target"], propensity, joined["chosen"], joined["rewards"], joined["predicted"])
    )
    assert es.evaluate(log, world.target, low=0, high=1)["dr"].value == pytest.approx(
        value, rel=1e-12
    )


def test_a_strength_that_fits_is_believed():
    """Rewards that depend on nothing and rewards that depend on everything: the strongest and the
    weakest fits win."""
    rng = np.random.default_rng(0)
    contexts, chosen = rng.normal(size=(2_000, 5)), rng.integers(4, size=2_000)
    exact = 0.5 + 0.1 * (contexts * rng.normal(size=(4, 5))[chosen]).sum(axis=1)
    for rewards, best in ((rng.random(2_000) < 0.5, {4, 5}), (np.clip(exact, 0.0, 1.0), {0, 1})):
        model = ActionRidges(4, 5)
        for start, stop in pieces(2_000, 4):
            model.add(contexts[start:stop], chosen[start:stop], rewards[start:stop].astype(float))
            model.fit()
        assert int(np.argmax(model.beliefs())) in best and model.beliefs().sum() == pytest.approx(
            1.0
        )


def test_a_prediction_knows_nothing_of_its_own_row_or_later_ones():
    """The first rows' predictions stay the same to the bit when all later rewards change."""
    world = World(3)
    log = world.log(400, 4)
    other = log.with_columns(
        pl.when(pl.int_range(pl.len()) < 200)
        .then(pl.col("reward"))
        .otherwise(1.0 - pl.col("reward"))
    )
    cut = max(stop for _, stop in pieces(400, 10) if stop <= 200)
    first, second = (parts(each, world.target)[0]["predicted"] for each in (log, other))
    assert np.array_equal(first[:cut], second[:cut])
    assert not np.array_equal(first[cut + 100 :], second[cut + 100 :])


def test_the_logged_policy_earns_what_it_earned():
    log = World(5).log(300, 6)
    found = es.evaluate(log, "logged", low=0, high=1)
    for name in ("ips", "snips", "dr"):
        assert found[name].value == pytest.approx(
            log["reward"].mean(), rel=0.2 if name == "dr" else 1e-12
        )
    assert found.logged == pytest.approx(log["reward"].mean())
    assert found.largest_weight == pytest.approx(1.0)
    assert found.effective_rows == pytest.approx(300)


@pytest.mark.parametrize(("rows", "most"), [(1_000, 0.037), (10_000, 0.013)])
def test_dr_is_near_the_truth(rows, most):
    """Uniform logging, ten actions, rewards without noise of their own: the relative error over
    eight worlds."""
    errors = []
    for seed in range(8):
        world = World(seed, noise="none")
        found = es.evaluate(world.log(rows, seed + 100), world.target, low=0, high=1)["dr"].value
        errors.append(found / world.value() - 1.0)
    assert np.sqrt(np.mean(np.square(errors))) <= most


@pytest.mark.parametrize("rows", attempts(sample=[1_000], full=[1_000, 10_000, 100_000]))
def test_dr_with_clicks_is_as_near_the_truth_as_clicks_allow(rows):
    """Squared errors over the least possible add up to a chi-square, and little more; those of IPS
    do not."""
    full = {1_000: (20, 20), 10_000: (20, 5), 100_000: (10, 3)}
    worlds, logs = attempts(sample={1_000: (3, 4)}, full=full)[rows]
    squares = {"ips": 0.0, "dr": 0.0, "oracle": 0.0}
    for seed in range(worlds):
        world = World(seed)
        value, unit = world.value(), world.least_error(rows)
        for number in range(logs):
            log = world.log(rows, 1_000 * seed + number)
            found = es.evaluate(log, world.target, low=0, high=1)
            known = es.evaluate(log, world.target, low=0, high=1, reward_model=world.predicted)
            estimates = {"ips": found["ips"], "dr": found["dr"], "oracle": known["dr"]}
            for name, estimate in estimates.items():
                squares[name] += float(((estimate.value - value) / unit) ** 2)
    most = 1.2 * stats.chi2.isf(FALSE_ALARM, worlds * logs)
    assert max(squares["dr"], squares["oracle"]) <= most
    assert squares["ips"] > squares["dr"]


@given(st.integers(0, 10_000), st.floats(0.5, 50.0))
@settings(max_examples=50, deadline=None)
def test_terms_that_are_held_stay_above_their_bound_and_keep_their_mean(seed, most):
    rng = np.random.default_rng(seed)
    shares, target = rng.dirichlet(np.full(4, 0.3), 6), rng.dirichlet(np.full(4, 0.3), 6)
    shares = 0.98 * shares + 0.005
    predicted, rewards = rng.random((6, 4)), rng.random((6, 4))
    held = held_below(predicted, target, shares, most)
    terms = np.empty((6, 4))
    for action in range(4):
        chosen = np.full(6, action)
        weights = weights_of(target, chosen, shares[:, action])
        terms[:, action] = doubly_robust(target, held, chosen, weights, rewards[:, action])
    assert terms.min() >= -most - 1e-9
    assert np.allclose(
        (shares * terms).sum(axis=1), (target * rewards).sum(axis=1), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["json", "struct"])
@pytest.mark.parametrize("name", ["device", "context.device", "user.country", "visits.1"])
def test_segments_are_found_inside_contexts(kind, name):
    """As if they were a column of their own; a context without the field is a segment too."""
    rng, rows = np.random.default_rng(0), 600
    drawn = (
        rng.choice(["phone", "desk"], rows),
        rng.choice(["ch", "de"], rows),
        rng.integers(3, size=rows).tolist(),
    )
    contexts = [
        {"device": str(d), "user": {"country": str(c)}, "visits": [1, v]}
        for d, c, v in zip(*drawn, strict=True)
    ]
    log = World(1).log(rows, 2)
    values = {
        "device": [c["device"] for c in contexts],
        "user.country": [c["user"]["country"] for c in contexts],
    }
    values["visits.1"] = [str(c["visits"][1]) for c in contexts]
    column = pl.Series([json.dumps(c) for c in contexts]) if kind == "json" else pl.Series(contexts)
    inside = log.with_columns(column.alias("context"))
    beside = inside.with_columns(pl.Series("own", values[name.removeprefix("context.")]))
    found = es.evaluate(inside, "uniform", low=0, high=1, segments=name).segments()
    expected = es.evaluate(beside, "uniform", low=0, high=1, segments="own").segments()
    assert repr(found) == repr(expected) and len(found) >= 2  # NaN is no bound of DM


def test_segments_are_evaluations_of_their_own_rows():
    """A context without the field is a segment too."""
    log, place = World(10).log(600, 11), pl.int_range(600)
    phone = pl.when(place % 3 == 0).then(pl.lit('{"device": "phone"}')).otherwise(pl.lit("{}"))
    log = log.with_columns(context=phone)
    found = es.evaluate(log, "uniform", low=0, high=1, segments="device").segments()
    for device, rows in (("phone", place % 3 == 0), ("None", place % 3 != 0)):
        alone = es.evaluate(log.filter(rows), "uniform", low=0, high=1)
        assert found[device]["ips"].value == pytest.approx(alone["ips"].value, rel=1e-12)
    assert set(found) == {"phone", "None"}


KEPT = json.loads((Path(__file__).parents[1] / "golden" / "off_policy.json").read_text())


@pytest.mark.parametrize("peer", KEPT["found"])
def test_estimates_are_those_of_the_peer(peer):
    """Open Bandit Pipeline and VW on the same log."""
    names, shares = ["a", "b", "c", "d"], np.array(KEPT["propensities"])
    rows, chosen = np.arange(len(shares)), np.array(KEPT["chosen"])
    target, predicted = np.array(KEPT["target"]), np.array(KEPT["predicted"])
    columns = {
        "action": [names[number] for number in chosen],
        "reward": KEPT["rewards"],
        "propensity": shares[rows, chosen],
        "offer": [names] * len(rows),
        "propensities": KEPT["propensities"],
        "context": [[float(row)] for row in rows],
    }

    def at_rows(values):
        return lambda contexts, names: values[[int(place[0]) for place in contexts]]

    model = at_rows(predicted)
    found = es.evaluate(pl.DataFrame(columns), at_rows(target), reward_model=model, low=0, high=1)
    for name, value in KEPT["found"][peer].items():
        assert found[name].value == pytest.approx(value, rel=1e-12)
