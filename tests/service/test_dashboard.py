"""The pages of experiments: what is counted, and what is said of it."""

import html
import itertools
import math
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ensample as es
from ensample.evaluation.sequences import LowerBound
from ensample.experiments.events import Decided, Event
from ensample.experiments.mixture import Mixture
from ensample.experiments.storage.base import Snapshot
from ensample.service.dashboard import counter
from ensample.service.dashboard.joining import Delays
from ensample.service.dashboard.lift import ActionMeans, Lift, against_action, against_chance
from ensample.service.dashboard.summary import OTHERS, Summary
from ensample.service.dashboard.view import lift_words, looks, provisional_looks
from service.conftest import SHOP, Serve, Served, until

PAGE = "/experiments/shop"
ACTIONS = ["a", "b", "c"]
SMALL = es.EnsembleSampling(size=10)


def played(rounds: int = 400, seed: int = 1, **settings: Any) -> es.Experiment:
    """An experiment in memory that has met everything: late rewards, strangers, duplicates, decisions never shown."""
    rng, now = random.Random(seed), itertools.count(1_790_000_000, 600)
    moment = [0.0]
    given = {
        "reward": es.Reward(wait="2 h", default=0),
        "floor": 0.1,
        "baseline": ("a", 0.2),
        "seed": seed,
    } | settings
    experiment = es.Experiment(
        "shop", actions=ACTIONS, recipe=SMALL, clock=lambda: moment[0], **given
    )
    for number in range(rounds):
        moment[0] = float(next(now))
        narrow = ["a", "b"] if number % 7 == 0 else None
        decision = experiment.decide(actions=narrow, id=f"q{number}", active=number % 11 != 0)
        back = rng.randrange(20)  # 10 minutes each: some are late
        if rng.random() < 0.7 and back <= number:
            experiment.reward(
                f"q{number - back}", float(rng.random() < 0.3 + 0.3 * (decision.action == "b"))
            )
        if number % 40 == 0:
            experiment.reward(f"x{number}", 1)
    return experiment


def summary_of(experiment: es.Experiment, events: "list[Event] | None" = None) -> Summary:
    summary = Summary(experiment.settings)
    for event in list(experiment.engine.events()) if events is None else events:
        summary.enter(event)
    summary.flush()
    return summary


@pytest.fixture(scope="module")
def shop_experiment() -> es.Experiment:
    return played()


def test_a_summary_is_what_the_log_says(shop_experiment: es.Experiment) -> None:
    log, summary = shop_experiment.log().to_dicts(), summary_of(shop_experiment)
    assert summary.seq == shop_experiment.events and summary.decisions == len(log)
    for name, place in summary.actions.items():
        assert summary.chosen[place] == sum(row["action"] == name for row in log)
    assert summary.drawn == {
        who: sum(row["drawn"] == who for row in log) for who in ("policy", "floor", "baseline")
    }
    weights = [1.0 / (len(row["offer"]) * row["propensity"]) for row in log]
    assert summary.effective == pytest.approx(
        sum(weights) ** 2 / sum(weight**2 for weight in weights)
    )
    standings = {row.name: row for row in summary.check.standings()}
    for name in ACTIONS:
        known = [
            row["propensities"][row["offer"].index(name)] for row in log if name in row["offer"]
        ]
        assert standings[name].expected == pytest.approx(sum(known))
    assert (
        summary.check.rows == summary.draws.rows == summary.heights.rows == len(log)
        and summary.holds
    )
    assert sum(row.chosen for row in summary.heights.standings()) == len(log)


def final(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows whose wait was over at the last decision."""
    return [row for row in log if row["time"] + timedelta(hours=2) < log[-1]["time"]]


def test_rewards_are_joined_as_the_log_has_them(shop_experiment: es.Experiment) -> None:
    log, summary = shop_experiment.log().to_dicts(), summary_of(shop_experiment)
    settled = final(log)
    assert 100 < len(settled) < len(log), "the last ones are within their wait"
    rewards = [row["reward"] for row in settled if row["reward"] is not None]
    assert (summary.rewarded, summary.total) == (len(rewards), pytest.approx(sum(rewards)))
    shown = [row for row in settled if row["active"]]
    came = sum(row["outcome"] == "applied" for row in shown)
    assert summary.joining.rate == came / len(shown) and 0.2 < came / len(shown) < 0.9
    assert summary.joining.waiting == shop_experiment.waiting
    held = [
        row["reward"] for row in settled if row["drawn"] == "baseline" and row["reward"] is not None
    ]
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    assert sum(stretch.held_total for stretch in stretches) == pytest.approx(sum(held))
    assert (
        sum(stretch.decisions for stretch in stretches) == len(log)
        and sum(s.total for s in stretches) == summary.total
    )
    delays = [
        (row["reward_time"] - row["time"]).total_seconds()
        for row in log
        if row["outcome"] == "applied"
    ]
    assert sum(summary.joining.delays.counts) == len(delays)
    half = summary.joining.delays.quantile(0.5)
    assert half is not None and half / 2.001 <= float(np.median(delays)) <= 2.001 * half


def test_the_lift_is_that_of_its_formula_row_by_row(shop_experiment: es.Experiment) -> None:
    log, summary = shop_experiment.log().to_dicts(), summary_of(shop_experiment)
    lower, upper, total, rows, share = LowerBound(), LowerBound(), 0.0, 0, 0.2
    for row in final(log):
        if row["reward"] is None:
            continue
        offer, p, c = row["offer"], row["propensities"], (total + 0.5) / (rows + 1)
        gains = [
            ((p[k] - share * (name == "a")) / (1 - share) - (name == "a")) / p[k]
            for k, name in enumerate(offer)
        ]
        phi = gains[offer.index(row["action"])] * (row["reward"] - c)
        lower.add(np.array([phi]), min(min(g * (0 - c), g * (1 - c)) for g in gains))
        upper.add(np.array([-phi]), min(min(-g * (0 - c), -g * (1 - c)) for g in gains))
        total, rows = total + row["reward"], rows + 1
    found = summary.lift.now()
    assert found.rows == rows and found.value == pytest.approx(lower.mean)
    assert found.low == pytest.approx(lower.at(0.025), abs=1e-3) and found.high == pytest.approx(
        -upper.at(0.025), abs=1e-3
    )


@pytest.mark.parametrize("reference", ["baseline", "uniform"])
def test_the_lift_is_unbiased_and_never_below_what_is_said(reference: str) -> None:
    rng = np.random.default_rng(5)
    for arms in (2, 3, 7):
        w, means = rng.dirichlet(np.full(arms, 0.5)), rng.random(arms)
        held = reference == "baseline"
        mixture = Mixture(0.1, 0.2 if held else 0.0, 1 if held else None, arms)
        p = mixture.propensities(w.tolist())
        gains = [
            against_action(p, k, 1, 0.2) if held else against_chance(p, k) for k in range(arms)
        ]
        own = 0.9 * w + 0.1 / arms
        other = means[1] if held else means.mean()
        assert sum(p[k] * gains[k].d for k in range(arms)) == pytest.approx(0.0, abs=1e-12)
        assert sum(p[k] * gains[k].d * means[k] for k in range(arms)) == pytest.approx(
            own @ means - other
        )
        assert all(-gain.down - 1e-9 <= gain.d <= gain.up + 1e-9 for gain in gains)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_a_lift_is_not_shown_where_none_can_be(reward: float) -> None:
    """One decision that was held out with d = -10: its phi is 5 or -5, and rewards lie within 1 of each other."""
    lift = Lift()
    lift.add(against_action([0.9, 0.1], 1, baseline=1, share=0.1), reward)
    lift.flush()
    found = lift.now()
    assert abs(lift.lower.mean) == 5.0
    assert (found.value, found.low, found.high) == (
        (1.0, -1.0, 1.0) if reward == 0.0 else (-1.0, -1.0, 1.0)
    )


def test_one_decision_is_one_decision() -> None:
    experiment = es.Experiment("shop", actions=["a", "b"], baseline=("a", 0.5))
    experiment.reward(experiment.decide(), 1)
    summary = summary_of(experiment)
    assert lift_words(summary, looks(summary)).endswith("over 1 decision.")


def waiting_shop(now: list[float], decisions: int, default: float | None = 0.0) -> es.Experiment:
    """Return an experiment with a decision a second, every fourth rewarded at once, and a wait of 30 minutes."""
    rules = es.Reward(-1, 3, wait="30 min", default=default)
    experiment = es.Experiment(
        "shop", actions=["a", "b"], baseline=("a", 0.3), reward=rules, clock=lambda: now[0], seed=1
    )
    for number in range(decisions):
        now[0] += 1.0
        decision = experiment.decide()
        if number % 4 == 0:
            experiment.reward(decision, 3)
    return experiment


def test_rewards_that_came_early_do_not_count_before_the_wait_is_over() -> None:
    """The first two of five decisions had rewards at once: their mean says nothing of the others."""
    experiment = es.Experiment(
        "shop",
        actions=["a", "b"],
        baseline=("a", 0.3),
        reward=es.Reward(wait=60, default=0),
        clock=lambda: 0.0,
        seed=1,
    )
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
    summary = summary_of(experiment)
    log = experiment.log().to_dicts()
    rewards = [0.0 if row["reward"] is None else row["reward"] for row in log]
    stretches = [stretch for _, stretch in summary.timeline.stretches()]
    assert sum(stretch.open for stretch in stretches) == summary.joining.within == 1_801
    assert summary.total + sum(stretch.open_total for stretch in stretches) == pytest.approx(
        sum(rewards)
    )
    scaled = [(reward + 1) / 4 for reward in rewards]
    gains = [
        against_action(
            row["propensities"], row["offer"].index(row["action"]), row["offer"].index("a"), 0.3
        ).d
        for row in log
    ]
    last = provisional_looks(summary)[-1]
    open_part = range(summary.lift.lower.count, len(log))
    expected = summary.lift.lower.total + sum(
        gains[i] * (scaled[i] - np.mean(scaled)) for i in open_part
    )
    assert last.rows == len(log) and last.value == pytest.approx(expected / len(log))
    summary.settle(int((now[0] + 1_801) * 1e6))
    summary.flush()
    assert summary.joining.within == 0 and provisional_looks(summary) == []
    assert (summary.rewarded, summary.total) == (2_400, pytest.approx(sum(rewards)))
    assert all(stretch.open == stretch.open_gains == 0 for stretch in stretches)


def test_without_a_default_nothing_is_provisional() -> None:
    summary = summary_of(waiting_shop([1_790_000_000.0], 100, default=None))
    assert summary.joining.within == 100 and provisional_looks(summary) == []
    assert all(stretch.open == 0 for _, stretch in summary.timeline.stretches())


def test_mean_reward_of_each_action_is_that_of_the_log(shop_experiment: es.Experiment) -> None:
    log, summary = shop_experiment.log().to_dicts(), summary_of(shop_experiment)
    for name, place in summary.actions.items():
        rewards = [
            row["reward"]
            for row in final(log)
            if row["action"] == name and row["reward"] is not None
        ]
        found, bound = summary.means[place], LowerBound()
        assert (
            found is not None
            and found.rows == len(rewards)
            and found.value == pytest.approx(np.mean(rewards))
        )
        bound.add(np.array(rewards), 0.0)
        assert (
            found.low == pytest.approx(max(bound.at(0.025), 0.0), abs=1e-3)
            and found.low <= found.value <= found.high
        )


def test_intervals_of_action_means_hold_at_all_times() -> None:
    """Ever missed by 5% of 200 runs at most: more than 24 would be seen once in 10,000. Those of half the width miss more."""
    rng, missed, narrow = np.random.default_rng(7), 0, 0
    for _ in range(200):
        means, out, out_of_half = ActionMeans(), False, False
        for rewards in (rng.random((40, 16)) < 0.3).astype(float):
            for reward in rewards:
                means.add(0, reward)
            means.flush()
            found = means[0]
            assert found is not None
            out |= not found.low <= 0.3 <= found.high
            out_of_half |= abs(found.value - 0.3) > (found.high - found.low) / 8
        missed, narrow = missed + out, narrow + out_of_half
    assert missed <= 24 < narrow


def test_page_says_which_decisions_do_not_count_yet(serve: Serve) -> None:
    client = serve()
    rules = {"low": 0, "high": 1, "wait": "30 min", "default": 0}
    client.put("/v1/experiments/shop", json=SHOP | {"baseline": ["a", 0.3], "reward": rules})
    experiment = client.service.catalog["shop"].experiment
    start = experiment.now() / 1e6
    traffic(client)  # of which 51 are rewarded at once
    text = client.get(PAGE).text
    assert (
        "60 decisions may still get a reward (wait: 30 min)" in text
        and "the line is provisional" in text
    )
    assert "provisional: decisions within their wait count as 0" in text
    assert "provisional 0.417 over 60" in text, "25 of 60"
    events = experiment.events
    experiment.engine.clock = lambda: start + 3_600
    text = client.get(PAGE).text
    assert "within their" not in text and "provisional" not in text and "over 60 decisions" in text
    assert "Mean reward of each action" in text and experiment.events == events, (
        "looking writes nothing"
    )


def changed(experiment: es.Experiment, change: Any) -> Iterator[Event]:
    for event in experiment.engine.events():
        yield event._replace(propensities=change(event)) if isinstance(event, Decided) else event


def test_a_wrong_log_of_propensities_is_found_and_a_right_one_is_not() -> None:
    experiment = played(1_500, floor=0.2)
    assert summary_of(experiment).holds

    def without_holdout(event: Decided) -> list[float]:
        return [
            (p - 0.2 * (name == "a")) / 0.8
            for name, p in zip(event.offer, event.propensities, strict=True)
        ]

    def exchanged(event: Decided) -> list[float]:
        return [event.propensities[1], event.propensities[0], *event.propensities[2:]]

    for wrong in (without_holdout, exchanged):
        found = summary_of(experiment, list(changed(experiment, wrong)))
        assert not found.holds and found.draws.holds, wrong.__name__


def test_a_draw_that_is_not_what_it_says_is_found() -> None:
    experiment = played(1_500, floor=0.2)
    events = [
        event._replace(drawn="policy") if isinstance(event, Decided) else event
        for event in experiment.engine.events()
    ]
    assert not summary_of(experiment, events).draws.holds


def test_disagreement_is_the_chance_that_two_members_differ(shop_experiment: es.Experiment) -> None:
    rows = shop_experiment.log().to_dicts()
    expected = 0.0
    for row in rows:
        mixture = Mixture(0.1, 0.2, row["offer"].index("a"), len(row["offer"]))
        expected += 1.0 - sum(w * w for w in mixture.weights(row["propensities"]))
    stretches = summary_of(shop_experiment).timeline.stretches()
    assert sum(stretch.disagreement for _, stretch in stretches) == pytest.approx(expected)


def test_many_actions_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ensample.service.dashboard.summary.NAMES", 4)
    experiment = es.Experiment("news", recipe=SMALL, floor=0.3)
    for number in range(60):
        experiment.decide(actions=[f"n{number // 10}", f"n{number // 10 + 1}", "old"])
    summary = summary_of(experiment)
    assert (
        list(summary.actions)[-1] == OTHERS
        and len(summary.actions) == 5
        and sum(summary.chosen) == 60
    )
    assert summary.holds and summary.check.rows == 60 and not summary.check.impossible


def test_delays_are_counted_by_factors_of_two() -> None:
    delays = Delays()
    for seconds in (-5.0, 0.0, 0.0005, 0.003, 3.0, 1e30):
        delays.add(int(seconds * 1e6))
    assert (
        sum(delays.counts) == 6
        and delays.quantile(0.5) == 0.001
        and math.isfinite(delays.quantile(1.0) or math.inf)
    )
    assert Delays().quantile(0.5) is None


def traffic(client: Served, rounds: int = 60) -> None:
    asked = [{"id": f"q{number}", "context": {"age": number % 3}} for number in range(rounds)]
    client.post("/v1/experiments/shop/decide", json=asked)
    client.post(
        "/v1/experiments/shop/rewards",
        json=[{"id": f"q{number}", "value": number % 2} for number in range(rounds - 9)],
    )


def test_the_pages_say_what_happened(serve: Serve) -> None:
    client = serve()
    assert "curl -X PUT" in client.get("/").text, "what to do where there is nothing"
    client.put("/v1/experiments/shop", json=SHOP | {"baseline": ["a", 0.2]})
    assert "/v1/experiments/shop/decide" in client.get(PAGE).text, (
        "what to do where nothing was decided"
    )
    traffic(client)
    found = client.get(PAGE)
    policy = found.headers["content-security-policy"]
    assert found.status_code == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    for words in (
        "Lift over the holdout, a",
        "Within all bounds",
        "Votes now",
        "51 decisions",
        "Floor hits",
        "85.0%",
    ):
        assert words in found.text, words
    assert (
        "style=" not in found.text and "<script>" not in found.text and "onclick" not in found.text
    )
    assert ">60<" in client.get("/").text
    client.post("/v1/experiments/shop/pause", json={})
    assert "paused" in client.get(PAGE).text and "paused" in client.get("/").text
    assert client.get("/experiments/none").status_code == 404


def test_a_service_that_logs_wrong_propensities_says_so(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Mixture.propensities
    for fault in (False, True):
        client = serve(folder=f"data{fault}")
        client.put("/v1/experiments/shop", json=SHOP | {"baseline": ["a", 0.5]})
        if fault:  # the holdout is drawn, and not in the propensities
            monkeypatch.setattr(
                Mixture,
                "propensities",
                lambda self, w: right(self._replace(share=0.0, baseline=None), w),
            )
        for part in range(3):
            asked = [{"id": f"q{part}-{number}"} for number in range(200)]
            decided = client.post("/v1/experiments/shop/decide", json=asked).json()
            rewards = [
                {"id": each["id"], "value": float(each["action"] == "b")} for each in decided
            ]
            client.post("/v1/experiments/shop/rewards", json=rewards)
        said = client.get(PAGE).text
        assert ("propensities are wrong" in said) is fault and (
            "Within all bounds" in said
        ) is not fault


def test_names_are_words_and_nothing_else(serve: Serve) -> None:
    client = serve()
    evil = [
        '<script>alert("1")</script>',
        "</svg><img src=x onerror=alert(2)>",
        '" onmouseover="alert(3)',
        "{{ 7 * 7 }}",
        "é‏x",
    ]
    client.put("/v1/experiments/shop", json=SHOP | {"actions": evil, "baseline": [evil[0], 0.3]})
    traffic(client, 40)
    text = client.get(PAGE).text
    for name in evil[:3]:
        assert name not in text
        assert html.escape(name, quote=False) in html.unescape(text).replace(
            name, html.escape(name, quote=False)
        )
    assert ">49<" not in text and "{{ 7 * 7 }}" in text


def test_pages_need_a_key_and_show_what_it_is_for(shop: Served) -> None:
    shop.put("/v1/experiments/other", json=SHOP)
    keys = {role: shop.key(role) for role in ("read", "decide")}
    bound = shop.key("read", "other")
    for path in ("/", PAGE, "/static/dashboard.js", "/static/colours.css"):
        assert shop.get(path).status_code == 401 and shop.get(path).headers[
            "www-authenticate"
        ].startswith("Basic")
        assert shop.get(path, auth=("", keys["read"])).status_code == 200
        assert shop.get(path, auth=("", keys["decide"])).status_code == 403
    listed = shop.get("/", auth=("", bound)).text
    assert "other" in listed and "shop" not in listed
    assert shop.get(PAGE, auth=("", bound)).status_code == 403
    assert shop.get("/experiments/other", auth=("", bound)).status_code == 200


def test_a_look_counts_for_a_while_and_goes_on_the_next_time(
    shop: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter.Counter, "go_along", lambda *_: None)  # only those who look count
    traffic(shop)
    experiment = shop.service.catalog["shop"].experiment
    along = counter.counter_of(
        experiment
    ).summary.seq  # the event of its beginning may have been, before
    assert along <= 1
    looks = []
    for _ in range(8):
        found, _ = counter.counted(experiment, budget=-1.0)
        looks.append(found.summary.seq)
        if found.done == 1.0:
            break
    assert looks == [*range(along + 25, 102, 25), experiment.events]
    whole = summary_of(experiment)
    assert found.summary.chosen == whole.chosen and found.summary.total == whole.total
    assert found.summary.lift.now().value == pytest.approx(whole.lift.now().value)
    assert "Counting" not in shop.get(PAGE).text
    traffic(shop, 10)
    monkeypatch.setattr(counter, "BUDGET", 0.0)
    assert counter.counter_of(experiment) is found


def test_it_is_counted_before_anybody_looks(shop: Served) -> None:
    traffic(shop)
    experiment = shop.service.catalog["shop"].experiment
    assert until(lambda: counter.counter_of(experiment).summary.seq == experiment.events)


def test_nobody_who_calls_waits_for_what_is_counted_along(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, other = played(), played(10)
    found, enter = counter.counter_of(experiment), Summary.enter

    def entered(summary: Summary, event: Event) -> None:
        enter(summary, event)
        if summary.seq == 60:
            other.reward("q1", 1)

    monkeypatch.setattr(Summary, "enter", entered)
    counter.count_along([other, experiment], math.inf)
    assert found.summary.seq == 75, "the next time that it was asked"
    counter.count_along([experiment, other], budget=-1.0)
    assert found.summary.seq == 100
    with found.lock:
        counter.count_along([experiment], math.inf)  # somebody looks
    assert found.summary.seq == 100
    monkeypatch.setattr(found, "_awaited", True)  # somebody wants to
    counter.count_along([experiment], math.inf)
    assert found.summary.seq == 125
    monkeypatch.setattr(found, "_awaited", False)
    counter.count_along([experiment], math.inf)
    assert (
        found.summary.seq == experiment.events
        and found.summary.chosen == summary_of(experiment).chosen
    )


def test_several_who_look_at_once_count_once(shop: Served) -> None:
    traffic(shop)
    experiment = shop.service.catalog["shop"].experiment
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: counter.counted(experiment)[0], range(8)))
    assert (
        len(set(map(id, found))) == 1 and found[0].summary.chosen == summary_of(experiment).chosen
    )


def test_what_cannot_be_kept_is_told(shop: Served) -> None:
    shop.service.catalog.broken["attic"] = "SnapshotError"
    assert "Cannot be kept at the moment: attic" in shop.get("/").text
    bound = shop.key("read", "shop")
    assert "attic" not in shop.get("/", auth=("", bound)).text
    shop.service.catalog.broken.clear()


def test_the_last_hash_is_computed_again(serve: Serve, tmp_path: Path) -> None:
    client = serve(snapshot_every=50)
    client.put("/v1/experiments/shop", json=SHOP)
    assert (
        "no snapshot yet" in html.unescape(client.get(PAGE).text)
        or "No decision" in client.get(PAGE).text
    )
    traffic(client)
    experiment = client.service.catalog["shop"].experiment

    def asked() -> list[Snapshot]:
        """One that was made meanwhile is kept with the next event."""
        client.post("/v1/experiments/shop/decide", json={})
        return list(experiment.reader().snapshots())

    assert until(asked)
    text, last = client.get(PAGE).text, next(iter(experiment.reader().snapshots()))
    assert last.hash[:16] in text and f"after {last.seq} events; the snapshot fits it" in text


def test_commits_are_told_as_they_were(shop: Served) -> None:
    traffic(shop)
    found = shop.service.metrics.commit_latency("shop")
    assert (
        found.commits >= 2
        and found.median is not None
        and found.slowest is not None
        and found.median <= found.slowest
    )
    assert shop.service.metrics.commit_latency("none") == (0, None, None)
