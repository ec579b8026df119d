"""What is counted for the pages of experiments: every number is that of the log."""

import itertools
import math
import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import ensample as es
from ensample.evaluation.sequences import LowerBound
from ensample.experiments.events import Decided, Event
from ensample.experiments.mixture import Mixture
from ensample.service.dashboard.joining import Delays
from ensample.service.dashboard.lift import Lift, RewardMean, against_action, against_chance
from ensample.service.dashboard.summary import OTHERS, Summary
from ensample.service.dashboard.view import lift_words, looks, provisional_looks

ACTIONS = ["a", "b", "c"]
SMALL = es.EnsembleSampling(size=10)


def played(rounds: int = 400, seed: int = 1, **settings: Any) -> es.Experiment:
    """Return an experiment that has met late rewards, strangers, duplicates."""
    rng, moments, now = random.Random(seed), itertools.count(1_790_000_000, 600), [0.0]
    given = {"reward": es.Reward(wait="2 h", default=0), "floor": 0.1, "baseline": ("a", 0.2)}
    given |= {"seed": seed, "recipe": SMALL, "clock": lambda: now[0]} | settings
    experiment = es.Experiment("shop", actions=ACTIONS, **given)
    for number in range(rounds):
        now[0] = float(next(moments))
        narrow = ["a", "b"] if number % 7 == 0 else None
        decision = experiment.decide(actions=narrow, id=f"q{number}", active=number % 11 != 0)
        back = rng.randrange(20)  # 10 minutes each: some are late
        if rng.random() < 0.7 and back <= number:
            chance = 0.3 + 0.3 * (decision.action == "b")
            experiment.reward(f"q{number - back}", float(rng.random() < chance))
        if number % 40 == 0:
            experiment.reward(f"x{number}", 1)
    return experiment


def summary_of(experiment: es.Experiment, events: "list[Event] | None" = None) -> Summary:
    summary = Summary(experiment.settings)
    for event in experiment.engine.events() if events is None else events:
        summary.enter(event)
    summary.flush()
    return summary


@pytest.fixture(scope="module")
def shop_experiment() -> es.Experiment:
    return played()


@pytest.fixture(scope="module")
def log(shop_experiment: es.Experiment) -> list[dict[str, Any]]:
    return shop_experiment.log().to_dicts()


@pytest.fixture(scope="module")
def settled(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows whose wait was over at the last decision."""
    return [row for row in log if row["time"] + timedelta(hours=2) < log[-1]["time"]]


@pytest.fixture(scope="module")
def summary(shop_experiment: es.Experiment) -> Summary:
    return summary_of(shop_experiment)


def test_a_summary_is_what_the_log_says(shop_experiment, log, summary: Summary) -> None:
    assert summary.seq == shop_experiment.events and summary.decisions == len(log)
    for name, place in summary.actions.items():
        assert summary.chosen[place] == sum(row["action"] == name for row in log)
    for who in ("policy", "floor", "baseline"):
        assert summary.drawn[who] == sum(row["drawn"] == who for row in log)
    weights = np.array([1.0 / (len(row["offer"]) * row["propensity"]) for row in log])
    assert summary.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    standings = {row.name: row for row in summary.check.standings()}
    for name in ACTIONS:
        offered = [row for row in log if name in row["offer"]]
        known = [row["propensities"][row["offer"].index(name)] for row in offered]
        assert standings[name].expected == pytest.approx(sum(known))
    checks = (summary.check, summary.draws, summary.heights)
    assert [check.rows for check in checks] == [len(log)] * 3 and summary.holds
    assert sum(row.chosen for row in summary.heights.standings()) == len(log)


def test_rewards_are_joined_as_the_log_has_them(shop_experiment, log, settled, summary) -> None:
    assert 100 < len(settled) < len(log), "the last ones are within their wait"
    known = [row for row in settled if row["reward"] is not None]
    total = pytest.approx(sum(row["reward"] for row in known))
    assert (summary.rewarded, summary.total) == (len(known), total)
    shown = [row for row in settled if row["active"]]
    came = sum(row["outcome"] == "applied" for row in shown)
    assert summary.joining.rate == came / len(shown) and 0.2 < came / len(shown) < 0.9
    assert summary.joining.waiting == shop_experiment.waiting
    held = sum(row["reward"] for row in known if row["drawn"] == "baseline")
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    assert sum(stretch.held_total for stretch in stretches) == pytest.approx(held)
    assert sum(stretch.decisions for stretch in stretches) == len(log)
    assert sum(stretch.total for stretch in stretches) == summary.total
    applied = [row for row in log if row["outcome"] == "applied"]
    delays = [(row["reward_time"] - row["time"]).total_seconds() for row in applied]
    half, median = summary.joining.delays.quantile(0.5), float(np.median(delays))
    assert sum(summary.joining.delays.counts) == len(delays)
    assert half / 2.001 <= median <= 2.001 * half


def test_the_lift_is_that_of_its_formula_row_by_row(settled, summary: Summary) -> None:
    lower, upper, total, rows, share = LowerBound(), LowerBound(), 0.0, 0, 0.2
    for row in settled:
        if row["reward"] is None:
            continue
        offer, p, c = row["offer"], row["propensities"], (total + 0.5) / (rows + 1)
        held = [float(name == "a") for name in offer]
        gains = [((q - share * h) / (1 - share) - h) / q for q, h in zip(p, held, strict=True)]
        phi = gains[offer.index(row["action"])] * (row["reward"] - c)
        lower.add(np.array([phi]), min(min(g * (0 - c), g * (1 - c)) for g in gains))
        upper.add(np.array([-phi]), min(min(-g * (0 - c), -g * (1 - c)) for g in gains))
        total, rows = total + row["reward"], rows + 1
    found = summary.lift.now()
    assert found.rows == rows and found.value == pytest.approx(lower.mean)
    assert found.low == pytest.approx(lower.at(0.025), abs=1e-3)
    assert found.high == pytest.approx(-upper.at(0.025), abs=1e-3)


@pytest.mark.parametrize("held", [True, False])
def test_the_lift_is_unbiased_and_never_below_what_is_said(held: bool) -> None:
    rng = np.random.default_rng(5)
    for arms in (2, 3, 7):
        w, means = rng.dirichlet(np.full(arms, 0.5)), rng.random(arms)
        mixture = Mixture(0.1, 0.2 if held else 0.0, 1 if held else None, arms)
        p = mixture.propensities(w.tolist())
        gains = [
            against_action(p, k, 1, 0.2) if held else against_chance(p, k) for k in range(arms)
        ]
        d = np.array([gain.d for gain in gains])
        lift = (0.9 * w + 0.1 / arms) @ means - (means[1] if held else means.mean())
        assert p @ d == pytest.approx(0.0, abs=1e-12) and p @ (d * means) == pytest.approx(lift)
        assert all(-gain.down - 1e-9 <= gain.d <= gain.up + 1e-9 for gain in gains)


@pytest.mark.parametrize(("reward", "value"), [(0.0, 1.0), (1.0, -1.0)])
def test_a_lift_is_not_shown_where_none_can_be(reward: float, value: float) -> None:
    """One decision that was held out with d = -10: its phi is 5 or -5, and rewards lie within 1."""
    lift = Lift()
    lift.add(against_action([0.9, 0.1], 1, baseline=1, share=0.1), reward)
    lift.flush()
    found = lift.now()
    assert abs(lift.lower.mean) == 5.0
    assert (found.value, found.low, found.high) == (value, -1.0, 1.0)


def test_one_decision_is_one_decision() -> None:
    experiment = es.Experiment("shop", actions=["a", "b"], baseline=("a", 0.5))
    experiment.reward(experiment.decide(), 1)
    summary = summary_of(experiment)
    assert lift_words(looks(summary)[-1], 1.0).endswith("over 1 decision.")


def waiting_shop(now: list[float], decisions: int, default: float | None = 0.0) -> es.Experiment:
    """Return an experiment with a decision a second, every fourth rewarded at once."""
    rules = es.Reward(-1, 3, wait="30 min", default=default)
    given: dict[str, Any] = {"baseline": ("a", 0.3), "clock": lambda: now[0], "seed": 1}
    experiment = es.Experiment("shop", actions=["a", "b"], reward=rules, **given)
    for number in range(decisions):
        now[0] += 1.0
        decision = experiment.decide()
        if number % 4 == 0:
            experiment.reward(decision, 3)
    return experiment


def test_rewards_that_came_early_do_not_count_before_the_wait_is_over() -> None:
    """The first two of five decisions had rewards at once."""
    given: dict[str, Any] = {"baseline": ("a", 0.3), "clock": lambda: 0.0, "seed": 1}
    rules = es.Reward(wait=60, default=0)
    experiment = es.Experiment("shop", actions=["a", "b"], reward=rules, **given)
    for number in range(5):
        decision = experiment.decide(time=number)
        if number < 2:
            experiment.reward(decision, 1, time=number)
    summary = summary_of(experiment)
    assert (summary.rewarded, summary.joining.rate, looks(summary)) == (0, None, [])
    summary.settle(62_000_001)  # microseconds: the waits of the first three are over
    summary.flush()
    assert (summary.rewarded, summary.total, summary.joining.rate) == (3, 2.0, 2 / 3)
    assert [look.rows for look in looks(summary)] == [3] and summary.joining.within == 2


def test_provisional_figures_are_those_of_the_log_with_defaults() -> None:
    now = [1_790_000_000.0]
    experiment = waiting_shop(now, 2_400)
    summary, log = summary_of(experiment), experiment.log().to_dicts()
    rewards = np.array([0.0 if row["reward"] is None else row["reward"] for row in log])
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    assert sum(stretch.open for stretch in stretches) == summary.joining.within == 1_801
    with_open = summary.total + sum(stretch.open_total for stretch in stretches)
    assert with_open == pytest.approx(rewards.sum())

    def gain(row: dict[str, Any]) -> float:
        places = (row["offer"].index(row["action"]), row["offer"].index("a"))
        return float(against_action(row["propensities"], *places, 0.3).d)

    scaled, first = (rewards + 1) / 4, summary.lift.lower.count
    d = np.array([gain(row) for row in log])
    open_part = (d * (scaled - scaled.mean()))[first:].sum()
    last = provisional_looks(summary)[-1]
    expected = (summary.lift.lower.total + open_part) / len(log)
    assert last.rows == len(log) and last.value == pytest.approx(expected)
    summary.settle(int((now[0] + 1_801) * 1e6))
    summary.flush()
    assert summary.joining.within == 0 and provisional_looks(summary) == []
    assert (summary.rewarded, summary.total) == (2_400, pytest.approx(rewards.sum()))
    assert all(stretch.open == stretch.open_gains == 0 for stretch in stretches)


def test_without_a_default_nothing_is_provisional() -> None:
    summary = summary_of(waiting_shop([1_790_000_000.0], 100, default=None))
    assert summary.joining.within == 100 and provisional_looks(summary) == []
    assert all(stretch.open == 0 for _, stretch in summary.timeline.stretches())


def test_mean_reward_of_each_action_is_that_of_the_log(settled, summary: Summary) -> None:
    for name, place in summary.actions.items():
        mine = [row["reward"] for row in settled if row["action"] == name]
        rewards = np.array([reward for reward in mine if reward is not None])
        found, bound = summary.means[place].now(), LowerBound()
        bound.add(rewards, 0.0)
        assert found.rows == rewards.size
        assert found.value == pytest.approx(rewards.mean())
        assert found.low == pytest.approx(max(bound.at(0.025), 0.0), abs=1e-3)
        assert found.low <= found.value <= found.high


def test_intervals_of_action_means_hold_at_all_times() -> None:
    """Missed by 5% of runs at most: more than 24 of 200 would be seen once in 10,000."""
    rng, missed, narrow = np.random.default_rng(7), 0, 0
    for _ in range(200):
        mean, out, out_of_half = RewardMean(), False, False
        for rewards in (rng.random((40, 16)) < 0.3).astype(float):
            for reward in rewards:
                mean.add(reward)
            found = mean.now()
            out |= not found.low <= 0.3 <= found.high
            out_of_half |= abs(found.value - 0.3) > (found.high - found.low) / 8
        missed, narrow = missed + out, narrow + out_of_half
    assert missed <= 24 < narrow


def changed(experiment: es.Experiment, change: Callable[[Decided], Any]) -> list[Event]:
    """Return the events, with fields of decisions changed."""
    events = experiment.engine.events()
    return [
        event._replace(**change(event)) if isinstance(event, Decided) else event for event in events
    ]


def test_a_wrong_log_of_propensities_is_found_and_a_right_one_is_not() -> None:
    experiment = played(1_500, floor=0.2)
    assert summary_of(experiment).holds

    def without_holdout(event: Decided) -> Any:
        pairs = zip(event.offer, event.propensities, strict=True)
        return {"propensities": [(p - 0.2 * (name == "a")) / 0.8 for name, p in pairs]}

    def exchanged(event: Decided) -> Any:
        first, second, *rest = event.propensities
        return {"propensities": [second, first, *rest]}

    for wrong in (without_holdout, exchanged):
        found = summary_of(experiment, changed(experiment, wrong))
        assert not found.holds and found.draws.holds, wrong.__name__
    events = changed(experiment, lambda event: {"drawn": "policy"})
    assert not summary_of(experiment, events).draws.holds


def test_disagreement_is_the_chance_that_two_members_differ(log, summary: Summary) -> None:
    expected = 0.0
    for row in log:
        mixture = Mixture(0.1, 0.2, row["offer"].index("a"), len(row["offer"]))
        expected += 1.0 - sum(w * w for w in mixture.weights(row["propensities"]))
    stretches = summary.timeline.stretches()
    assert sum(stretch.disagreement for _, stretch in stretches) == pytest.approx(expected)


def test_many_actions_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensample.service.dashboard.summary.NAMES", 4)
    experiment = es.Experiment("news", recipe=SMALL, floor=0.3)
    for number in range(60):
        experiment.decide(actions=[f"n{number // 10}", f"n{number // 10 + 1}", "old"])
    summary = summary_of(experiment)
    assert list(summary.actions)[-1] == OTHERS and len(summary.actions) == 5
    assert sum(summary.chosen) == summary.check.rows == 60
    assert summary.holds and not summary.check.impossible


def test_delays_are_counted_by_factors_of_two() -> None:
    delays = Delays()
    for seconds in (-5.0, 0.0, 0.0005, 0.003, 3.0, 1e30):
        delays.add(int(seconds * 1e6))
    assert sum(delays.counts) == 6 and delays.quantile(0.5) == 0.001
    assert math.isfinite(delays.quantile(1.0) or math.inf) and Delays().quantile(0.5) is None
