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
CONTEXTS = st.dictionaries(
    st.sampled_from("uvwxyz"), NUMBERS | TEXTS | st.none() | FLAT, max_size=5
)
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
    expected = (
        FeatureHasher(32)
        .transform([dict(zip(names, es.Crosses().numbers([31.0, 1.0], []), strict=True))])
        .toarray()[0]
    )
    np.testing.assert_allclose(rows[:, 0], expected)


def test_columns_are_given_in_order_and_at_most_the_cap() -> None:
    seen = Vocabulary(cap=20)
    own = [seen.column(f"f{i}") for i in range(12)]
    late = {seen.column(f"g{i}") for i in range(100)}
    assert own == list(range(12)) and late == set(range(12, 20)) and seen.full and seen.dim == 20
    assert SHARED == 8 and len(seen.columns) == 12


def test_what_was_seen_can_be_taken_back() -> None:
    featuriser = Featuriser(es.Crosses())
    featuriser.rows({"device": "phone"}, ACTIONS)
    mark, columns = featuriser.mark, dict(featuriser.seen.columns)
    featuriser.rows({"device": "watch", "age": 3}, (*ACTIONS, "weather"))
    featuriser.cut(mark)
    assert featuriser.seen.columns == columns and "watch" not in featuriser.seen.values["device"]
    other = featuriser.rows({"device": "tablet"}, ACTIONS)
    assert by_name(featuriser, other, 0) == crossed({"device": "tablet"}, "sport", None)


def test_sizes_grow_by_halves() -> None:
    assert [size_for(count) for count in (0, 16, 17, 25, 33, 49, 65, 97, 193)] == [
        16,
        16,
        24,
        32,
        48,
        64,
        96,
        128,
        256,
    ]


def test_one_hot_is_bounded() -> None:
    featuriser = Featuriser(es.Disjoint(es.OneHot("city", most=3)))
    for number in range(10):
        featuriser.rows({"city": f"c{number}"}, ("a",))
    assert list(featuriser.seen.columns) == [
        "[a]",
        *(f"city=c{i} x [a]" for i in range(3)),
        "city=(other) x [a]",
    ]


def test_missing_values_have_an_indicator() -> None:
    for encoder in (es.Columns("age"), es.OneHot("age")):
        for context in ({}, {"age": None}, {"age": float("nan")}):
            assert encoder.items(plain_context("context", context), Vocabulary(16)).names == [
                "age is missing"
            ]
    seen = es.Experiment("news", actions=["a"])
    seen.decide({"age": float("nan")})
    assert seen.columns == ["[a]", "age is missing", "age is missing x [a]"]


def test_a_transformer_of_scikit_learn() -> None:
    rows = [{"age": 20.0, "device": "phone"}, {"age": 40.0, "device": "tablet"}]
    fitted = DictVectorizer().fit(rows)
    encoder = es.FromTransformer(fitted)
    assert (
        encoder.items(rows[0], Vocabulary(16)).numbers
        == fitted.transform(rows[:1]).toarray()[0].tolist()
    )
    scaler = StandardScaler().fit([[1.0, 2.0], [3.0, 5.0]])
    experiment = es.Experiment(
        "s", actions=["a", "b"], features=es.Disjoint(es.FromTransformer(scaler))
    )
    assert experiment.decide(np.array([1.0, 2.0])).action in ("a", "b")


def test_a_transformer_of_one_field() -> None:
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
    with pytest.raises(
        es.InvalidArgument,
        match=r"context.page.title = \[3\]: expected what TfidfVectorizer.transform takes",
    ):
        experiment.decide({"page": {"title": 3}})
    with pytest.raises(es.InvalidArgument, match="gives it one field of the context"):
        es.Experiment(
            "s", actions=["a"], features=es.Crosses(es.FromTransformer(vectorizer))
        ).decide({"title": "cup"})
    assert experiment.decisions == 0 and experiment.decide({"page": {"title": "cup"}}).action in (
        "a",
        "b",
    )


@pytest.mark.parametrize("features", [None, es.Disjoint(es.OneHot("user.id"))])
def test_a_field_whose_texts_are_all_different_is_named_once(features: es.Features | None) -> None:
    experiment = es.Experiment("news", actions=["a", "b"], features=features, recipe=es.Greedy(1.0))
    contexts = [{"user": {"id": f"u-{n}"}, "day": f"d-{n % 20}"} for n in range(40)]
    with pytest.warns(
        es.IdentifierWarning, match="the field 'user.id' of contexts had 21 texts, all of"
    ) as caught:
        for number, context in enumerate(contexts):
            experiment.decide(context)
            assert len(caught) == (number >= 20)
    assert "FromTransformer(fitted, 'user.id')" in str(caught[0].message)


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
    features = es.Hybrid(es.Columns("price", "size"))
    experiment = es.Experiment(
        "coffee",
        actions={"s": {"price": 3, "size": 1}, "l": {"price": 5, "size": 2}},
        features=features,
    )
    experiment.decide()
    assert experiment.columns == ["price", "size"]
    experiment.decide(actions={"s": {"price": 1}, "l": None})
    assert experiment.explain(experiment.decide(actions={"s": {"price": 1}, "l": None})).features[
        "s"
    ] == {"price": 1.0, "size": 1.0}


def test_x_grows_with_what_is_seen_and_says_when_it_is_full() -> None:
    experiment = es.Experiment(
        "news", actions=["a", "b"], features=es.Crosses(cap=24), recipe=es.EnsembleSampling(size=8)
    )
    sizes = []
    with pytest.warns(
        es.FeatureCapWarning, match="16 features have been seen, and x has 24 columns.* Give fewer"
    ) as caught:
        for number in range(12):
            experiment.reward(experiment.decide({"city": f"c{number}"}), number % 2)
            sizes.append(experiment.engine.state.learner.dim)
    assert "cap" not in str(caught[0].message), (
        "a model of more columns takes a minute for a reward"
    )
    assert sizes[0] == 16 and sizes[-1] == 24 and len(caught) == 1 and experiment.version == 12
    assert experiment.engine.state.learner.model.gram.shape == (24, 24)


def test_a_grown_model_is_that_of_one_that_began_so() -> None:
    """Growing learns again what was learned, so that the order of first sight is all that is left of it."""
    experiment = es.Experiment("news", actions=["a", "b"], recipe=es.EnsembleSampling(size=8))
    rng = np.random.default_rng(0)
    for number in range(40):
        experiment.reward(
            experiment.decide({"city": f"c{number % 9}", "age": rng.normal()}), rng.random()
        )
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
    assert (
        settled == experiment.engine.state.learner.dim == 16
        and "[c]" in experiment.columns
        and not experiment.engine.state.past
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", es.FeatureCapWarning)
        warnings.simplefilter("ignore", es.IdentifierWarning)
        for number in range(30):
            experiment.reward(experiment.decide({"city": str(number)}), 1)
    assert experiment.engine.state.learner.dim == 16 and len(experiment.columns) <= 8


@pytest.mark.parametrize(
    "context",
    [
        {"a": np.float32(1.5), "b": np.int64(3), "c": np.True_},
        pd.Series({"a": 1.5, "b": 3, "c": True}),
        [1.5, 3.0, None],
        None,
    ],
)
def test_natural_data(context: Any) -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    assert experiment.decide(context).action in ("a", "b")


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"a": object()}, r"context\.a = .*expected a number, a string"),
        ({"a": float("inf")}, r"context\.a = inf: expected a number of at most"),
        (
            {"a": {"b": [1, "x"]}},
            r"context\.a\.b\[1\] = 'x' \(str\): expected strings only, or numbers only",
        ),
        ({1.5: 1}, r"context = 1\.5 \(float\): expected names that are strings"),
        ("phone", r"context = 'phone' \(str\): expected a dict of numbers"),
        ({str(i): i for i in range(1001)}, r"at most 1000 entries"),
        (np.array(["a"]), "expected a dict of numbers"),
    ],
)
def test_a_context_that_cannot_be_used(context: Any, message: str) -> None:
    experiment = es.Experiment("news", actions=["a", "b"])
    with pytest.raises(es.InvalidArgument, match=message):
        experiment.decide(context)
    assert experiment.columns == [] and len(experiment.log()) == 0


def test_deep_contexts_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(30):
        deep = {"a": deep}
    with pytest.raises(es.InvalidArgument, match="levels deep"):
        plain_context("context", deep)


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
            r"field = \['a'\] \(list\): expected the name of one field",
        ),
        (lambda: as_features("all"), "features = 'all'"),
    ],
)
def test_descriptions_that_cannot_be(call: Any, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        call()
