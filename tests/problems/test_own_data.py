"""Files and frames of the user's own as problems: classes, ratings, and what is wrong with them."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import ensample as es
from ensample.extras import package
from ensample.problems.classification import digits

ANIMALS = {
    "weight": [4.0, 30.0, 5.0, None, 3.5, 28.0],
    "coat": ["short", "long", "short", "long", None, "short"],
    "tame": [True, True, False, True, True, False],
    "kind": ["cat", "dog", "cat", "dog", "cat", "dog"],
}
RATINGS = [
    (1, 10, 5, 100),
    (1, 20, 3, 101),
    (1, 30, 4, 102),
    (2, 10, 1, 103),
    (2, 30, 5, 104),
    (3, 20, 2, 105),
    (3, 40, 4, 106),
]


def rows_of(family: es.Family) -> np.ndarray:
    return np.array([family.draw(np.random.default_rng(0)).at(t).offer(None)[0] for t in range(6)])


@pytest.mark.parametrize("kind", ["polars", "pandas", "csv", "parquet", "jsonl"])
def test_a_frame_or_a_file_is_a_classification(kind: str, tmp_path: Path) -> None:
    frame, file = pl.DataFrame(ANIMALS), tmp_path / f"animals.{kind}"
    if kind in ("csv", "parquet", "jsonl"):
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](
            file
        )
    data = {"polars": frame, "pandas": pd.DataFrame(ANIMALS)}.get(kind, file)
    family = es.problem("classification", data=data, y="kind")
    assert family.classes == ["cat", "dog"] and family.dim == 2 * (6 + 1)
    expected = es.problem("classification", data=frame, y="kind")
    np.testing.assert_array_equal(rows_of(family), rows_of(expected))


def test_a_file_is_a_problem_of_a_study(tmp_path: Path) -> None:
    pl.DataFrame(ANIMALS).write_csv(tmp_path / "animals.csv")
    study = es.Study(
        name="s",
        horizon=5,
        problem={"family": "classification", "data": str(tmp_path / "animals.csv"), "y": "kind"},
        policy={"recipe": "EpsilonGreedy"},
    )
    (cell,) = study.cells
    assert cell.family.classes == ["cat", "dog"]


def test_words_and_what_is_missing_are_indicators() -> None:
    """weight, its absence, short, long, the coat's absence, tame."""
    family = es.problem("classification", data=pl.DataFrame(ANIMALS), y="kind")
    np.testing.assert_array_equal(
        family._rows,
        [
            [4, 0, 1, 0, 0, 1],
            [30, 0, 0, 1, 0, 1],
            [5, 0, 1, 0, 0, 0],
            [0, 1, 0, 1, 0, 1],
            [3.5, 0, 0, 0, 1, 1],
            [28, 0, 1, 0, 0, 0],
        ],
    )
    apart = es.problem("classification", data=pl.DataFrame(ANIMALS).drop("kind"), y=ANIMALS["kind"])
    np.testing.assert_array_equal(apart._rows, family._rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"data": pl.DataFrame(ANIMALS), "y": "species"},
            "y = 'species': expected one of the columns weight, coat",
        ),
        ({"data": pl.DataFrame(ANIMALS), "y": "coat"}, "a column without missing values; 1 are"),
        ({"data": "animals.xls", "y": "kind"}, "a file .csv, .parquet or .jsonl that is there"),
        ({"data": pl.DataFrame({"kind": ["a", "b"]}), "y": "kind"}, "at least one column besides"),
        (
            {"data": pl.DataFrame({"x": [[1], [2]], "kind": ["a", "b"]}), "y": "kind"},
            "numbers, booleans or words",
        ),
        ({}, "data = None: expected what 'classification' needs: data, y"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(given: dict, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        es.problem("classification", **given)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    file = tmp_path / "animals.parquet"
    file.write_bytes(b"no parquet")
    with pytest.raises(es.InvalidArgument, match="that can be read"):
        es.problem("classification", data=file, y="kind")


@pytest.fixture(params=["ratings.csv", "ratings.dat", "u.data"])
def movielens(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file as each MovieLens has it."""
    sign = {"ratings.csv": ",", "ratings.dat": "::", "u.data": "\t"}[request.param]
    head = ["userId,movieId,rating,timestamp"] if request.param == "ratings.csv" else []
    (tmp_path / request.param).write_text(
        "\n".join([*head, *(sign.join(map(str, row)) for row in RATINGS)]) + "\n"
    )
    return tmp_path


def test_every_movielens_is_read(movielens: Path) -> None:
    expected = [(user, item, float(rating), time) for user, item, rating, time in RATINGS]
    (file,) = movielens.iterdir()
    assert es.read_movielens(movielens).rows() == es.read_movielens(file).rows() == expected
    family = es.problem("ratings", data=movielens, arms=3, factors=1)
    assert family.items == [10, 20, 30] and family.dim == 6


def test_on_offer_is_what_a_user_has_rated_and_pays_what_the_user_said() -> None:
    """Users 1 and 2; user 3 has rated one of the three items."""
    frame = pl.DataFrame(RATINGS, schema=["user", "item", "rating", "time"], orient="row")
    problem = es.problem("ratings", data=frame, arms=3, factors=1).draw(np.random.default_rng(0))
    assert sorted(problem.order) == [0, 1]
    paid = {}
    for t in range(2):
        now = problem.at(t)
        offer = now.offer(np.random.default_rng(1))
        paid[now.user] = now.means(offer).tolist()
        assert now.best_mean(offer) == max(paid[now.user])
    assert paid == {0: [1.0, 0.5, 0.75], 1: [0.0, 1.0]}


def test_users_are_told_apart_by_other_items_than_those_on_offer() -> None:
    """Two kinds of users like two kinds of items: learning earns more than ignoring users."""
    rng = np.random.default_rng(0)
    rows = []
    for user in range(200):
        for item in rng.permutation(30)[:20]:
            likes = user % 2 == item % 2
            rows.append((user, int(item), 5.0 if likes else 1.0))
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "rating"])
    family = es.problem("ratings", data=frame, arms=6, factors=2)
    contexts = family._users.contexts
    assert np.allclose(np.mean(contexts**2, axis=0), 1.0)
    sides = contexts[:, 0] > 0
    first = family._users.ratings[sides]
    liked = np.nanmean(first, axis=0)
    assert (
        (liked > 0.9) | (liked < 0.1)
    ).all()  # one side of the first direction is one kind of user
    with pytest.warns(es.LiveSimulationWarning):
        done = es.simulate(es.EnsembleSampling(size=10), family, 300, runs=2)
    problem = family.draw(rng)
    lost = [1.0 - now.means(now.offer(rng)).mean() for now in (problem.at(t) for t in range(50))]
    assert done.mean[-1] / 300 < 0.1 and np.mean(lost) > 0.4  # what choosing at random loses


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({"user": [1], "rating": [2]}, {}, "item is missing"),
        ({"user": [1, 2], "item": [1, 2], "rating": [3.0, 3.0]}, {}, "not all ratings the same"),
        ({"user": [1, 2], "item": [1, 2], "rating": ["good", "bad"]}, {}, "numbers"),
        (
            {"user": [1, 2], "item": [1, 2], "rating": [3.0, 4.0]},
            {"arms": 2, "factors": 1},
            "to be at most the 2 items",
        ),
        (
            {"user": [1, 2, 3], "item": [1, 2, 3], "rating": [3, 4, 5]},
            {"arms": 2, "factors": 1},
            "rated at least two",
        ),
    ],
)
def test_what_is_wrong_with_ratings_is_told(rows: dict, options: dict, message: str) -> None:
    with pytest.raises(es.InvalidArgument, match=message):
        es.problem("ratings", data=pl.DataFrame(rows), **options)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"a,b\n1,2\n"])
def test_files_that_are_no_movielens(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(
        es.InvalidArgument, match=r"a folder with ratings\.csv, ratings\.dat, u\.data"
    ):
        es.read_movielens(tmp_path)
    for name in ("ratings.csv", "u.data", "ratings.dat"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(es.InvalidArgument, match="ratings of MovieLens"):
            es.read_movielens(tmp_path / name)


def test_the_digits_are_those_of_scikit_learn() -> None:
    theirs = package("sklearn.datasets", "test_own_data.py").load_digits()
    images, labels = digits()
    np.testing.assert_array_equal(16.0 * images, theirs.data)
    np.testing.assert_array_equal(labels, theirs.target)
