"""An experiment as notebooks show it: its settings, counts and latest rewards."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ensample.experiments.events import Activated, Decided, Event
from ensample.experiments.log.builder import DecisionResults
from ensample.experiments.readable import ReadableExperiment
from ensample.markup import and_more, bar, brief, facts, in_windows, sparkline, table

LATEST = 20_000  # events that are looked at, so that a page never waits for a long log
SHOWN = 8  # actions


class Earned(NamedTuple):
    """A decision that was shown, and its reward where it has one."""

    action: str
    reward: float | None


def experiment_html(experiment: ReadableExperiment, latest: Sequence[Event], now: int) -> str:
    """Return facts, and the actions that were chosen most in its `latest` events, as of `now`."""
    settings = experiment.settings
    said: dict[str, Any] = {
        "experiment": settings.name,
        "recipe": brief(settings.recipe),
        "features": brief(settings.features),
        "decisions": experiment.decisions,
        "rewards learned": experiment.version,
        "waiting for a reward": experiment.waiting,
    }
    shown = earned(experiment, latest, now)
    rewards = np.array([one.reward for one in shown if one.reward is not None])
    if rewards.size:
        said["mean reward"] = float(rewards.mean())
        said["mean reward over time"] = sparkline(*in_windows(rewards), "mean reward over time")
    page = facts(said)
    if experiment.events > len(latest):
        of = f"{len(latest):,} of {experiment.events:,} events"
        page += f"<p>Rewards and actions of the last {of}.</p>"
    return page + (actions_table(experiment.actions, shown) if shown else "")


def earned(experiment: ReadableExperiment, latest: Iterable[Event], now: int) -> list[Earned]:
    """Return the decisions among these events that were shown, in order."""
    results, actions = DecisionResults(experiment.settings), []
    for event in latest:
        if isinstance(event, Activated) and event.id not in results.numbers:
            continue  # of a decision before them
        results.enter(event)
        if isinstance(event, Decided):
            actions.append(event.action)
    results.close_due(now)
    return [
        Earned(action, results[number].reward)
        for number, action in enumerate(actions)
        if results[number].active
    ]


def actions_table(standing: list[str], shown: list[Earned]) -> str:
    """Return a table of the actions, the most often chosen first; marked if they are gone."""
    groups: dict[str, list[float | None]] = {name: [] for name in standing}
    for one in shown:
        groups.setdefault(one.action, []).append(one.reward)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    rows = [
        [
            name if name in standing else f"{name} (not on offer now)",
            len(rewards),
            bar(len(rewards) / len(shown)),
            mean_of([x for x in rewards if x is not None]),
        ]
        for name, rewards in ordered[:SHOWN]
    ]
    shown_table = table(["action", "decisions", "share", "mean reward"], rows)
    return shown_table + and_more(len(ordered) - len(rows), "action")


def mean_of(rewards: list[float]) -> float:
    return float(np.mean(rewards)) if rewards else float("nan")
