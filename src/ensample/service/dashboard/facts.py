"""The numbers of an experiment's page, each with its name and a note."""

import math
from typing import NamedTuple

from ensample.numerals import NOTHING, aligned, percent, several, signed
from ensample.service.dashboard.charts import brief
from ensample.service.dashboard.counting import Counted
from ensample.service.dashboard.lift import Checkpoint, Provisional
from ensample.service.dashboard.present import Present
from ensample.service.dashboard.summary import Summary
from ensample.service.metrics import Latency


class Fact(NamedTuple):
    """A number with its name, and what it is beside others."""

    name: str
    value: str
    note: str = ""


def scale(summary: Summary) -> float:
    return summary.settings.reward.high - summary.settings.reward.low


def looks(summary: Summary) -> list[Checkpoint]:
    """Those that are kept, and the present one."""
    lift = summary.lift
    if not lift.lower.count:
        return []
    return [*(look for look in lift.path if look.rows < lift.lower.count), lift.now()]


def provisional_looks(summary: Summary) -> list[Provisional]:
    """Return how the lift would go on with the decisions that are within their wait."""
    return summary.lift.with_open(stretch for _, stretch in summary.timeline.stretches())


def mean_note(summary: Summary) -> str:
    """Say what the mean reward is over, and what it would be with open decisions."""
    if summary.settings.reward.wait is None:
        return ""
    parts = [f"over {several(summary.rewarded, 'decision')}"]
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    if waiting := sum(stretch.open for stretch in stretches):
        count = summary.rewarded + waiting
        mean = (summary.total + sum(stretch.open_total for stretch in stretches)) / count
        parts.append(f"provisional {aligned(mean)} over {count:,}")
    return "; ".join(parts)


def rate_note(summary: Summary) -> str:
    return (
        ""
        if summary.settings.reward.wait is None
        else f"over {several(summary.joining.settled, 'decision')}"
    )


def facts_of(summary: Summary, now: Present, path: list[Checkpoint]) -> list[Fact]:
    mean = aligned(summary.total / summary.rewarded) if summary.rewarded else NOTHING
    rate = summary.joining.rate
    found = [
        Fact("Decisions", f"{now.decisions:,}"),
        Fact("Rewards learned", f"{now.version:,}", "the version of the model"),
        Fact("Mean reward", mean, mean_note(summary)),
        Fact("Join rate", NOTHING if rate is None else percent(rate), rate_note(summary)),
        Fact("Disagreement", NOTHING if now.disagreement is None else percent(now.disagreement)),
    ]
    if path:
        width, last = scale(summary), path[-1]
        ends = f"{signed(width * last.low)} to {signed(width * last.high)}"
        found.insert(
            2,
            Fact(
                "Lift", signed(width * last.value), f"{ends}, over {several(last.rows, 'decision')}"
            ),
        )
    return found


def join_facts(summary: Summary) -> list[Fact]:
    joining, delays = summary.joining, summary.joining.delays
    median, slow = delays.quantile(0.5), delays.quantile(0.9)
    waits = summary.settings.reward.wait is not None
    return [
        Fact(
            "Join rate",
            NOTHING if joining.rate is None else percent(joining.rate),
            "of decisions whose wait is over" if waits else "of all shown",
        ),
        Fact("Waiting", f"{joining.waiting:,}"),
        Fact("Half came within", NOTHING if median is None else brief(median)),
        Fact("9 in 10 within", NOTHING if slow is None else brief(slow)),
    ]


def outcome_facts(now: Present) -> list[Fact]:
    says = {
        "applied": "counted",
        "duplicate": "sent again",
        "late": "after the wait",
        "unknown": "no such decision",
        "not_shown": "for another action, or never activated",
        "default": "no reward came: the default",
        "expired": "no reward came: left out",
    }
    return [
        Fact(name.replace("_", " "), f"{now.counts.get(name, 0):,}", note)
        for name, note in says.items()
    ]


def exploring_facts(summary: Summary) -> list[Fact]:
    rows = summary.decisions - summary.unknown
    size = f"{percent(summary.effective / rows)} of {rows:,}" if rows else ""
    return [
        Fact(
            "Floor hits",
            f"{summary.drawn['floor']:,}",
            share_of(summary.drawn["floor"], summary.decisions),
        ),
        Fact(
            "Held out",
            f"{summary.drawn['baseline']:,}",
            share_of(summary.drawn["baseline"], summary.decisions),
        ),
        Fact("Effective sample", f"{summary.effective:,.0f}" if rows else NOTHING, size),
    ]


def share_of(count: int, total: int) -> str:
    return f"{percent(count / total)} of decisions" if total else ""


def inside_facts(now: Present, latency: Latency, counted: Counted) -> list[Fact]:
    found = [
        Fact("Version", f"{now.version:,}", "rewards learned"),
        Fact("Events", f"{now.events:,}", "in the ledger"),
        Fact("Commit, median", seconds(latency.median), f"of {latency.commits:,} since the start"),
        Fact("Commit, 99 in 100", seconds(latency.slowest)),
    ]
    if counted.verified is not None:
        said = "the snapshot fits it" if counted.verified.fits else "the snapshot does NOT fit it"
        found.append(
            Fact(
                "Last verified hash",
                counted.verified.hash[:16],
                f"after {counted.verified.seq:,} events; {said}",
            )
        )
    else:
        found.append(Fact("Last verified hash", NOTHING, "no snapshot yet"))
    return found


def seconds(found: float | None) -> str:
    return NOTHING if found is None else "over 4 s" if math.isinf(found) else f"≤ {brief(found)}"
