"""Settings that are not those of an experiment: the error names the field, both values and the way on."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensample as es
from ensample.experiments.differences import LONGEST, differences
from service.conftest import SHOP, Served, serve, shop

__all__ = ["serve", "shop"]
LONG = "x" * 300
CREATED = "expected what the experiment was created with"
KEPT = {
    "actions": ["a", "b", f"{LONG}1"],
    "recipe": es.EnsembleSampling(size=10),
    "reward": es.Reward(wait="30 min", default=0),
    "features": es.Crosses(es.Columns("age", "income", "city")),
    "baseline": ("a", 0.1),
    "seed": 0,
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"floor": 0.5}, f"floor = 0.5: {CREATED}, 0.02. Settings do not change: leave floor"),
        ({"recipe": es.EnsembleSampling(size=20)}, f"recipe.size = 20: {CREATED}, 10."),
        ({"recipe": es.LinUCB()}, "recipe = LinUCB("),
        ({"reward": es.Reward(wait="1 h", default=0)}, f"reward.wait = 3600.0: {CREATED}, 1800.0"),
        (
            {"reward": es.Reward(wait="1 h", default=1)},
            "; also reward.default = 1.0 instead of 0.0. Settings",
        ),
        ({"baseline": ("a", 0.2)}, f"baseline[1] = 0.2: {CREATED}, 0.1"),
        ({"baseline": ("c", 0.1)}, f"baseline[0] = 'c': {CREATED}, 'a'"),
        (
            {"actions": ["a", "c", f"{LONG}1"]},
            "actions: 'c' is new, 'b' is missing; 2 others are the same. Leave actions out",
        ),
        (
            {"actions": ["c", "b", f"{LONG}1"]},
            "add or remove some by add() and remove() (over HTTP: POST .../actions)",
        ),
        (
            {"actions": {"a": None, "b": {"price": 3}, f"{LONG}1": None}},
            "actions['b'] = {'price': 3}: expected",
        ),
        ({"features": es.Crosses(es.Columns("age", "income", "town"))}, "'town'"),
        ({"name": f"{LONG[:150]}y"}, "'news'"),
        ({"seed": 3}, f"seed = 3: {CREATED}, 0."),
    ],
)
def test_settings_that_differ_are_named(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    es.open_experiment(tmp_path / "news.db", "news", **KEPT).close()
    with pytest.raises(es.InvalidArgument) as refused:
        es.open_experiment(tmp_path / "news.db", **given)
    assert said in str(refused.value) and len(str(refused.value)) < 600
    with es.open_experiment(tmp_path / "news.db", **KEPT) as experiment:
        assert experiment.events == 1


def test_long_values_are_cut_around_what_differs() -> None:
    (found,) = differences("name", f"{LONG}one{LONG}", f"{LONG}two{LONG}")
    assert "one" in found.given and "two" in found.kept and len(found.given) <= LONGEST + 8
    (found,) = differences("features.names", list("abcdefghij"), list("abcdefXhijk"))
    assert found.given == "[..., 'e', 'f', 'g', 'h', 'i', ...] (10 entries)"
    assert found.kept == "[..., 'e', 'f', 'X', 'h', 'i', ...] (11 entries)"


PLAIN = st.recursive(
    st.none() | st.integers(0, 3) | st.sampled_from(["a", "b", "x" * 100 + "a", "x" * 100 + "b"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["kind", "own", "size", "a", "b"]), inner, max_size=3)
    ),
)


@pytest.mark.parametrize("field", ["recipe", "actions"])
@given(one=PLAIN, other=PLAIN)
def test_whatever_differs_is_shown_to_differ(field: str, one: Any, other: Any) -> None:
    found = differences(field, one, other)
    assert bool(found) == (one != other)
    assert all(each.given != each.kept for each in found), "what differs is never cut away"


def test_the_service_says_it_too(shop: Served) -> None:
    changed = SHOP | {"recipe": {"kind": "EnsembleSampling", "size": 11}}
    refused = shop.put("/v1/experiments/shop", json=changed)
    error = refused.json()["error"]
    assert refused.status_code == 409 and error["argument"] == "recipe.size"
    assert (
        "recipe.size = 11: expected what the experiment was created with, 10. Settings do not change: leave recipe"
        in error["message"]
    )
