"""The pages of experiments: what is said, to whom, and that counting keeps nobody waiting."""

import html
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ensample.experiments.events import Event
from ensample.experiments.mixture import Mixture
from ensample.experiments.storage.base import Snapshot
from ensample.service.dashboard import counter
from ensample.service.dashboard.summary import Summary
from service.conftest import SHOP, Serve, Served, until
from service.test_dashboard_sums import played, summary_of

PAGE = "/experiments/shop"


def traffic(client: Served, rounds: int = 60) -> None:
    asked = [{"id": f"q{number}", "context": {"age": number % 3}} for number in range(rounds)]
    client.ask("decide", asked)
    rewards = [{"id": f"q{number}", "value": number % 2} for number in range(rounds - 9)]
    client.ask("rewards", rewards)


def test_page_says_which_decisions_do_not_count_yet(serve: Serve) -> None:
    rules = {"low": 0, "high": 1, "wait": "30 min", "default": 0}
    client = serve(shop=SHOP | {"baseline": ["a", 0.3], "reward": rules})
    experiment = client.experiment
    start = experiment.now() / 1e6
    traffic(client)  # of which 51 are rewarded at once
    text = client.get(PAGE).text
    for words in (
        "60 decisions may still get a reward (wait: 30 min)",
        "the line is provisional",
        "provisional: decisions within their wait count as 0",
        "provisional 0.417 over 60",  # 25 of 60
    ):
        assert words in text
    events = experiment.events
    experiment.engine.clock = lambda: start + 3_600
    text = client.get(PAGE).text
    assert "within their" not in text and "provisional" not in text and "over 60 decisions" in text
    assert "Mean reward of each action" in text
    assert experiment.events == events, "looking writes nothing"


def test_the_pages_say_what_happened(serve: Serve) -> None:
    client = serve()
    assert "curl -X PUT" in client.get("/").text, "what to do where there is nothing"
    client.make(SHOP | {"baseline": ["a", 0.2]})
    assert "/v1/experiments/shop/decide" in client.get(PAGE).text
    traffic(client)
    found = client.get(PAGE)
    policy = found.headers["content-security-policy"]
    assert found.status_code == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    said = ("Lift over the holdout, a", "Within all bounds", "Votes now", "51 decisions", "85.0%")
    assert all(words in found.text for words in (*said, "Floor hits"))
    assert not any(code in found.text for code in ("style=", "<script>", "onclick"))
    assert ">60<" in client.get("/").text
    client.ask("pause", {})
    assert "paused" in client.get(PAGE).text and "paused" in client.get("/").text
    assert client.get("/experiments/none").status_code == 404


@pytest.mark.parametrize("fault", [False, True])
def test_a_service_that_logs_wrong_propensities_says_so(
    fault: bool, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Mixture.propensities
    client = serve(shop=SHOP | {"baseline": ["a", 0.5]})
    if fault:  # the holdout is drawn, and not in the propensities
        wrong = lambda self, w: right(self._replace(share=0.0, baseline=None), w)  # noqa: E731
        monkeypatch.setattr(Mixture, "propensities", wrong)
    for part in range(3):
        decided = client.ask("decide", [{"id": f"q{part}-{number}"} for number in range(200)])
        rewards = [{"id": each["id"], "value": float(each["action"] == "b")} for each in decided]
        client.ask("rewards", rewards)
    text = client.get(PAGE).text
    assert ("propensities are wrong" in text) is fault
    assert ("Within all bounds" in text) is not fault


def test_names_are_words_and_nothing_else(serve: Serve) -> None:
    evil = [
        '<script>alert("1")</script>',
        "</svg><img src=x onerror=alert(2)>",
        '" onmouseover="alert(3)',
        "{{ 7 * 7 }}",
        "é‏x",
    ]
    client = serve(shop=SHOP | {"actions": evil, "baseline": [evil[0], 0.3]})
    traffic(client, 40)
    text = client.get(PAGE).text
    for name in evil[:3]:
        assert name not in text and name in html.unescape(text)
    assert ">49<" not in text and "{{ 7 * 7 }}" in text


def test_pages_need_a_key_and_show_what_it_is_for(shop: Served) -> None:
    shop.put("/v1/experiments/other", json=SHOP)
    keys = {role: shop.key(role) for role in ("read", "decide")}
    bound = shop.key("read", "other")
    for path in ("/", PAGE, "/static/dashboard.js", "/static/uplot.js", "/static/colours.css"):
        refused = shop.get(path)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Basic")
        assert shop.get(path, auth=("", keys["read"])).status_code == 200
        assert shop.get(path, auth=("", keys["decide"])).status_code == 403
    listed = shop.get("/", auth=("", bound)).text
    assert "other" in listed and "shop" not in listed
    assert shop.get(PAGE, auth=("", bound)).status_code == 403
    assert shop.get("/experiments/other", auth=("", bound)).status_code == 200


def test_what_cannot_be_kept_is_told(shop: Served) -> None:
    shop.service.catalog.broken["attic"] = "SnapshotError"
    assert "Cannot be kept at the moment: attic" in shop.get("/").text
    assert "attic" not in shop.get("/", auth=("", shop.key("read", "shop"))).text
    shop.service.catalog.broken.clear()


def test_the_last_hash_is_computed_again(serve: Serve) -> None:
    client = serve(snapshot_every=50, shop=SHOP)
    traffic(client)

    def asked() -> list[Snapshot]:
        """One that was made meanwhile is kept with the next event."""
        client.decide()
        return list(client.experiment.reader().snapshots())

    assert until(asked)
    text, last = client.get(PAGE).text, next(iter(client.experiment.reader().snapshots()))
    assert last.hash[:16] in text and f"after {last.seq} events; the snapshot fits it" in text


def test_a_look_counts_for_a_while_and_goes_on_the_next_time(
    shop: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter.Counter, "go_along", lambda *_: None)  # only those who look count
    traffic(shop)
    experiment = shop.experiment
    along = counter.counter_of(experiment).summary.seq  # the first event may have been, before
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
    assert "Counting" not in shop.get(PAGE).text and counter.counter_of(experiment) is found


def test_it_is_counted_before_anybody_looks(shop: Served) -> None:
    traffic(shop)
    experiment = shop.experiment
    assert until(lambda: counter.counter_of(experiment).summary.seq == experiment.events)


def test_nobody_who_calls_waits_for_what_is_counted_along(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment, other = played(), played(10)
    found, enter = counter.counter_of(experiment), Summary.enter

    def entered(summary: Summary, event: Event) -> None:
        enter(summary, event)
        if summary.seq == 60:
            other.reward("q1", 1)

    def seq_after(*experiments: Any, budget: float = math.inf) -> int:
        counter.count_along(experiments, budget)
        return found.summary.seq

    monkeypatch.setattr(Summary, "enter", entered)
    assert seq_after(other, experiment) == 75, "the next time that it was asked"
    assert seq_after(experiment, other, budget=-1.0) == 100
    with found.lock:
        assert seq_after(experiment) == 100  # somebody looks
    monkeypatch.setattr(found, "_awaited", True)  # somebody wants to
    assert seq_after(experiment) == 125
    monkeypatch.setattr(found, "_awaited", False)
    assert seq_after(experiment) == experiment.events
    assert found.summary.chosen == summary_of(experiment).chosen


def test_several_who_look_at_once_count_once(shop: Served) -> None:
    traffic(shop)
    experiment = shop.experiment
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: counter.counted(experiment)[0], range(8)))
    assert len(set(map(id, found))) == 1
    assert found[0].summary.chosen == summary_of(experiment).chosen
