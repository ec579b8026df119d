"""A policy that is a function is told what was on offer, and may answer by name; what it cannot mean names its row."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ensample as es

NAMES = ["coffee", "mate", "tea"]
ROWS = 400


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """Of a shop with two or three drinks on offer, at prices of the moment; two rewards never came."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(ROWS):
        offer = NAMES if number % 4 else ["mate", "tea"]
        prices = {
            name: {"price": float(price)}
            for name, price in zip(offer, rng.permutation(len(offer)), strict=True)
        }
        row = {"action": str(rng.choice(offer)), "propensity": 1 / len(offer), "offer": offer}
        row |= {"propensities": [1 / len(offer)] * len(offer), "features": json.dumps(prices)}
        row |= {
            "context": json.dumps({"age": number}),
            "reward": None if number in (3, 90) else float(rng.random() < 0.5),
        }
        rows.append(row)
    return pl.DataFrame(rows)


def cheapest(contexts, names, offers):
    return [min(offer, key=lambda name: offer[name]["price"]) for offer in offers]


def known_cheapest(log: pl.DataFrame) -> pl.DataFrame:
    """The log with the cheapest of each row as its context, for a function that is told nothing else."""
    found = [
        min(prices, key=lambda name: prices[name]["price"])
        for prices in map(json.loads, log["features"])
    ]
    return log.with_columns(context=pl.Series([json.dumps({"best": name}) for name in found]))


def numbers(found: es.Evaluation) -> list[tuple[float, ...]]:
    return [tuple(found[name]) for name in ("ips", "snips")]


def test_always_the_cheapest_can_be_said(log, tmp_path):
    """The same numbers as of a table of probabilities made by hand, from a frame and piece by piece from a file."""

    def by_table(contexts, names):
        return [[float(context["best"] == name) for name in names] for context in contexts]

    expected = numbers(es.evaluate(known_cheapest(log), by_table, low=0, high=1))
    log.write_parquet(tmp_path / "log.parquet")
    for where in (log, tmp_path / "log.parquet"):
        assert numbers(es.evaluate(where, cheapest, low=0, high=1)) == expected


def test_without_features_there_are_names(log):
    told = []

    def first(contexts, names, offers):
        told.extend(offers)
        return [next(iter(offer)) for offer in offers]

    found = es.evaluate(log.drop("features"), first, low=0, high=1)
    assert len(told) == found.rows == ROWS - 2 and {"mate": None, "tea": None} in told
    assert found.unsupported == 0.0


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
        lambda contexts: pd.DataFrame({"coffee": 0.0, "mate": 0.0, "tea": [1.0] * len(contexts)}),
        lambda contexts: pl.DataFrame({"coffee": 0.0, "mate": 0.0, "tea": [1.0] * len(contexts)}),
    ],
)
def test_every_way_to_say_the_same(function, log):
    assert numbers(es.evaluate(log, function, low=0, high=1)) == numbers(
        es.evaluate(log, "action:tea", low=0, high=1)
    )


def at(place, answer):
    """A function that is right everywhere but in one row."""
    return lambda contexts: [
        answer if context["age"] == place else {"tea": 0.25, "mate": 0.75} for context in contexts
    ]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (
            at(97, "milk"),
            "target(...) in row 97 = 'milk': expected an action on offer there: coffee, mate, tea",
        ),
        (
            at(96, "coffee"),
            "target(...) in row 96 = 'coffee': expected an action on offer there: mate, tea",
        ),
        (
            at(2, {"tea": 0.5}),
            "target(...) in row 2 = {'tea': 0.5}: expected numbers >= 0 whose sum",
        ),
        (
            at(0, {"tea": float("nan")}),
            "target(...) in row 0 = {'tea': nan}: expected numbers >= 0",
        ),
        (at(399, {"tea": 1.5, "mate": -0.5}), "target(...) in row 399 = "),
        (at(5, {"tea": "all"}), "target(...) in row 5 = 'all': expected a probability"),
        (at(5, None), "target(...) in row 5 = None: expected a name, or a dict of names"),
        (
            at(5, [0.0, 0.0, 1.0]),
            "target(...) in row 5 = [0.0, 0.0, 1.0]: expected a name, or a dict of names",
        ),
        (lambda contexts: ["tea"] * (len(contexts) + 1), "expected an answer for each of "),
        (lambda contexts: "tea", "target(...) = 'tea': expected probabilities of shape ("),
        (
            lambda contexts, names: np.full((len(contexts), 3), np.nan),
            "target(...) in row 0 = array([nan, nan, nan])",
        ),
        (
            lambda: None,
            "expected a function of (contexts), (contexts, names) or (contexts, names, offers)",
        ),
        (lambda a, b, c, d: None, "expected a function of (contexts)"),
    ],
)
def test_an_answer_that_cannot_be_names_its_row(target, said, log):
    with pytest.raises(es.InvalidArgument) as refused:
        es.evaluate(log, target, low=0, high=1)
    assert said in str(refused.value)
