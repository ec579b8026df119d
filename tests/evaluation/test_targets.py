"""Functions, recipes, experiments and policies as targets."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ensample as es
from ensample.evaluation.learners import RecipeTarget
from ensample.evaluation.log import LoggedData
from ensample.evaluation.options import EvaluationOptions
from ensample.evaluation.weighing import pieces
from ensample.experiments.engine import ExperimentEngine
from ensample.experiments.events import Learned
from ensample.experiments.storage.memory import MemoryStorage
from evaluation.logs import ACTIONS, World

RECIPE = es.EnsembleSampling(20)
NAMES = ["coffee", "mate", "tea"]
ROWS = 400


@pytest.fixture(scope="module")
def shop() -> pl.DataFrame:
    """Two or three drinks on offer, at prices of the moment; two rewards never came."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(ROWS):
        offer = NAMES if number % 4 else ["mate", "tea"]
        prices = rng.permutation(len(offer)).tolist()
        features = {name: {"price": price} for name, price in zip(offer, prices, strict=True)}
        shares = [1 / len(offer)] * len(offer)
        row = {"action": str(rng.choice(offer)), "propensity": shares[0], "offer": offer}
        row |= {"propensities": shares, "features": json.dumps(features)}
        reward = None if number in (3, 90) else float(rng.random() < 0.5)
        rows.append(row | {"context": json.dumps({"age": number}), "reward": reward})
    return pl.DataFrame(rows)


def cheapest(contexts, names, offers):
    return [min(offer, key=lambda name: offer[name]["price"]) for offer in offers]


def numbers(log, target):
    found = es.evaluate(log, target, low=0, high=1)
    return [tuple(found[name]) for name in ("ips", "snips")]


def test_a_function_gets_the_offer_with_its_features(shop, tmp_path):
    """The numbers of a table of probabilities, from a frame and piece by piece from a file."""
    prices = [json.loads(features) for features in shop["features"]]
    best = [min(each, key=lambda name: each[name]["price"]) for each in prices]
    known = shop.with_columns(context=pl.Series([json.dumps({"best": name}) for name in best]))

    def by_table(contexts, names):
        return [[float(context["best"] == name) for name in names] for context in contexts]

    expected = numbers(known, by_table)
    shop.write_parquet(tmp_path / "log.parquet")
    assert numbers(shop, cheapest) == numbers(tmp_path / "log.parquet", cheapest) == expected


def test_an_offer_without_features_has_names(shop):
    seen = []

    def first(contexts, names, offers):
        seen.extend(offers)
        return [next(iter(offer)) for offer in offers]

    found = es.evaluate(shop.drop("features"), first, low=0, high=1)
    assert len(seen) == found.rows == ROWS - 2 and {"mate": None, "tea": None} in seen
    assert found.unsupported == 0.0


TEA = {"coffee": 0.0, "mate": 0.0, "tea": 1.0}


@pytest.mark.parametrize(
    "function",
    [
        lambda contexts: ["tea"] * len(contexts),
        lambda contexts: np.array(["tea"] * len(contexts)),
        lambda contexts: pl.Series(["tea"] * len(contexts)),
        lambda contexts, names: [{"tea": 1}] * len(contexts),
        lambda contexts, names=None: [[float(name == "tea") for name in names]] * len(contexts),
        lambda contexts, names, shape=2: np.tile([0, 0, 1], (len(contexts), 1)),
        lambda *known: [[0.0, 0.0, 1.0]] * len(known[0]),
        lambda contexts: pd.DataFrame([TEA] * len(contexts)),
        lambda contexts: pl.DataFrame([TEA] * len(contexts)),
    ],
)
def test_a_function_may_answer_in_any_form(function, shop):
    assert numbers(shop, function) == numbers(shop, "action:tea")


def at(place, answer):
    """A function that is right everywhere but in one row."""
    right = {"tea": 0.25, "mate": 0.75}
    return lambda contexts: [answer if each["age"] == place else right for each in contexts]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (at(97, "milk"), "in row 97 = 'milk': expected an action on offer there: coffee, mate"),
        (at(96, "coffee"), "in row 96 = 'coffee': expected an action on offer there: mate, tea"),
        (at(2, {"tea": 0.5}), "in row 2 = {'tea': 0.5}: expected numbers >= 0 whose sum"),
        (at(0, {"tea": float("nan")}), "in row 0 = {'tea': nan}: expected numbers >= 0"),
        (at(399, {"tea": 1.5, "mate": -0.5}), "target(...) in row 399 = "),
        (at(5, {"tea": "all"}), "in row 5 = 'all': expected a probability"),
        (at(5, None), "in row 5 = None: expected a name, or a dict of names"),
        (at(5, [0.0, 0.0, 1.0]), "in row 5 = [0.0, 0.0, 1.0]: expected a name, or a dict"),
        (lambda contexts: ["tea"] * (len(contexts) + 1), "expected an answer for each of "),
        (lambda contexts: "tea", "target(...) = 'tea': expected probabilities of shape ("),
        (lambda x, names: np.full((len(x), 3), np.nan), "in row 0 = array([nan, nan, nan])"),
        (
            lambda: None,
            "expected a function of (contexts), (contexts, names) or (contexts, names, o",
        ),
        (lambda a, b, c, d: None, "expected a function of (contexts)"),
    ],
)
def test_a_wrong_answer_is_named_with_its_row(target, words, shop):
    with pytest.raises(es.InvalidArgument) as refused:
        es.evaluate(shop, target, low=0, high=1)
    assert words in str(refused.value)


@pytest.fixture(scope="module")
def log():
    return World(1).log(600, 2)


def teach(experiment, row):
    event = Learned(0, [[row["context"], row["action"], None, row["reward"]]])
    experiment.engine.ask(lambda: experiment.engine.take(event))


def all_shares(target, log):
    data = LoggedData(log, EvaluationOptions(low=0, high=1))
    cuts = pieces(len(log), len(data.summary.actions))
    return np.concatenate([target.probabilities(data.rows(*piece)) for piece in cuts])


def test_a_recipe_gives_what_an_experiment_that_learned_the_same_rows_gives(log):
    """The slow twin: an experiment that is asked, then taught, row by row."""
    target = RecipeTarget(RECIPE)
    shares, twin = (
        all_shares(target, log.head(60)),
        es.Experiment("twin", _engine=ExperimentEngine(target.state.settings, MemoryStorage())),
    )
    for place, row in enumerate(log.head(60).iter_rows(named=True)):
        asked = twin.decide(row["context"], row["offer"], dry_run=True).propensities
        assert [asked[name] for name in sorted(asked)] == pytest.approx(
            shares[place].tolist(), abs=1e-12
        )
        teach(twin, row)


def test_choices_in_a_row_depend_on_earlier_rows_only(log):
    other = log.with_columns(
        reward=pl.when(pl.int_range(600) < 300)
        .then(pl.col("reward"))
        .otherwise(1.0 - pl.col("reward"))
    )
    first, second = (all_shares(RecipeTarget(RECIPE), each) for each in (log, other))
    assert np.array_equal(first[:301], second[:301])
    assert not np.array_equal(first[301:], second[301:])


def test_a_learner_is_better_than_the_log_it_learned_from(log):
    found = es.evaluate(World(1).log(3000, 5), RECIPE, low=0, high=1)
    assert found.lift.value > 0.05
    assert "progressive" in found.target


def test_replay_learns_from_the_rows_that_agree(log):
    target = RecipeTarget(RECIPE, "replay")
    shares = all_shares(target, log)
    taken = target.state.learner.version
    assert 20 < taken < 200  # of 600 rows with ten actions, about a tenth where the target is sure
    assert np.allclose(shares.sum(axis=1), 1.0)


def test_rows_that_replay_accepts_are_draws_of_the_target():
    """Chosen actions of accepted rows against the target's own shares: a target that never learns,
    a skewed log."""
    rng = np.random.default_rng(3)
    shares, wanted = np.array([0.7, 0.2, 0.1]), np.array([0.2, 0.3, 0.5])
    chosen = rng.choice(3, 20_000, p=shares)
    target = RecipeTarget(RECIPE, "replay")
    rows = LoggedData(
        pl.DataFrame(
            {
                "action": [str(number) for number in chosen],
                "propensity": shares[chosen],
                "reward": np.zeros(20_000),
                "offer": [["0", "1", "2"]] * 20_000,
                "propensities": [shares.tolist()] * 20_000,
            }
        ),
        EvaluationOptions(low=0, high=1),
    ).rows(0, 20_000)
    accepted = [
        rows.chosen[place] for place in range(20_000) if target.accepts(rows, place, wanted)
    ]
    counts = np.bincount(accepted, minlength=3)
    spread = np.sqrt(len(accepted) * wanted * (1.0 - wanted))
    assert (np.abs(counts - len(accepted) * wanted) < 5.7 * spread).all()
    assert (
        np.abs(np.bincount(chosen) - 20_000 * wanted)
        > 5.7 * np.sqrt(20_000 * wanted * (1.0 - wanted))
    ).any()


def test_an_experiment_as_it_is(log):
    experiment = es.Experiment("mine", actions=ACTIONS, recipe=RECIPE)
    for row in log.head(100).iter_rows(named=True):
        teach(experiment, row)
    before = experiment.log().height, experiment.version
    found = es.evaluate(log, experiment, low=0, high=1)
    assert any("rows that are new to it" in warning for warning in found.warnings)
    assert (experiment.log().height, experiment.version) == before
    assert found.target == "mine after 100 rewards"
    assert found.mean_weight == pytest.approx(1.0, abs=0.4)


def test_a_policy_over_numbered_arms():
    policy = es.EnsembleSampling(10).start(es.FiniteArms(np.eye(3)), seed=0)
    policy.update_many([0, 1, 2, 0], [1.0, 0.0, 0.0, 1.0])
    rows = {
        "action": ["0", "1", "2"] * 50,
        "propensity": [1 / 3] * 150,
        "reward": [1.0, 0.0, 0.0] * 50,
    }
    found = es.evaluate(pl.DataFrame(rows), policy, low=0, high=1)
    assert found["ips"].value == pytest.approx(policy.propensities()[0])
    with pytest.raises(es.InvalidArgument, match="the numbers of arms"):
        es.evaluate(pl.DataFrame(rows | {"action": ["a", "b", "c"] * 50}), policy, low=0, high=1)


def test_questions_that_have_no_answer_are_refused(log):
    with pytest.raises(es.InvalidArgument, match="propensities of all actions"):
        es.evaluate(log.drop("offer", "propensities"), RECIPE, question="replay", low=0, high=1)
    with pytest.raises(es.PropensityError):
        es.evaluate(log, es.PerturbedHistory(), low=0, high=1)


def test_a_recipe_needs_no_contexts(log):
    assert es.evaluate(log.drop("context").head(60), RECIPE, low=0, high=1).rows == 60


@pytest.mark.parametrize("fresh", [False, True])
def test_a_policy_is_judged_by_the_propensities_of_its_next_round(fresh):
    policy = es.EnsembleSampling(50, fresh=fresh).start(es.FiniteArms(np.eye(2)), seed=1)
    for round in range(20):
        policy.update(policy.decide(), round % 3 / 2)
        coming = policy.propensities(round=policy.round)
        log = pl.DataFrame({"action": ["0", "1"], "propensity": [0.5, 0.5], "reward": [1.0, 0.0]})
        found = es.evaluate(log, policy, low=0, high=1)["ips"].value
        assert found == pytest.approx(coming[0]) and policy.round == round + 1


@pytest.mark.parametrize("fresh", [False, True])
def test_an_experiment_tells_the_propensities_of_its_next_round(fresh):
    recipe = es.EnsembleSampling(50, fresh=fresh)
    experiment = es.Experiment(
        "news", actions=["sport", "culture"], recipe=recipe, floor=0.1, seed=2
    )
    for number in range(75):
        experiment.reward(experiment.decide(), number % 2)
    told = []
    for _ in range(10):
        told.append(experiment.propensities())
        assert experiment.decide(dry_run=True).propensities == told[-1] and sum(
            told[-1].values()
        ) == pytest.approx(1.0)
        assert experiment.decide().propensities == told[-1]
    assert (len({tuple(each.values()) for each in told}) > 1) == fresh, (
        "without rewards stored members vote as they did"
    )
