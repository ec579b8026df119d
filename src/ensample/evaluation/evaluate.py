"""`evaluate(log, target)`: what another policy would have earned."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ensample.checks import number
from ensample.errors import InvalidArgument
from ensample.evaluation.evaluation import Evaluation, Look
from ensample.evaluation.learners import Question, chosen_target
from ensample.evaluation.logged import Columns, LoggedData, Missing, reading
from ensample.evaluation.reading import here, on_cluster
from ensample.evaluation.segments import Segments
from ensample.evaluation.tally import Interval, RowSums
from ensample.evaluation.work import EvaluationWork, pieces

Progress = Callable[[int, int], None]


def evaluate(
    log: Any,
    target: Any = "logged",
    *,
    low: float | None = None,
    high: float | None = None,
    alarm: float = 0.05,
    interval: Interval = "sequence",
    segments: str | None = None,
    columns: Columns | None = None,
    least_propensity: float | None = None,
    reward_model: Callable[[list[Any], list[str]], Any] | None = None,
    missing: Missing = "cut",
    question: Question = "progressive",
    cluster: str | None = None,
    cluster_security: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """What `target` would have earned on a log, by IPS, SNIPS, DM and DR, each with its interval.

    `target`: "uniform", "logged", "action:NAME", a function (docs/evaluation.md: of contexts, names of actions and what was on
    offer), an `Experiment` or a `Policy` as it is, or a recipe, with a `question`: "progressive" or "replay"
    (`ensample.evaluation.learners`).
    Rewards lie in [low, high]; where these are not given they are what the log says (`reward_low`, `reward_high`: one of an
    experiment does), else [0, 1] or, where rewards beyond it were seen, as far as these go, which an `Evaluation` warns of.

    Where decisions still wait for their rewards (`outcome` is "waiting"), the log ends at the first of them: what comes later
    is rewarded in part, clicks first. `missing="drop"` leaves out only the decisions without a reward, and `missing="zero"`
    counts each of them that was shown as 0, whether it waits or its wait is over: for rewards that come only where there is
    something to reward. In a log without a column `outcome` a reward that is null is one that never came: "cut" is "drop".

    The default interval is a confidence sequence (`ensample.evaluation.sequences`): valid for logs of policies that learn, and
    however often one looks, with probability 1 - alarm for each estimate. `interval="normal"` is narrower, and right only for
    logs of a policy that does not learn, looked at once.

    `columns` are the log's names for ours: {"action": "arm", "context": ["country", "age"]}; a context may be several of them.
    `segments` is a column, or a field of the contexts ("device", "user.country"): the same for each of its values.
    `least_propensity` is what no propensity is below, for logs that have only those of the actions chosen: DR's sequence needs
    to know. `reward_model`, a function of (contexts, names of actions) that gives rewards [n, K], takes the place of our own in
    DM and DR; it must not have seen the rewards of the log.

    A log in a file may be larger than memory. `cluster` is the address of a Dask scheduler, or "local", whose workers read it.

    >>> import polars as pl
    >>> rows = {"action": ["a", "b"] * 500, "propensity": [0.5] * 1000, "reward": [1.0, 0.0] * 500}
    >>> found = evaluate(pl.DataFrame(rows), "action:a", low=0, high=1)
    >>> found["ips"].value, found["snips"].value
    (1.0, 1.0)
    >>> found["ips"].low < 1.0 <= found["ips"].high
    True

    References: see `ensample.evaluation.estimators`.
    """
    alarm = number("alarm", alarm, 0.0, 1.0, above=0.0)
    if interval not in ("sequence", "normal"):
        raise InvalidArgument("interval", interval, '"sequence" or "normal"')
    asked = chosen_target(target, question)
    with reading(log):
        data = LoggedData(log, columns, low, high, missing)
        parts = Segments(segments, data)
    work = EvaluationWork(data, asked, least_propensity, reward_model)
    tally, looks = RowSums(), list[Look]()
    cuts = pieces(data.count, len(data.names))
    read = (
        here(data, cuts) if cluster is None else on_cluster(data, cuts, cluster, cluster_security)
    )
    for (_, stop), rows in read:
        weighed = work.weigh(rows)
        if len(rows.rewards):
            tally.add(weighed)
            parts.add(weighed, rows)
        if tally.rows:
            looks.append(
                Look(tally.rows, work.folds.corrected(tally.estimates(alarm, interval), tally.rows))
            )
        if progress is not None:
            progress(stop, data.count)
    caution = asked.caution(data)
    return Evaluation(
        asked.name,
        data,
        tally,
        looks,
        parts.parts,
        segments,
        alarm,
        interval,
        work.knows_all,
        caution,
    )
