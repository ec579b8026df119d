"""Rows and charts of an experiment's page, which experiment.html puts in their places."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ensample.experiments.reward import SECOND
from ensample.numerals import aligned, decimals, numeral, percent, several, signed
from ensample.service.dashboard.charts import (
    Chart,
    brief,
    delay_chart,
    disagreement_chart,
    lift_chart,
    reward_chart,
    share_chart,
    shortened,
)
from ensample.service.dashboard.counter import Counter, Present
from ensample.service.dashboard.lift import Checkpoint, Provisional
from ensample.service.dashboard.summary import Summary

BANDS = 8  # actions that have a colour of their own
ROWS = 12  # actions in a list
STRIP = 1.2  # bounds that a strip is wide, to either side
DRAWN_BY = {"baseline": "the holdout", "floor": "the floor", "policy": "the policy"}
OUTCOMES = {
    "applied": "counted",
    "duplicate": "sent again",
    "late": "after the wait",
    "unknown": "no such decision",
    "not_shown": "for another action, or never activated",
    "default": "no reward came: the default",
    "expired": "no reward came: left out",
}


class Row(NamedTuple):
    """A row of a list. `strip`: a value and its interval, as shares of a width."""

    name: str
    cells: tuple[str, ...]
    strip: tuple[float, ...] = ()
    alarmed: bool = False


def view_of(counter: Counter, now: Present) -> dict[str, Any]:
    """Return what the page is made of. Hold the counter's lock until it is."""
    summary = counter.summary
    path, provisional = looks(summary), provisional_looks(summary)
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    waiting = sum(stretch.open for stretch in stretches)
    return {
        "counter": counter,
        "summary": summary,
        "joining": summary.joining,
        "rules": summary.settings.reward,
        "now": now,
        "every": summary.timeline.width.says,
        "wait": brief((summary.settings.reward.wait_microseconds or 0) / SECOND),
        "describes": description(summary, now),
        "reference": reference_of(summary),
        "scale": scale(summary),
        "last_look": path[-1] if path else None,
        "waiting": waiting,
        "open_total": sum(stretch.open_total for stretch in stretches),
        "outcomes": OUTCOMES,
        "means": mean_rows(summary),
        "votes": sorted(now.votes.items(), key=lambda item: (-item[1], item[0])),
        "check": standing_rows(summary.check, lambda row: (row.passed is None, -row.chosen)),
        "others": {
            "By height of the propensity": standing_rows(summary.heights),
            "Drawn by": standing_rows(summary.draws),
        },
        "rows": ROWS,
        "charts": charts_of(summary, path, provisional, bool(waiting)),
    }


def charts_of(
    summary: Summary, path: list[Checkpoint], provisional: list[Provisional], is_open: bool
) -> dict[str, Chart | None]:
    stretches, width = summary.timeline.stretches(), summary.timeline.width
    every, delays = width.says, summary.joining.delays.counts
    found: dict[str, Chart | None] = dict.fromkeys(("lift", "reward", "shares", "delays"))
    if path or provisional:
        label = f"Lift over {reference_of(summary)} and its bounds"
        found["lift"] = lift_chart(path, provisional, scale(summary), label)
    if summary.rewarded or is_open:
        found["reward"] = reward_chart(stretches, width, f"Mean reward by {every}")
    if summary.decisions:
        label = f"Shares of actions by {every}"
        found["shares"] = share_chart(stretches, width, bands_of(summary), label)
    if summary.joining.joined:
        found["delays"] = delay_chart(delays, "How long rewards took")
    label = f"Disagreement by {every}"
    return found | {"disagreement": disagreement_chart(stretches, width, label)}


def scale(summary: Summary) -> float:
    return summary.settings.reward.high - summary.settings.reward.low


def looks(summary: Summary) -> list[Checkpoint]:
    """Return the stored looks at the lift, and the present one."""
    lift = summary.lift
    if not lift.lower.count:
        return []
    return [*(look for look in lift.path if look.rows < lift.lower.count), lift.now()]


def provisional_looks(summary: Summary) -> list[Provisional]:
    """Return how the lift would go on with the decisions that are within their wait."""
    return summary.lift.with_open(stretch for _, stretch in summary.timeline.stretches())


def description(summary: Summary, now: Present) -> str:
    settings = summary.settings
    rules, size = settings.reward, getattr(settings.recipe, "size", None)
    members = f" with {size:,} members" if isinstance(size, int) else ""
    parts = [
        type(settings.recipe).__name__ + members,
        f"{len(now.actions)} actions" if now.actions else "actions come with each decision",
        f"rewards from {numeral(rules.low)} to {numeral(rules.high)}",
    ]
    if rules.wait_microseconds is not None:
        default = "" if rules.default is None else f", then {numeral(rules.default)}"
        parts.append(f"wait {brief(rules.wait_microseconds / SECOND)}{default}")
    parts.append(f"floor {percent(settings.floor)}")
    if settings.baseline is not None:
        action, part = settings.baseline
        parts.append(f"{percent(part)} held out for {shortened(action)}")
    return " · ".join(parts)


def reference_of(summary: Summary) -> str:
    held = summary.settings.baseline
    return "choosing at random" if held is None else f"the holdout, {shortened(held[0])}"


def lift_words(look: Checkpoint, scale: float) -> str:
    verdict = "Not told apart yet"
    if look.low > 0:
        verdict = "The policy earns more"
    elif look.high < 0:
        verdict = "The policy earns less"
    value, low, high = (signed(scale * number) for number in look[1:])
    over = several(look.rows, "decision")
    return f"{verdict}: {value} a decision, between {low} and {high} over {over}."


def bands_of(summary: Summary) -> list[tuple[str, frozenset[int], str]]:
    """Return name, places and colour of the most chosen actions, and of the others together."""
    names = list(summary.actions)
    order = sorted(range(len(names)), key=lambda place: (-summary.chosen[place], place))
    own = sorted(order[:BANDS]) if len(order) > BANDS + 1 else sorted(order)
    found = [(names[place], frozenset({place}), f"s{number}") for number, place in enumerate(own)]
    if rest := frozenset(order) - set(own):
        found.append((f"{len(rest)} others", rest, "s9"))
    return found


def mean_rows(summary: Summary) -> list[Row]:
    """Return the mean reward of each action with its interval, the most chosen first."""
    low, width = summary.settings.reward.low, scale(summary)
    names = list(summary.actions)
    order = sorted(range(len(names)), key=lambda place: (-summary.chosen[place], place))
    known = [
        (names[place], summary.means[place].now()) for place in order if place in summary.means
    ]
    left = min((mean.low for _, mean in known[:ROWS]), default=0.0)
    span = max((mean.high for _, mean in known[:ROWS]), default=1.0) - left or 1.0
    rows = []
    for name, mean in known:
        value, bottom, top = (aligned(low + width * number) for number in mean[1:])
        strip = tuple((number - left) / span for number in mean[1:])
        rows.append(Row(name, (value, f"{bottom} to {top}", f"{mean.rows:,}"), strip))
    return rows


def standing_rows(check: Any, order: Callable[[Any], Any] = lambda row: 0) -> list[Row]:
    standings = [row for row in check.standings() if row.expected or row.chosen]
    return [
        standing_row(DRAWN_BY.get(row.name, row.name), row) for row in sorted(standings, key=order)
    ]


def standing_row(name: str, row: Any) -> Row:
    alarmed = row.passed is not None
    cells = (
        signed_count(row.difference),
        f"± {row.bound:,.1f}",
        f"{row.chosen:,}",
        f"{row.expected:,.1f}",
        f"passed by decision {row.passed:,}" if alarmed else "within",
    )
    at = (row.difference / row.bound if row.bound else 0.0, -1.0, 1.0)
    strip = tuple(0.5 + 0.5 * min(max(share / STRIP, -1.0), 1.0) for share in at)
    return Row(name, cells, strip, alarmed)


def signed_count(difference: float) -> str:
    """
    >>> signed_count(-0.01), signed_count(2.26)
    ('0.0', '+2.3')
    """
    shown = difference if abs(difference) >= 0.05 else 0.0
    return ("+" if shown > 0 else "") + decimals(shown, 1)
