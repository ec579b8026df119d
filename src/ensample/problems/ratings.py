"""Ratings of items by users, as a problem: what does this user like best?"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from ensample.arms import ChangingArms
from ensample.checks import whole
from ensample.errors import InvalidArgument
from ensample.frames import is_frame
from ensample.problems.blocks import blocks, chosen_block
from ensample.problems.family import Family
from ensample.problems.movielens import read_movielens
from ensample.problems.noise import Noise, as_noise
from ensample.problems.nonlinear import NonlinearProblem
from ensample.problems.tables import table_of
from ensample.types import FloatArray, IntArray

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
    """Users in an order of their own; on offer is what they have rated."""

    def __init__(self, users: Users, order: IntArray, noise: Noise | float, user: int = 0) -> None:
        arms, width = len(users.items), users.contexts.shape[1] + 1
        super().__init__(ChangingArms(arms * width), noise)
        self.users, self.order, self.user = users, order, user

    def __repr__(self) -> str:
        return f"RatingsProblem({len(self.order):,} users, {len(self.users.items)} items, noise={self.noise!r})"

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
    """`ratings`: users come as contexts, items are actions, and the reward is the rating the user gave, from 0 to 1.

    `data`: a frame with columns user, item and rating, or MovieLens' folder or file. Actions are the `arms` items that were
    rated most; a round offers those of them that its user has rated (at least two), so that every reward is a real one. What
    is known of a user are `factors` numbers: the leading singular directions of the ratings, less each user's mean, of the
    300 next items, which are never on offer. Each replicate has the users in an order of its own.

    >>> import polars as pl
    >>> rows = [(u, i, 1 + (u * i) % 5) for u in range(6) for i in range(8)]
    >>> family = Ratings(pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row"), arms=3, factors=2)
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
    """Those who have rated at least two of the arms; of two ratings of the same the later row counts."""
    rated: dict[Any, int] = {}
    for item in items:
        rated[item] = rated.get(item, 0) + 1
    ranked = sorted(
        rated, key=lambda item: -rated[item]
    )  # the first seen first where they are level
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
    """The leading singular directions of ratings less each user's mean, nothing for none, of mean square 1: [n, factors]."""
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
