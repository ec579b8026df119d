"""What an experiment's page says, as words and figures: the template only puts them in their places."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from markupsafe import Markup

from ensample.numerals import aligned, decimals, numeral, percent, several, signed
from ensample.service.dashboard.action_means import ActionMean
from ensample.service.dashboard.charts import (
    Band,
    bar,
    bound_strip,
    brief,
    delay_chart,
    disagreement_chart,
    interval_strip,
    lift_chart,
    reward_chart,
    share_chart,
    shortened,
)
from ensample.service.dashboard.counting import Counted, Verified
from ensample.service.dashboard.facts import (
    Fact,
    exploring_facts,
    facts_of,
    inside_facts,
    join_facts,
    looks,
    outcome_facts,
    provisional_looks,
    scale,
)
from ensample.service.dashboard.lift import Checkpoint
from ensample.service.dashboard.present import Present
from ensample.service.dashboard.summary import Summary
from ensample.service.metrics import Latency

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
    lift_bounds: bool  # whether there is more than a provisional line
    lift_words: str
    why_no_lift: str
    reward: Markup | None
    has_holdout: bool
    leaves_out: bool  # whether decisions without a reward are
    waits: bool  # whether decisions wait for a while, rather than for ever
    within: str  # how many decisions are within their wait, and what that means
    provisional: str  # what the provisional lines count
    means: list[Row]  # the mean reward of each action
    more_means: int
    bounded: bool  # whether these means have intervals
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
    path, provisional = looks(summary), provisional_looks(summary)
    is_open = any(stretch.open for _, stretch in stretches)
    means = mean_rows(summary)
    return View(
        name=name,
        paused=paused,
        done=counted.done,
        describes=description(summary, now),
        facts=facts_of(summary, now, path),
        reference=reference_of(summary),
        lift=lift_chart(
            path, provisional, scale(summary), f"Lift over {reference_of(summary)} and its bounds"
        )
        if path or provisional
        else None,
        lift_bounds=bool(path),
        lift_words=lift_words(summary, path),
        why_no_lift=why_no_lift(summary),
        reward=reward_chart(stretches, width, f"Mean reward by {width.says}")
        if summary.rewarded or is_open
        else None,
        has_holdout=settings.baseline is not None,
        leaves_out=settings.reward.default is None,
        waits=settings.reward.wait is not None,
        within=within_words(summary),
        provisional=provisional_words(summary) if is_open else "",
        means=means[:ROWS],
        more_means=len(means[ROWS:]),
        bounded=settings.reward.rule == "first",
        time=f"{datetime.now(UTC):%d %b %Y, %H:%M:%S} UTC",
        disagreement=disagreement_chart(stretches, width, f"Disagreement by {width.says}"),
        every=width.says,
        shares=share_chart(stretches, width, bands, f"Shares of actions by {width.says}")
        if summary.decisions
        else None,
        bands=bands,
        votes=votes[:ROWS],
        votes_of=now.asked,
        more_votes=len(votes[ROWS:]),
        holds=summary.holds,
        checked=several(summary.check.rows, "decision") if summary.check.rows else "",
        impossible=summary.check.impossible,
        check=check[:ROWS],
        more_checks=len(check[ROWS:]),
        others=[
            ("By height of the propensity", height_rows(summary)),
            ("Drawn by", draw_rows(summary)),
        ],
        join=join_facts(summary),
        delays=delay_chart(summary.joining.delays.counts, "How long rewards took")
        if summary.joining.joined
        else None,
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
    parts = [
        type(settings.recipe).__name__
        + (f" with {size:,} members" if isinstance(size, int) else "")
    ]
    parts.append(
        f"{len(now.actions)} actions" if now.actions else "actions come with each decision"
    )
    parts.append(f"rewards from {numeral(rules.low)} to {numeral(rules.high)}")
    if rules.wait is not None:
        default = "" if rules.default is None else f", then {numeral(rules.default)}"
        parts.append(f"wait {brief(float(rules.wait))}{default}")  # type: ignore[arg-type]
    parts.append(f"floor {percent(settings.floor)}")
    if settings.baseline is not None:
        parts.append(
            f"{percent(settings.baseline[1])} held out for {shortened(settings.baseline[0])}"
        )
    return " · ".join(parts)


def reference_of(summary: Summary) -> str:
    held = summary.settings.baseline
    return "choosing at random" if held is None else f"the holdout, {shortened(held[0])}"


def lift_words(summary: Summary, path: list[Checkpoint]) -> str:
    if not path:
        return "No decision's wait is over yet: the line is provisional."
    width, last = scale(summary), path[-1]
    ends = f"{signed(width * last.low)} and {signed(width * last.high)}"
    verdict = (
        "The policy earns more"
        if last.low > 0
        else "The policy earns less"
        if last.high < 0
        else "Not told apart yet"
    )
    return f"{verdict}: {signed(width * last.value)} a decision, between {ends} over {several(last.rows, 'decision')}."


def within_words(summary: Summary) -> str:
    """Say which decisions do not count yet, and why."""
    rules, count = summary.settings.reward, summary.joining.within
    if rules.wait is None or not count:
        return ""
    wait = brief(float(rules.wait))  # type: ignore[arg-type]
    return (
        f"{several(count, 'decision')} may still get a reward (wait: {wait}): "
        "lift, mean rewards and join rate count a decision once its wait is over, "
        "because rewards that come early would bias them."
    )


def provisional_words(summary: Summary) -> str:
    default = summary.settings.reward.default
    return (
        ""
        if default is None
        else f"provisional: decisions within their wait count as {numeral(default)} until a reward comes"
    )


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
    found = [
        Band(names[place], frozenset({place}), f"s{number}") for number, place in enumerate(own)
    ]
    if rest := frozenset(order) - set(own):
        found.append(Band(f"{len(rest)} others", rest, "s9"))
    return found


def mean_rows(summary: Summary) -> list[Row]:
    """Return the mean reward of each action with its interval, those that were chosen most first, on one scale."""
    low, width = summary.settings.reward.low, scale(summary)
    names = list(summary.actions)
    order = sorted(range(len(names)), key=lambda place: (-summary.chosen[place], place))
    known = [
        (names[place], found)
        for place in order
        if (found := summary.action_means[place]) is not None
    ]
    if summary.settings.reward.rule == "sum":  # sums have no range that is known
        return [
            Row(name, (aligned(low + width * mean.value), "", f"{mean.rows:,}"), Markup())
            for name, mean in known
        ]
    left = min((mean.low for _, mean in known[:ROWS]), default=0.0)
    right = max((mean.high for _, mean in known[:ROWS]), default=1.0)
    return [mean_row(name, mean, (low, width), (left, right)) for name, mean in known]


def mean_row(
    name: str, mean: ActionMean, scaled: tuple[float, float], ends: tuple[float, float]
) -> Row:
    value, low, high = (aligned(scaled[0] + scaled[1] * number) for number in mean[1:])
    left, span = ends[0], (ends[1] - ends[0]) or 1.0
    at = [(number - left) / span for number in mean[1:]]
    label = f"mean {value}, interval {low} to {high}"
    return Row(
        name,
        (value, f"{low} to {high}", f"{mean.rows:,}"),
        interval_strip(at[0], at[1], at[2], label),
    )


def vote_rows(now: Present, bands: list[Band]) -> list[Row]:
    colours = {band.name: band.colour for band in bands}
    ordered = sorted(now.votes.items(), key=lambda item: (-item[1], item[0]))
    return [
        Row(
            name,
            (percent(max(share, 0.0)),),
            bar(share, colours.get(name, "s9"), f"{percent(max(share, 0.0))} of the votes"),
        )
        for name, share in ordered
    ]


def check_rows(summary: Summary) -> list[Row]:
    """Those that passed their bounds first, then those that are chosen most."""
    standings = sorted(summary.check.standings(), key=lambda row: (row.passed is None, -row.chosen))
    return [standing_row(row.name, row) for row in standings]


def height_rows(summary: Summary) -> list[Row]:
    return [
        standing_row(row.name, row)
        for row in summary.heights.standings()
        if row.expected or row.chosen
    ]


def draw_rows(summary: Summary) -> list[Row]:
    return [
        standing_row(WORDS[row.name], row)
        for row in summary.draws.standings()
        if row.expected or row.chosen
    ]


def standing_row(name: str, row: Any) -> Row:
    alarmed = row.passed is not None
    verdict = f"passed by decision {row.passed:,}" if alarmed else "within"
    cells = (
        signed_count(row.difference),
        f"± {row.bound:,.1f}",
        f"{row.chosen:,}",
        f"{row.expected:,.1f}",
        verdict,
    )
    label = f"difference {cells[0]}, bound {cells[1]}, {verdict}"
    return Row(name, cells, bound_strip(row.difference, row.bound, alarmed, label), alarmed)


def signed_count(difference: float) -> str:
    """
    >>> signed_count(-0.01), signed_count(2.26)
    ('0.0', '+2.3')
    """
    return ("+" if difference >= 0.05 else "") + decimals(
        difference if abs(difference) >= 0.05 else 0.0, 1
    )
