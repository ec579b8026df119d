"""Ratings of items by users as a problem: what does this user like best?"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import file_path, whole
from ensample.errors import InvalidArgument
from ensample.extras import package
from ensample.frames import is_frame
from ensample.problems.classification import blocks, chosen_block
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.problem import NonlinearProblem
from ensample.problems.tables import read_table
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    import polars

CONTEXT_ITEMS = 300  # items that describe a user, the more often rated first
COLUMNS = {
    "user": ("user", "user_id", "userId"),
    "item": ("item", "item_id", "movie", "movieId", "movie_id"),
    "rating": ("rating", "score"),
}
MOVIELENS_FILES = ("ratings.csv", "ratings.dat", "u.data")
MOVIELENS_COLUMNS = ["user", "item", "rating", "time"]


class Users(NamedTuple):
    """Users as contexts, with their ratings of the arms."""

    contexts: FloatArray  # [n, p]
    ratings: FloatArray  # [n, K] in [0, 1]; NaN where there is none
    items: list[Any]  # [K]


class RatingsProblem(NonlinearProblem):
    """Users in random order; each round offers what its user has rated."""

    def __init__(self, users: Users, order: IntArray, noise: Noise | float, user: int = 0) -> None:
        arms, width = len(users.items), users.contexts.shape[1] + 1
        super().__init__(ChangingArms(arms * width), noise)
        self.users, self.order, self.user = users, order, user

    def __repr__(self) -> str:
        size = f"{len(self.order):,} users, {len(self.users.items)} items"
        return f"RatingsProblem({size}, noise={self.noise!r})"

    def at(self, t: int) -> "RatingsProblem":
        user = int(self.order[t % len(self.order)])
        return RatingsProblem(self.users, self.order, self.noise, user)

    def offer(self, rng: Generator) -> FloatArray:
        is_rated = ~np.isnan(self.users.ratings[self.user])
        return blocks(self.users.contexts[self.user], len(is_rated))[is_rated]  # type: ignore[no-any-return]

    def means(self, rows: FloatArray) -> FloatArray:
        """Return the ratings of this round's user."""
        chosen, _ = chosen_block(rows, len(self.users.items))
        return self.users.ratings[self.user, chosen]  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Ratings(Family):
    """`ratings`: users are contexts, items are actions, and the reward is a rating from 0 to 1.

    `data`: a frame with columns user, item and rating, or MovieLens' folder or file. Actions are
    the `arms` items that were rated most; a round offers those of them that its user has rated (at
    least two), so that every reward is a real one. A user is described by `factors` numbers: the
    leading singular directions of the ratings, less each user's mean, of the 300 next items, which
    are never on offer. Each replicate has the users in an order of its own.

    >>> import polars as pl
    >>> rows = [(u, i, 1 + (u * i) % 5) for u in range(6) for i in range(8)]
    >>> frame = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    >>> family = Ratings(frame, arms=3, factors=2)
    >>> problem = family.draw(np.random.default_rng(0)).at(0)
    >>> family.items, problem.offer(None).shape
    ([0, 1, 2], (3, 9))
    """

    name: ClassVar[str] = "ratings"
    data: Any = field(repr=False, metadata={"text": True})
    arms: int = 20
    factors: int = 5
    noise: float | Noise = 0.0
    _users: ClassVar[Users]

    def __post_init__(self) -> None:
        whole("arms", self.arms, 2)
        whole("factors", self.factors, 1)
        as_noise(self.noise)
        users = select_users(*read_ratings(self.data), self.arms, self.factors)
        object.__setattr__(self, "_users", users)

    @property
    def items(self) -> list[Any]:
        """The items that are the actions."""
        return self._users.items

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms * (self.factors + 1)

    def draw(self, rng: Generator) -> RatingsProblem:
        return RatingsProblem(self._users, rng.permutation(len(self._users.contexts)), self.noise)


def read_ratings(data: Any) -> tuple[list[Any], list[Any], FloatArray]:
    """Return users, items and ratings between 0 and 1, one of each a row."""
    table = read_table("data", data if is_frame(data) else read_movielens(data))
    columns = []
    for name, spellings in COLUMNS.items():
        spelling = next((spelling for spelling in spellings if spelling in table), None)
        if spelling is None:
            expected = f"the columns user, item and rating; {name} is missing"
            raise InvalidArgument("data", list(table), expected)
        columns.append(table[spelling])
    users, items, given = columns
    try:
        ratings = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("data.rating", given, "numbers") from None
    is_complete = None not in users and None not in items and np.isfinite(ratings).all()
    if not is_complete or not len(ratings) or np.ptp(ratings) == 0.0:
        expected = "a user, an item and a finite rating in every row, not all ratings the same"
        raise InvalidArgument("data", data, expected)
    return users, items, (ratings - ratings.min()) / np.ptp(ratings)


def select_users(
    users: list[Any], items: list[Any], ratings: FloatArray, arms: int, factors: int
) -> Users:
    """Select users who have rated at least two arms. The later of two ratings of an item counts."""
    ranked = [item for item, _ in Counter(items).most_common()]  # ties: the first seen first
    if len(ranked) < arms + factors:
        expected = f"arms + factors, {arms + factors}, to be at most the {len(ranked)} items"
        raise InvalidArgument("arms", arms, expected)
    columns = {item: column for column, item in enumerate(ranked[: arms + CONTEXT_ITEMS])}
    rows = {user: row for row, user in enumerate(dict.fromkeys(users))}
    table = np.full((len(rows), len(columns)), np.nan)
    for user, item, rating in zip(users, items, ratings, strict=True):
        if item in columns:
            table[rows[user], columns[item]] = rating
    kept = table[(~np.isnan(table[:, :arms])).sum(axis=1) >= 2]
    if not len(kept):
        expected = f"users who have rated at least two of the {arms} items that were rated most"
        raise InvalidArgument("data", len(rows), expected)
    return Users(leading_directions(kept[:, arms:], factors), kept[:, :arms], ranked[:arms])


def leading_directions(table: FloatArray, factors: int) -> FloatArray:
    """Return the leading singular directions of ratings less each user's mean: [n, factors].

    Their mean square is 1. A missing rating counts as the user's mean.
    """
    known = ~np.isnan(table)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, table - np.nansum(table, axis=1, keepdims=True) / counts, 0.0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    found = np.zeros((len(table), factors))
    found[:, : min(factors, sizes.size)] = (left * sizes)[:, :factors]
    scale = np.sqrt(np.mean(np.square(found), axis=0))
    # A direction has no sign of its own: make its largest entry positive.
    found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(factors)])
    scaled: FloatArray = np.divide(found, scale, out=np.zeros_like(found), where=scale > 0.0)
    return scaled


def read_movielens(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Return the ratings of a MovieLens data set: user, item, rating, time (seconds since 1970).

    `path`: the folder, or the file of ratings in it: `ratings.csv` (the newer sets), `ratings.dat`
    (1M, 10M), `u.data` (100K). Nothing is downloaded.

    >>> import ensample as es, tempfile, pathlib
    >>> lines = "1::1193::5::978300760\\n1::661::3::978302109\\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = pathlib.Path(folder, "ratings.dat").write_text(lines)
    ...     es.read_movielens(folder).rows()
    [(1, 1193, 5.0, 978300760), (1, 661, 3.0, 978302109)]

    Reference: F. M. Harper and J. A. Konstan, "The MovieLens Datasets: History and Context", ACM
    Transactions on Interactive Intelligent Systems 5 (2015).
    """
    file, polars = movielens_file(file_path("path", path)), package("polars", "read_movielens")
    try:
        frame = read_movielens_file(polars, file)
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        cause = str(error).partition("\n")[0]
        expected = f"ratings of MovieLens ({cause})"
        raise InvalidArgument("path", os.fspath(path), expected) from error
    if frame.is_empty() or any(frame[name].null_count() for name in MOVIELENS_COLUMNS[:3]):
        expected = "ratings of MovieLens: user, item, rating and time in every row"
        raise InvalidArgument("path", os.fspath(path), expected)
    return frame  # type: ignore[no-any-return]


def movielens_file(path: Path) -> Path:
    """Return the file of ratings at or in a path."""
    inside = [path / name for name in MOVIELENS_FILES]
    file = next((file for file in inside if file.is_file()), path)
    if not file.is_file():
        expected = f"a file of ratings, or a folder with {', '.join(MOVIELENS_FILES)}"
        raise InvalidArgument("path", os.fspath(path), expected)
    return file


def read_movielens_file(polars: Any, file: Path) -> Any:
    if file.suffix == ".csv":
        names = {"userId": "user", "movieId": "item", "timestamp": "time"}
        frame = polars.read_csv(file).rename(names, strict=False)
    elif file.suffix == ".dat":  # split at each of two colons: every other column is empty
        frame = polars.read_csv(file, has_header=False, separator=":")
        frame = frame.select(polars.nth(0, 2, 4, 6).name.keep())
        frame.columns = MOVIELENS_COLUMNS
    else:
        frame = polars.read_csv(
            file, has_header=False, separator="\t", new_columns=MOVIELENS_COLUMNS
        )
    types = (polars.Int64, polars.Int64, polars.Float64, polars.Int64)
    columns = zip(MOVIELENS_COLUMNS, types, strict=True)
    return frame.select(polars.col(name).cast(kind) for name, kind in columns)
