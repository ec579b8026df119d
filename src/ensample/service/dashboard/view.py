"""Words, rows and charts of an experiment's page, which the template puts in their places."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from ensample.experiments.reward import SECOND
from ensample.numerals import NOTHING, aligned, decimals, numeral, percent, several, signed
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


class Fact(NamedTuple):
    """A number with its name, and a note on it."""

    name: str
    value: str
    note: str = ""


class Row(NamedTuple):
    """A row of a list. `strip`: a value and its interval, as shares of a width."""

    name: str
    cells: tuple[str, ...]
    strip: tuple[float, float, float] | None = None
    alarmed: bool = False
    share: float = 0.0


class Limited(NamedTuple):
    """The first rows of a list, and how many there are beyond."""

    rows: list[Row]
    more: int


def limited(rows: list[Row]) -> Limited:
    return Limited(rows[:ROWS], len(rows[ROWS:]))


def view_of(counter: Counter, now: Present) -> dict[str, Any]:
    """Return what experiment.html needs. Hold the counter's lock meanwhile."""
    summary = counter.summary
    rules, width = summary.settings.reward, summary.timeline.width
    stretches = summary.timeline.stretches()
    path, provisional = looks(summary), provisional_looks(summary)
    is_open = any(stretch.open for _, stretch in stretches)
    return {
        "done": counter.done,
        "time": f"{datetime.now(UTC):%d %b %Y, %H:%M:%S} UTC",
        "describes": description(summary, now),
        "decisions": summary.decisions,
        "facts": main_facts(summary, now, path),
        "reference": reference_of(summary),
        "has_bounds": bool(path),
        "lift_words": lift_words(summary, path),
        "why_no_lift": why_no_lift(summary),
        "leaves_out": rules.default is None,
        "waits": rules.wait is not None,
        "within": within_words(summary),
        "provisional": is_open
        and f"provisional: decisions within their wait count as "
        f"{numeral(rules.default or 0.0)} until a reward comes",
        "means": limited(mean_rows(summary)),
        "bounded": rules.rule == "first",
        "every": width.says,
        "votes": limited(vote_rows(now)),
        "votes_of": now.asked,
        "holds": summary.holds,
        "checked": several(summary.check.rows, "decision") if summary.check.rows else "",
        "impossible": summary.check.impossible,
        "check": limited(check_rows(summary)),
        "others": {
            "By height of the propensity": standing_rows(summary.heights),
            "Drawn by": standing_rows(summary.draws),
        },
        "join": join_facts(summary),
        "outcomes": [
            Fact(name.replace("_", " "), f"{now.counts.get(name, 0):,}", note)
            for name, note in OUTCOMES.items()
        ],
        "exploring": exploring_facts(summary),
        "inside": inside_facts(now, counter),
        "charts": charts_of(summary, path, provisional, is_open),
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
    if rules.wait is not None:
        default = "" if rules.default is None else f", then {numeral(rules.default)}"
        parts.append(f"wait {wait_words(summary)}{default}")
    parts.append(f"floor {percent(settings.floor)}")
    if settings.baseline is not None:
        action, part = settings.baseline
        parts.append(f"{percent(part)} held out for {shortened(action)}")
    return " · ".join(parts)


def wait_words(summary: Summary) -> str:
    return brief((summary.settings.reward.wait_microseconds or 0) / SECOND)


def reference_of(summary: Summary) -> str:
    held = summary.settings.baseline
    return "choosing at random" if held is None else f"the holdout, {shortened(held[0])}"


def lift_words(summary: Summary, path: list[Checkpoint]) -> str:
    if not path:
        return "No decision's wait is over yet: the line is provisional."
    width, last = scale(summary), path[-1]
    verdict = "Not told apart yet"
    if last.low > 0:
        verdict = "The policy earns more"
    elif last.high < 0:
        verdict = "The policy earns less"
    ends = f"{signed(width * last.low)} and {signed(width * last.high)}"
    over = several(last.rows, "decision")
    return f"{verdict}: {signed(width * last.value)} a decision, between {ends} over {over}."


def within_words(summary: Summary) -> str:
    """Say which decisions do not count yet, and why."""
    count = summary.joining.within
    if summary.settings.reward.wait is None or not count:
        return ""
    return (
        f"{several(count, 'decision')} may still get a reward (wait: {wait_words(summary)}): "
        "lift, mean rewards and join rate count a decision once its wait is over, "
        "because rewards that come early would bias them."
    )


def why_no_lift(summary: Summary) -> str:
    """Say why there is no lift, and what to do about it."""
    settings = summary.settings
    if settings.reward.rule == "sum":
        return "Rewards are added up, so nothing bounds them: there is no bound on the lift either."
    if settings.baseline is None and settings.floor == 0.0:
        made = 'An experiment made with "baseline": ["an action", 0.1] has a lift.'
        return f"Nothing is held out and the floor is 0. {made}"
    if summary.unknown and summary.unknown == summary.decisions:
        return "This recipe does not know its propensities."
    if settings.reward.wait is not None and summary.decisions:
        return f"The first decisions still wait for their rewards ({wait_words(summary)})."
    return "No decision has its reward yet."


def main_facts(summary: Summary, now: Present, path: list[Checkpoint]) -> list[Fact]:
    joining, waits = summary.joining, summary.settings.reward.wait is not None
    mean = aligned(summary.total / summary.rewarded) if summary.rewarded else NOTHING
    over = f"over {several(joining.settled, 'decision')}" if waits else ""
    found = [
        Fact("Decisions", f"{now.decisions:,}"),
        Fact("Rewards learned", f"{now.version:,}", "the version of the model"),
        Fact("Mean reward", mean, mean_note(summary)),
        Fact("Join rate", percent_or_nothing(joining.rate), over),
        Fact("Disagreement", percent_or_nothing(now.disagreement)),
    ]
    if path:
        width, last = scale(summary), path[-1]
        ends = f"{signed(width * last.low)} to {signed(width * last.high)}"
        note = f"{ends}, over {several(last.rows, 'decision')}"
        found.insert(2, Fact("Lift", signed(width * last.value), note))
    return found


def mean_note(summary: Summary) -> str:
    """Say what the mean reward is over, and what it would be with open decisions."""
    if summary.settings.reward.wait is None:
        return ""
    note = f"over {several(summary.rewarded, 'decision')}"
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    if waiting := sum(stretch.open for stretch in stretches):
        count = summary.rewarded + waiting
        mean = (summary.total + sum(stretch.open_total for stretch in stretches)) / count
        note += f"; provisional {aligned(mean)} over {count:,}"
    return note


def percent_or_nothing(share: float | None) -> str:
    return NOTHING if share is None else percent(share)


def join_facts(summary: Summary) -> list[Fact]:
    joining = summary.joining
    median, slow = (joining.delays.quantile(share) for share in (0.5, 0.9))
    waits = summary.settings.reward.wait is not None
    note = "of decisions whose wait is over" if waits else "of all shown"
    return [
        Fact("Join rate", percent_or_nothing(joining.rate), note),
        Fact("Waiting", f"{joining.waiting:,}"),
        Fact("Half came within", NOTHING if median is None else brief(median)),
        Fact("9 in 10 within", NOTHING if slow is None else brief(slow)),
    ]


def exploring_facts(summary: Summary) -> list[Fact]:
    rows, total = summary.decisions - summary.unknown, summary.decisions

    def drawn(name: str, by: str) -> Fact:
        count = summary.drawn[by]
        return Fact(name, f"{count:,}", f"{percent(count / total)} of decisions" if total else "")

    size = f"{summary.effective:,.0f}" if rows else NOTHING
    note = f"{percent(summary.effective / rows)} of {rows:,}" if rows else ""
    return [
        drawn("Floor hits", "floor"),
        drawn("Held out", "baseline"),
        Fact("Effective sample", size, note),
    ]


def inside_facts(now: Present, counter: Counter) -> list[Fact]:
    verified = counter.verified
    hash = Fact("Last verified hash", NOTHING, "no snapshot yet")
    if verified is not None:
        said = "the snapshot fits it" if verified.fits else "the snapshot does NOT fit it"
        note = f"after {verified.seq:,} events; {said}"
        hash = Fact("Last verified hash", verified.hash[:16], note)
    return [
        Fact("Version", f"{now.version:,}", "rewards learned"),
        Fact("Events", f"{now.events:,}", "in the ledger"),
        hash,
    ]


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
    known = [(names[place], mean) for place in order if (mean := summary.means[place]) is not None]
    left = min((mean.low for _, mean in known[:ROWS]), default=0.0)
    span = max((mean.high for _, mean in known[:ROWS]), default=1.0) - left or 1.0
    rows = []
    for name, mean in known:
        value, bottom, top = (aligned(low + width * number) for number in mean[1:])
        at = tuple((number - left) / span for number in mean[1:])
        cells = (value, f"{bottom} to {top}", f"{mean.rows:,}")
        rows.append(Row(name, cells, at))  # type: ignore[arg-type]
    return rows


def vote_rows(now: Present) -> list[Row]:
    ordered = sorted(now.votes.items(), key=lambda item: (-item[1], item[0]))
    return [
        Row(name, (percent(max(share, 0.0)),), share=max(share, 0.0)) for name, share in ordered
    ]


def check_rows(summary: Summary) -> list[Row]:
    """Return the actions that passed their bounds first, then those that are chosen most."""
    standings = sorted(summary.check.standings(), key=lambda row: (row.passed is None, -row.chosen))
    return [standing_row(row.name, row) for row in standings]


def standing_rows(check: Any) -> list[Row]:
    standings = [row for row in check.standings() if row.expected or row.chosen]
    return [standing_row(DRAWN_BY.get(row.name, row.name), row) for row in standings]


def standing_row(name: str, row: Any) -> Row:
    alarmed = row.passed is not None
    verdict = f"passed by decision {row.passed:,}" if alarmed else "within"
    bounds = (f"± {row.bound:,.1f}", f"{row.chosen:,}", f"{row.expected:,.1f}", verdict)
    place = row.difference / row.bound if row.bound else 0.0
    strip = (place, -1.0, 1.0)
    at = tuple(0.5 + 0.5 * min(max(share / STRIP, -1.0), 1.0) for share in strip)
    return Row(name, (signed_count(row.difference), *bounds), at, alarmed)  # type: ignore[arg-type]


def signed_count(difference: float) -> str:
    """
    >>> signed_count(-0.01), signed_count(2.26)
    ('0.0', '+2.3')
    """
    shown = difference if abs(difference) >= 0.05 else 0.0
    return ("+" if shown > 0 else "") + decimals(shown, 1)
