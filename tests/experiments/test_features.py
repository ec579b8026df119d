"""From contexts and actions to vectors."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.utils import murmurhash3_32

import ensample as es
from ensample.experiments.features import Featuriser, as_features
from ensample.experiments.features.vocabulary import SHARED, Vocabulary, murmur3, size_for
from ensample.plain_data import plain_context
from naive.features import crossed, disjoint, everything

TEXTS = st.text(max_size=6)
NUMBERS = st.integers(-5, 5) | st.floats(-9, 9) | st.booleans()
FLAT = st.dictionaries(
    st.sampled_from("abcde"),
    NUMBERS | TEXTS | st.none() | st.lists(TEXTS, max_size=3, unique=True),
    max_size=4,
)
VALUES = NUMBERS | TEXTS | st.none() | FLAT
CONTEXTS = st.dictionaries(st.sampled_from("uvwxyz"), VALUES, max_size=5)
ACTIONS = ("sport", "culture", "news")


def by_name(featuriser: Featuriser, rows: np.ndarray, k: int) -> dict[str, float]:
    """Column k, without zeros."""
    names = {place: name for name, place in featuriser.seen.columns.items()}
    return {names[place]: float(rows[place, k]) for place in np.flatnonzero(rows[:, k])}


def nonzero(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value != 0.0}


@settings(max_examples=60, deadline=None)
@given(st.lists(CONTEXTS, min_size=1, max_size=6), st.booleans())
def test_columns_hold_what_the_naive_twin_says(contexts: list[dict[str, Any]], owned: bool) -> None:
    own = [{"price": 2.5, "kind": "x"}, None, {"price": 0.5}] if owned else None
    for features, twin in ((es.Crosses(cap=4096), crossed), (es.Disjoint(cap=4096), disjoint)):
        featuriser = Featuriser(features)
        for context in contexts:
            plain = plain_context("context", context)
            rows = featuriser.rows(plain, ACTIONS, own)
            assert rows.shape == (featuriser.dim, 3)
            for k, action in enumerate(ACTIONS):
                assert by_name(featuriser, rows, k) == nonzero(
                    twin(plain, action, own[k] if own else None)
                )


def test_the_twin_tells_a_mistake() -> None:
    featuriser = Featuriser(es.Crosses())
    rows = featuriser.rows({"age": 31}, ACTIONS)
    rows[featuriser.seen.column("age x [culture]"), 1] = 30.0
    assert by_name(featuriser, rows, 1) != crossed({"age": 31}, "culture", None)


@settings(max_examples=60, deadline=None)
@given(CONTEXTS, st.integers(1, 40))
def test_hashing_is_scikit_learns(context: dict[str, Any], dim: int) -> None:
    named = {name: number for name, number in everything(plain_context("context", context)).items()}
    theirs = FeatureHasher(dim).transform([named]).toarray()[0]
    names, numbers = es.Hashing(dim).items(plain_context("context", context), Vocabulary(16))
    ours = np.zeros(dim)
    for name, number in zip(names, numbers, strict=True):
        ours[int(name.removeprefix("hash "))] += number
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


@given(st.text())
def test_the_hash_is_murmur(text: str) -> None:
    assert murmur3(text) == murmurhash3_32(text.encode(), 0, positive=True)


def test_everything_hashed_has_a_fixed_length_and_signs() -> None:
    featuriser = Featuriser(as_features(es.Hashing(32)))
    rows = featuriser.rows({"age": 31, "device": "phone"}, ACTIONS)
    again = featuriser.rows({"age": 31, "device": "phone"}, ACTIONS, [None, {"price": 2.0}, None])
    assert rows.shape == again.shape == (32, 3) and (rows < 0).any()
    np.testing.assert_array_equal(rows[:, 0], again[:, 0])
    names = es.Crosses().names(("age", "device=phone"), "sport", ())
    items = dict(zip(names, es.Crosses().numbers([31.0, 1.0], []), strict=True))
    np.testing.assert_allclose(rows[:, 0], FeatureHasher(32).transform([items]).toarray()[0])


def test_columns_are_given_in_order_and_at_most_the_cap() -> None:
    seen = Vocabulary(cap=20)
    own = [seen.column(f"f{i}") for i in range(12)]
    late = {seen.column(f"g{i}") for i in range(100)}
    assert own == list(range(12)) and late == set(range(12, 20)) and seen.full and seen.dim == 20
    assert SHARED == 8 and len(seen.columns) == 12
    sizes = {0: 16, 16: 16, 17: 24, 25: 32, 33: 48, 49: 64, 65: 96, 97: 128, 193: 256}
    assert {count: size_for(count) for count in sizes} == sizes


def test_names_that_were_seen_can_be_taken_back() -> None:
    featuriser = Featuriser(es.Crosses())
    featuriser.rows({"device": "phone"}, ACTIONS)
    mark, columns = featuriser.mark, dict(featuriser.seen.columns)
    featuriser.rows({"device": "watch", "age": 3}, (*ACTIONS, "weather"))
    featuriser.cut(mark)
    assert featuriser.seen.columns == columns and "watch" not in featuriser.seen.values["device"]
    other = featuriser.rows({"device": "tablet"}, ACTIONS)
    assert by_name(featuriser, other, 0) == crossed({"device": "tablet"}, "sport", None)


def test_one_hot_is_bounded() -> None:
    featuriser = Featuriser(es.Disjoint(es.OneHot("city", most=3)))
    for number in range(10):
        featuriser.rows({"city": f"c{number}"}, ("a",))
    cities = [f"city=c{i} x [a]" for i in range(3)]
    assert list(featuriser.seen.columns) == ["[a]", *cities, "city=(other) x [a]"]


@pytest.mark.parametrize("context", [{}, {"age": None}, {"age": float("nan")}], ids=str)
def test_missing_values_have_an_indicator(context: dict[str, Any]) -> None:
    plain = plain_context("context", context)
    for encoder in (es.Columns("age"), es.OneHot("age")):
        assert encoder.items(plain, Vocabulary(16)).names == ["age is missing"]
    experiment = es.Experiment("news", actions=["a"])
    experiment.decide(context)
    assert (
        experiment.columns
        == ["[a]", "age is missing", "age is missing x [a]"][: 1 + 2 * len(plain)]
    )


def test_transformer_of_a_whole_context() -> None:
    rows = [{"age": 20.0, "device": "phone"}, {"age": 40.0, "device": "tablet"}]
    fitted = DictVectorizer().fit(rows)
    found = es.FromTransformer(fitted).items(rows[0], Vocabulary(16)).numbers
    assert found == fitted.transform(rows[:1]).toarray()[0].tolist()
    features = es.Disjoint(es.FromTransformer(StandardScaler().fit([[1.0, 2.0], [3.0, 5.0]])))
    experiment = es.Experiment("s", actions=["a", "b"], features=features)
    assert experiment.decide(np.array([1.0, 2.0])).action in ("a", "b")


def test_transformer_of_one_field() -> None:
    vectorizer = TfidfVectorizer().fit(["cup final", "general election"])
    encoder = es.FromTransformer(vectorizer, "page.title")
    names, numbers = encoder.items({"page": {"title": "cup election"}, "id": "u-1"}, Vocabulary(16))
    assert names == [f"page.title[{place}]" for place in range(4)]
    assert numbers == vectorizer.transform(["cup election"]).toarray()[0].tolist()
    assert encoder.items({"page": {}}, Vocabulary(16)).names == ["page.title is missing"]
    scaler = StandardScaler().fit([[1.0], [3.0]])
    for context in ({"price": 3}, {"price": [3.0]}):
        assert es.FromTransformer(scaler, "price").items(context, Vocabulary(16)).numbers == [1.0]
    experiment = es.Experiment("s", actions=["a", "b"], features=es.Crosses(encoder))
    expected = r"context.page.title = \[3\]: expected what TfidfVectorizer.transform takes"
    with pytest.raises(es.InvalidArgument, match=expected):
        experiment.decide({"page": {"title": 3}})
    whole = es.Crosses(es.FromTransformer(vectorizer))
    with pytest.raises(es.InvalidArgument, match="gives it one field of the context"):
        es.Experiment("s", actions=["a"], features=whole).decide({"title": "cup"})
    assert experiment.decisions == 0
    assert experiment.decide({"page": {"title": "cup"}}).action in ("a", "b")


@pytest.mark.parametrize("features", [None, es.Disjoint(es.OneHot("user.id"))])
def test_field_whose_texts_are_all_different_is_named_once(features: es.Features | None) -> None:
    experiment = es.Experiment("news", actions=["a", "b"], features=features, recipe=es.Greedy(1.0))
    expected = "the field 'user.id' of contexts had 21 texts, all of"
    with pytest.warns(es.IdentifierWarning, match=expected) as caught:
        for number in range(40):
            experiment.decide({"user": {"id": f"u-{number}"}, "day": f"d-{number % 20}"})
            assert len(caught) == (number >= 20)
    assert "FromTransformer(fitted, 'user.id')" in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("features", "text"),
    [(None, "u-{0}{1}"), (es.Crosses(es.Columns("age")), "u-{0}"), (es.Hashing(16), "u-{0}")],
    ids=["one comes twice", "not used", "hashed"],
)
def test_other_texts_are_no_identifiers(features: es.Features | None, text: str) -> None:
    """Warnings are errors here."""
    experiment = es.Experiment("news", actions=["a", "b"], features=features, recipe=es.Greedy(1.0))
    for number in range(30):
        experiment.decide({"age": 3, "id": text.format(number if number != 20 else 0, "")})


def test_actions_with_features_share_what_is_learned() -> None:
    actions = {"s": {"price": 3, "size": 1}, "l": {"price": 5, "size": 2}}
    features = es.Hybrid(es.Columns("price", "size"))
    experiment = es.Experiment("coffee", actions=actions, features=features)
    experiment.decide()
    assert experiment.columns == ["price", "size"]
    decision = experiment.decide(actions={"s": {"price": 1}, "l": None})
    assert experiment.explain(decision).features["s"] == {"price": 1.0, "size": 1.0}


def test_x_grows_with_what_is_seen_and_says_when_it_is_full() -> None:
    features, recipe = es.Crosses(cap=24), es.EnsembleSampling(size=8)
    experiment = es.Experiment("news", actions=["a", "b"], features=features, recipe=recipe)
    sizes = []
    expected = "16 features have been seen, and x has 24 columns.* Give fewer"
    with pytest.warns(es.FeatureCapWarning, match=expected) as caught:
        for number in range(12):
            experiment.reward(experiment.decide({"city": f"c{number}"}), number % 2)
            sizes.append(experiment.engine.state.learner.dim)
    assert "cap" not in str(caught[0].message), "more columns would take a minute for a reward"
    assert sizes[0] == 16 and sizes[-1] == 24 and len(caught) == 1 and experiment.version == 12
    assert experiment.engine.state.learner.model.gram.shape == (24, 24)


def test_grown_model_is_that_of_one_that_began_so() -> None:
    """Growing learns again what was learned: only the order of first sight is left of it."""
    experiment = es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(size=8))
    rng = np.random.default_rng(0)
    for number in range(40):
        decision = experiment.decide({"city": f"c{number % 9}", "age": rng.normal()})
        experiment.reward(decision, rng.random())
    state = experiment.engine.state
    fresh = es.EnsembleSampling(size=8).start(es.ChangingArms(state.learner.dim))
    for seen in state.past:
        x = np.zeros(state.learner.dim)
        x[seen.columns] = seen.numbers
        fresh.update(x, seen.y)
    np.testing.assert_allclose(fresh.mean, state.learner.model.mean, rtol=1e-9, atol=1e-12)


def test_after_many_rewards_x_keeps_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensample.experiments.state.SETTLED", 20)
    experiment = es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(size=8))
    for number in range(60):
        experiment.reward(experiment.decide({"age": number}), 1)
        if number == 30:
            settled = experiment.engine.state.learner.dim
            experiment.add("c")
    state = experiment.engine.state
    assert settled == state.learner.dim == 16 and "[c]" in experiment.columns and not state.past
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for number in range(30):
            experiment.reward(experiment.decide({"city": str(number)}), 1)
    assert experiment.engine.state.learner.dim == 16 and len(experiment.columns) <= 8


NATURAL = [
    {"a": np.float32(1.5), "b": np.int64(3), "c": np.True_},
    pd.Series({"a": 1.5, "b": 3, "c": True}),
    [1.5, 3.0, None],
    None,
]


@pytest.mark.parametrize("context", NATURAL)
def test_contexts_of_numpy_and_pandas(context: Any) -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    assert experiment.decide(context).action in ("a", "b")


def deep(levels: int) -> dict[str, Any]:
    return {"a": deep(levels - 1)} if levels else {}


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"a": object()}, r"context\.a = .*expected a number, a string"),
        ({"a": float("inf")}, r"context\.a = inf: expected a number of at most"),
        (
            {"a": {"b": [1, "x"]}},
            r"context\.a\.b\[1\] = 'x' \(str\): expected strings only, or num",
        ),
        ({1.5: 1}, r"context = 1\.5 \(float\): expected names that are strings"),
        ("phone", r"context = 'phone' \(str\): expected a dict of numbers"),
        ({str(i): i for i in range(1001)}, r"at most 1000 entries"),
        (np.array(["a"]), "expected a dict of numbers"),
        (deep(30), "levels deep"),
    ],
)
def test_context_that_cannot_be_used(context: Any, message: str) -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    with pytest.raises(es.InvalidArgument, match=message):
        experiment.decide(context)
    assert experiment.columns == [] and len(experiment.log()) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: es.Columns(), "one or more names"),
        (lambda: es.Columns("a", "a"), "none of them twice"),
        (lambda: es.OneHot(most=0), "most = 0"),
        (lambda: es.Hashing(0), "dim = 0"),
        (lambda: es.Crosses("age"), r"context = 'age' \(str\): expected an encoder"),
        (lambda: es.Crosses(cap=3), "cap = 3"),
        (lambda: es.Crosses(cap=32, hashed=32), "none where names are hashed"),
        (lambda: es.Hybrid(), "shared = None"),
        (lambda: es.FromTransformer(3), "a fitted transformer"),
        (
            lambda: es.FromTransformer(StandardScaler(), ["a"]),
            r"\(list\): expected the name of one",
        ),
        (lambda: as_features("all"), "features = 'all'"),
    ],
)
def test_descriptions_that_cannot_be(call: Any, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        call()
