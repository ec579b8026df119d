"""Ratings of items by users as a problem, and MovieLens' files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ensample.checks import file_path
from ensample.errors import InvalidArgument
from ensample.extras import package

if TYPE_CHECKING:
    import polars
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import whole
from ensample.frames import is_frame
from ensample.problems.classification import blocks, chosen_block
from ensample.problems.family import Family
from ensample.problems.noise import Noise, as_noise
from ensample.problems.problem import NonlinearProblem
from ensample.problems.tables import table_of
from ensample.types import FloatArray, IntArray

FILES = ("ratings.csv", "ratings.dat", "u.data")
FIELDS = ["user", "item", "rating", "time"]


def read_movielens(path: str | os.PathLike[str]) -> "polars.DataFrame":
    """Read the ratings of a MovieLens data set: user, item, rating, time (seconds since 1970).

    `path`: the folder, or the file of ratings in it: `ratings.csv` (the newer sets), `ratings.dat`
    (1M, 10M), `u.data` (100K).

    >>> import ensample as es, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = pathlib.Path(folder, "ratings.dat").write_text("1::1193::5::978300760\\n1::661::3::978302109\\n")
    ...     es.read_movielens(folder).rows()
    [(1, 1193, 5.0, 978300760), (1, 661, 3.0, 978302109)]
    """
    file, polars = ratings_file(file_path("path", path)), package("polars", "read_movielens")
    try:
        frame = named(polars, file)
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        said = str(error).partition("\n")[0]
        raise InvalidArgument("path", os.fspath(path), f"ratings of MovieLens ({said})") from error
    if frame.is_empty() or any(frame[name].null_count() for name in FIELDS[:3]):
        raise InvalidArgument(
            "path",
            os.fspath(path),
            "ratings of MovieLens: user, item, rating and time in every row",
        )
    return frame  # type: ignore[no-any-return]


def ratings_file(path: Path) -> Path:
    """The file of ratings that a path leads to."""
    found = next((path / name for name in FILES if (path / name).is_file()), path)
    if not found.is_file():
        raise InvalidArgument(
            "path", os.fspath(path), f"a file of ratings, or a folder with {', '.join(FILES)}"
        )
    return found


def named(polars: Any, file: Path) -> Any:
    """Read a file with our names and types.

    A reader that takes one separator sees an empty field between the colons of `::`.
    """
    if file.suffix == ".csv":
        frame = polars.read_csv(file).rename(
            {"userId": "user", "movieId": "item", "timestamp": "time"}, strict=False
        )
    elif file.suffix == ".dat":
        frame = polars.read_csv(file, has_header=False, separator=":").select(
            polars.nth(0, 2, 4, 6).name.keep()
        )
        frame.columns = FIELDS
    else:
        frame = polars.read_csv(file, has_header=False, separator="\t", new_columns=FIELDS)
    kinds = {
        "user": polars.Int64,
        "item": polars.Int64,
        "rating": polars.Float64,
        "time": polars.Int64,
    }
    return frame.select(polars.col(name).cast(kind) for name, kind in kinds.items())


OTHERS = 300  # items that say what a user is like, the more often rated first
NAMES = {
    "user": ("user", "user_id", "userId"),
    "item": ("item", "item_id", "movie", "movieId", "movie_id"),
    "rating": ("rating", "score"),
}


class Users(NamedTuple):
    """Who comes, and what they think of the arms."""

    contexts: FloatArray  # [n, p]
    ratings: FloatArray  # [n, K] in [0, 1]; NaN where there is none
    items: list[Any]  # [K]


class RatingsProblem(NonlinearProblem):
    """Users in an order of their own. A round offers the items that its user has rated."""

    def __init__(self, users: Users, order: IntArray, noise: Noise | float, user: int = 0) -> None:
        arms, width = len(users.items), users.contexts.shape[1] + 1
        super().__init__(ChangingArms(arms * width), noise)
        self.users, self.order, self.user = users, order, user

    def __repr__(self) -> str:
        sizes = f"{len(self.order):,} users, {len(self.users.items)} items"
        return f"RatingsProblem({sizes}, noise={self.noise!r})"

    def at(self, t: int) -> "RatingsProblem":
        return RatingsProblem(
            self.users, self.order, self.noise, int(self.order[t % len(self.order)])
        )

    def offer(self, rng: Generator) -> FloatArray:
        rated = ~np.isnan(self.users.ratings[self.user])
        rows: FloatArray = blocks(self.users.contexts[self.user], len(rated))[rated]
        return rows

    def means(self, rows: FloatArray) -> FloatArray:
        """The ratings of the user who is there."""
        ratings: FloatArray = self.users.ratings[
            self.user, chosen_block(rows, len(self.users.items))[0]
        ]
        return ratings


@dataclass(frozen=True, eq=False)
class Ratings(Family):
    """`ratings`: users are contexts, items actions, and the reward is the rating, from 0 to 1.

    `data`: a frame with columns user, item and rating, or MovieLens' folder or file. Actions are
    the `arms` items that were rated most; a round offers those of them that its user has rated (at
    least two), so that every reward is a real one. What is known of a user are `factors` numbers:
    the leading singular directions of the ratings, less each user's mean, of the 300 next items,
    which are never on offer. Each replicate has the users in an order of its own.

    >>> import polars as pl
    >>> rows = [(u, i, 1 + (u * i) % 5) for u in range(6) for i in range(8)]
    >>> table = pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    >>> family = Ratings(table, arms=3, factors=2)
    >>> problem = family.draw(np.random.default_rng(0)).at(0)
    >>> family.items, problem.offer(None).shape
    ([0, 1, 2], (3, 9))
    """

    name: ClassVar[str] = "ratings"
    data: Any = field(repr=False, metadata={"text": True})
    arms: int = 20
    factors: int = 5
    noise: float | Noise = 0.0

    def __post_init__(self) -> None:
        whole("arms", self.arms, 2)
        whole("factors", self.factors, 1)
        as_noise(self.noise)
        object.__setattr__(self, "_users", users_of(*triples(self.data), self.arms, self.factors))

    @property
    def items(self) -> list[Any]:
        """What the actions are."""
        return self._users.items

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.arms * (self.factors + 1)

    def draw(self, rng: Generator) -> RatingsProblem:
        return RatingsProblem(self._users, rng.permutation(len(self._users.contexts)), self.noise)

    _users: ClassVar[Users]


def triples(data: Any) -> tuple[list[Any], list[Any], FloatArray]:
    """Users, items and ratings, one of each a row."""
    table = table_of("data", data if is_frame(data) else read_movielens(data))
    found = []
    for name, others in NAMES.items():
        there = next((other for other in others if other in table), None)
        if there is None:
            raise InvalidArgument(
                "data", list(table), f"the columns user, item and rating; {name} is missing"
            )
        found.append(table[there])
    users, items, given = found
    try:
        ratings = np.array(given, np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("data.rating", given, "numbers") from None
    if (
        None in users
        or None in items
        or not np.isfinite(ratings).all()
        or not len(ratings)
        or np.ptp(ratings) == 0.0
    ):
        raise InvalidArgument(
            "data",
            data,
            "a user, an item and a finite rating in every row, not all ratings the same",
        )
    return users, items, (ratings - ratings.min()) / np.ptp(ratings)


def users_of(
    users: list[Any], items: list[Any], ratings: FloatArray, arms: int, factors: int
) -> Users:
    """Return users who rated at least two of the arms. The last rating of the same item counts."""
    rated: dict[Any, int] = {}
    for item in items:
        rated[item] = rated.get(item, 0) + 1
    ranked = sorted(rated, key=lambda item: -rated[item])  # ties: the first seen
    if len(ranked) < arms + factors:
        raise InvalidArgument(
            "arms", arms, f"arms + factors, {arms + factors}, to be at most the {len(ranked)} items"
        )
    columns = {item: place for place, item in enumerate(ranked[: arms + OTHERS])}
    rows: dict[Any, int] = {}
    for user in users:
        rows.setdefault(user, len(rows))
    table = np.full((len(rows), len(columns)), np.nan)
    for user, item, rating in zip(users, items, ratings, strict=True):
        if item in columns:
            table[rows[user], columns[item]] = rating
    kept = table[(~np.isnan(table[:, :arms])).sum(axis=1) >= 2]
    if not len(kept):
        raise InvalidArgument(
            "data",
            len(rows),
            f"users who have rated at least two of the {arms} items that were rated most",
        )
    return Users(directions(kept[:, arms:], factors), kept[:, :arms], ranked[:arms])


def directions(table: FloatArray, factors: int) -> FloatArray:
    """The leading singular directions of ratings less each user's mean, of mean square 1.

    A missing rating counts as the mean. [n, factors]
    """
    known = ~np.isnan(table)
    counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
    centred = np.where(known, table - np.nansum(table, axis=1, keepdims=True) / counts, 0.0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    found = np.zeros((len(table), factors))
    found[:, : min(factors, sizes.size)] = (left * sizes)[:, :factors]
    scale = np.sqrt(np.mean(np.square(found), axis=0))
    # Of its own a direction has no sign: its largest entry is positive.
    signs = np.sign(found[np.abs(found).argmax(axis=0), np.arange(factors)])
    scaled: FloatArray = np.divide(
        found * signs, scale, out=np.zeros_like(found), where=scale > 0.0
    )
    return scaled
