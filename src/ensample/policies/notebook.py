"""Recipes and policies as notebooks show them."""

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.errors import PropensityError
from ensample.markup import and_more, bar, brief, code, facts, in_windows, sparkline, table, usual
from ensample.policies.decision import UNNUMBERED
from ensample.types import FloatArray, IntArray

if TYPE_CHECKING:
    from ensample.policies.policy import Policy
    from ensample.policies.recipe import Recipe

SHOWN = 5  # arms
MOST_PRODUCTS = 5_000_000  # members x arms x features of the votes that a page may wait for


def recipe_html(recipe: "Recipe") -> str:
    """Return a table of the fields of a recipe, and which of them were given."""
    if not is_dataclass(recipe):
        return f"<p>{code(recipe)}</p>"
    title = f"<p><strong>{type(recipe).__name__}</strong></p>"
    rows = [
        [field.name, code(getattr(recipe, field.name)), "" if usual(recipe, field) else "given"]
        for field in fields(recipe)
        if field.repr
    ]
    return title + table(["field", "value", ""], rows) if rows else title


def policy_html(policy: "Policy") -> str:
    """Return what a policy is, how far it is, its rewards, and the arms that it played most."""
    with policy.bookkeeping.lock:
        bookkeeping = policy.bookkeeping.settled()
        arms, rewards = np.array(bookkeeping.arms, np.int64), np.array(bookkeeping.rewards)
        found: dict[str, Any] = {
            "recipe": brief(policy.recipe),
            "arms": code(policy.arms),
            "decisions": bookkeeping.round,
            "rewards learned": bookkeeping.version,
        }
        if bookkeeping.open:
            found["waiting for a reward"] = len(bookkeeping.open)
        calibration = policy.calibration
        if calibration is not None and bookkeeping.version:
            found["noise, as learned"] = calibration.sigma
        if rewards.size:
            found["mean reward"] = float(rewards.mean())
            over_time = sparkline(*in_windows(rewards), "mean reward over time")
            found["mean reward over time"] = over_time
        numbered = bool((arms != UNNUMBERED).any())
        return facts(found) + (most_played(policy, arms, rewards) if numbered else "")


def most_played(policy: "Policy", arms: IntArray, rewards: FloatArray) -> str:
    """Return a table of the standing arms that were rewarded most often."""
    numbers, places, counts = np.unique(arms, return_inverse=True, return_counts=True)
    sums = np.bincount(places, rewards)
    order = [place for place in np.argsort(-counts, kind="stable") if numbers[place] != UNNUMBERED]
    shares = next_shares(policy)
    rows = [
        [int(numbers[place]), int(counts[place]), float(sums[place] / counts[place])]
        + ([] if shares is None else [bar(float(shares[numbers[place]]))])
        for place in order[:SHOWN]
    ]
    columns = ["arm", "rewards", "mean reward", *([] if shares is None else ["next round"])]
    return table(columns, rows) + and_more(len(order) - len(rows), "arm")


def next_shares(policy: "Policy") -> FloatArray | None:
    """Return the propensities of the standing arms, if they are known and soon counted."""
    rows, size = policy.arms.rows, policy.model.size
    if rows is None or (size or 1) * rows.size > MOST_PRODUCTS:
        return None
    try:
        return policy.propensities()
    except PropensityError:
        return None
