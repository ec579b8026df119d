"""What an experiment's page says, as words and figures: the template only puts them in their places."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from markupsafe import Markup

from ensample.numerals import decimals, numeral, percent, several, signed
from ensample.serve.dashboard.charts import (
    Band,
    bar,
    bound_strip,
    brief,
    delay_chart,
    disagreement_chart,
    lift_chart,
    reward_chart,
    share_chart,
)
from ensample.serve.dashboard.counting import Counted, Verified
from ensample.serve.dashboard.facts import (
    Fact,
    exploring_facts,
    facts_of,
    inside_facts,
    join_facts,
    looks,
    outcome_facts,
    scale,
)
from ensample.serve.dashboard.latency import Latency
from ensample.serve.dashboard.lift import Checkpoint
from ensample.serve.dashboard.present import Present
from ensample.serve.dashboard.summary import Summary
from ensample.serve.pages import shortened

__all__ = ["View", "view_of"]

BANDS = 8  # actions that have a colour of their own
ROWS = 12  # actions in a list
WORDS = {"baseline": "the holdout", "floor": "the floor", "policy": "the policy"}


class Row(NamedTuple):
    """An action in a list."""

    name: str
    cells: tuple[str, ...]
    drawn: Markup
    alarmed: bool = False


class View(NamedTuple):
    """See experiment.html."""

    name: str
    paused: bool
    done: float
    describes: str
    facts: list[Fact]
    reference: str
    lift: Markup | None
    lift_words: str
    why_no_lift: str
    reward: Markup | None
    has_holdout: bool
    leaves_out: bool  # whether decisions without a reward are
    time: str
    disagreement: Markup | None
    every: str  # how long a stretch of time is
    shares: Markup | None
    bands: list[Band]
    votes: list[Row]
    votes_of: int
    more_votes: int
    holds: bool
    checked: str
    impossible: int
    check: list[Row]
    more_checks: int
    others: list[tuple[str, list[Row]]]
    join: list[Fact]
    delays: Markup | None
    outcomes: list[Fact]
    exploring: list[Fact]
    inside: list[Fact]
    verified: Verified | None
    decisions: int


def view_of(name: str, paused: bool, counted: Counted, now: Present, latency: Latency) -> View:
    """Within the lock of what is counted."""
    summary = counted.summary
    settings = summary.settings
    stretches, width = summary.timeline.stretches(), summary.timeline.width
    bands = bands_of(summary)
    check = check_rows(summary)
    votes = vote_rows(now, bands)
    path = looks(summary)
    return View(
        name=name,
        paused=paused,
        done=counted.done,
        describes=description(summary, now),
        facts=facts_of(summary, now, path),
        reference=reference_of(summary),
        lift=lift_chart(path, scale(summary), f"Lift over {reference_of(summary)} and its bounds") if path else None,
        lift_words=lift_words(summary, path),
        why_no_lift=why_no_lift(summary),
        reward=reward_chart(stretches, width, f"Mean reward by {width.says}") if summary.rewarded else None,
        has_holdout=settings.baseline is not None,
        leaves_out=settings.reward.default is None,
        time=f"{datetime.now(UTC):%d %b %Y, %H:%M:%S} UTC",
        disagreement=disagreement_chart(stretches, width, f"Disagreement by {width.says}"),
        every=width.says,
        shares=share_chart(stretches, width, bands, f"Shares of actions by {width.says}") if summary.decisions else None,
        bands=bands,
        votes=votes[:ROWS],
        votes_of=now.asked,
        more_votes=len(votes[ROWS:]),
        holds=summary.holds,
        checked=several(summary.check.rows, "decision") if summary.check.rows else "",
        impossible=summary.check.impossible,
        check=check[:ROWS],
        more_checks=len(check[ROWS:]),
        others=[("By height of the propensity", height_rows(summary)), ("Drawn by", draw_rows(summary))],
        join=join_facts(summary),
        delays=delay_chart(summary.joining.delays.counts, "How long rewards took") if summary.joining.joined else None,
        outcomes=outcome_facts(now),
        exploring=exploring_facts(summary),
        inside=inside_facts(now, latency, counted),
        verified=counted.verified,
        decisions=summary.decisions,
    )


def description(summary: Summary, now: Present) -> str:
    settings = summary.settings
    rules = settings.reward
    size = getattr(settings.recipe, "size", None)
    parts = [type(settings.recipe).__name__ + (f" with {size:,} members" if isinstance(size, int) else "")]
    parts.append(f"{len(now.actions)} actions" if now.actions else "actions come with each decision")
    parts.append(f"rewards from {numeral(rules.low)} to {numeral(rules.high)}")
    if rules.wait is not None:
        default = "" if rules.default is None else f", then {numeral(rules.default)}"
        parts.append(f"wait {brief(float(rules.wait))}{default}")  # type: ignore[arg-type]
    parts.append(f"floor {percent(settings.floor)}")
    if settings.baseline is not None:
        parts.append(f"{percent(settings.baseline[1])} held out for {shortened(settings.baseline[0])}")
    return " · ".join(parts)


def reference_of(summary: Summary) -> str:
    held = summary.settings.baseline
    return "choosing at random" if held is None else f"the holdout, {shortened(held[0])}"


def lift_words(summary: Summary, path: list[Checkpoint]) -> str:
    if not path:
        return ""
    width, last = scale(summary), path[-1]
    ends = f"{signed(width * last.low)} and {signed(width * last.high)}"
    verdict = "The policy earns more" if last.low > 0 else "The policy earns less" if last.high < 0 else "Not told apart yet"
    return f"{verdict}: {signed(width * last.value)} a decision, between {ends} over {several(last.rows, 'decision')}."


def why_no_lift(summary: Summary) -> str:
    """What to do next."""
    settings = summary.settings
    if settings.reward.rule == "sum":
        return "Rewards are added up, so that nothing bounds them: there is no bound on the lift either."
    if settings.baseline is None and settings.floor == 0.0:
        return 'Nothing is held out and the floor is 0. An experiment made with "baseline": ["an action", 0.1] has a lift.'
    if summary.unknown and summary.unknown == summary.decisions:
        return "This recipe does not know its propensities."
    if settings.reward.wait is not None and summary.decisions:
        return f"The first decisions still wait for their rewards ({brief(float(settings.reward.wait))})."  # type: ignore[arg-type]
    return "No decision has its reward yet."


def bands_of(summary: Summary) -> list[Band]:
    """The actions that were chosen most, in the order in which they were met; the others together."""
    names = list(summary.actions)
    order = sorted(range(len(names)), key=lambda place: (-summary.chosen[place], place))
    own = sorted(order[:BANDS]) if len(order) > BANDS + 1 else sorted(order)
    found = [Band(names[place], frozenset({place}), f"s{number}") for number, place in enumerate(own)]
    if rest := frozenset(order) - set(own):
        found.append(Band(f"{len(rest)} others", rest, "s9"))
    return found


def vote_rows(now: Present, bands: list[Band]) -> list[Row]:
    colours = {band.name: band.colour for band in bands}
    ordered = sorted(now.votes.items(), key=lambda item: (-item[1], item[0]))
    return [
        Row(name, (percent(max(share, 0.0)),), bar(share, colours.get(name, "s9"), f"{percent(max(share, 0.0))} of the votes"))
        for name, share in ordered
    ]


def check_rows(summary: Summary) -> list[Row]:
    """Those that passed their bounds first, then those that are chosen most."""
    standings = sorted(summary.check.standings(), key=lambda row: (row.passed is None, -row.chosen))
    return [standing_row(row.name, row) for row in standings]


def height_rows(summary: Summary) -> list[Row]:
    return [standing_row(row.name, row) for row in summary.heights.standings() if row.expected or row.chosen]


def draw_rows(summary: Summary) -> list[Row]:
    return [standing_row(WORDS[row.name], row) for row in summary.draws.standings() if row.expected or row.chosen]


def standing_row(name: str, row: Any) -> Row:
    alarmed = row.passed is not None
    verdict = f"passed by decision {row.passed:,}" if alarmed else "within"
    cells = (signed_count(row.difference), f"± {row.bound:,.1f}", f"{row.chosen:,}", f"{row.expected:,.1f}", verdict)
    label = f"difference {cells[0]}, bound {cells[1]}, {verdict}"
    return Row(name, cells, bound_strip(row.difference, row.bound, alarmed, label), alarmed)


def signed_count(difference: float) -> str:
    """
    >>> signed_count(-0.01), signed_count(2.26)
    ('0.0', '+2.3')
    """
    return ("+" if difference >= 0.05 else "") + decimals(difference if abs(difference) >= 0.05 else 0.0, 1)
