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
LIVELY = 5_000_000  # products that a page may wait for: members x arms x features of all votes


def recipe_html(recipe: "Recipe") -> str:
    """Its fields, and which of them were given."""
    title = f"<p><strong>{type(recipe).__name__}</strong></p>"
    if not is_dataclass(recipe):
        return f"<p>{code(recipe)}</p>"
    own = [field for field in fields(recipe) if field.repr]
    rows = [
        [field.name, code(getattr(recipe, field.name)), "" if usual(recipe, field) else "given"]
        for field in own
    ]
    return title + table(["field", "value", ""], rows) if rows else title


def policy_html(policy: "Policy") -> str:
    """What it is, how far it is, what its rewards were, and the arms that it played most."""
    with policy._ledger.lock:
        ledger = policy._steady()
        arms, rewards = np.array(ledger.arms, np.int64), np.array(ledger.rewards)
        said: dict[str, Any] = {
            "recipe": brief(policy.recipe),
            "arms": code(policy.arms),
            "decisions": ledger.round,
            "rewards learned": ledger.version,
        }
        if ledger.open:
            said["waiting for a reward"] = len(ledger.open)
        calibration = policy.calibration
        if calibration is not None and ledger.version:
            said["noise, as learned"] = calibration.sigma
        if rewards.size:
            said["mean reward"] = float(rewards.mean())
            said["mean reward over time"] = sparkline(*in_windows(rewards), "mean reward over time")
        played = arms[arms != UNNUMBERED]
        return facts(said) + (most_played(policy, arms, rewards) if played.size else "")


def most_played(policy: "Policy", arms: IntArray, rewards: FloatArray) -> str:
    """The standing arms that were rewarded most often."""
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
    """The propensities of the standing arms, where they are known and soon counted."""
    rows, size = policy.arms.rows, policy.model.size
    if rows is None or (size or 1) * rows.size > LIVELY:
        return None
    try:
        return policy.propensities()
    except PropensityError:
        return None
