"""Names and ids with control characters are refused everywhere, and change nothing."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import pytest

import ensample as es
import prompt
from ensample.client import Client
from experiments.places import SMALL
from service.conftest import SHOP, Served, serve, shop

__all__ = ["serve", "shop"]
SIGNS = ["\n", "\0", "\x1b", "\x7f", "\x85", "\u2028", "\u2029", "\u202e", "\u2066"]
ONE = "/v1/experiments/shop"


@pytest.mark.parametrize("sign", SIGNS)
def test_python_refuses_control_characters(sign: str) -> None:
    bad = f"a{sign}b"
    open_offers = es.Experiment("menu", recipe=SMALL)
    experiment = es.Experiment("news", actions=["a", "b"], recipe=SMALL)
    decision, calls = (
        experiment.decide(id="q"),
        [
            lambda: es.Experiment(bad, actions=["a", "b"]),
            lambda: es.Experiment("news", actions=["a", bad]),
            lambda: open_offers.decide(actions=["a", bad]),
            lambda: open_offers.learn(frame(bad)),
            lambda: experiment.decide(id=bad),
            lambda: experiment.add(bad),
            lambda: experiment.reward(bad, 1),
            lambda: experiment.reward(decision, 1, key=bad),
            lambda: experiment.reward(decision, 1, action=bad),
            lambda: experiment.activate(bad),
            lambda: experiment.decision(bad),
            lambda: experiment.explain(bad),
            lambda: es.Experiment(
                "news", actions=["a", "b"], recipe=SMALL, ids=lambda: bad
            ).decide(),
        ],
    )
    before = experiment.hash, experiment.events, open_offers.events
    for call in calls:
        with pytest.raises(es.InvalidArgument, match="without control characters"):
            call()
    assert (experiment.hash, experiment.events, open_offers.events) == before


def frame(action: str) -> Any:
    import polars as pl

    return pl.DataFrame({"age": [31], "action": [action], "reward": [1.0]})


def test_names_in_all_scripts_are_taken() -> None:
    names = ["política", "新闻", "a b", "éx", "א‏x", "\N{SLIGHTLY SMILING FACE}"]
    experiment = es.Experiment("журнал", actions=names, recipe=SMALL)
    assert experiment.reward(experiment.decide(id="visite n° 1"), 1) == "applied"


@pytest.mark.parametrize("sign", SIGNS)
def test_the_service_refuses_control_characters(sign: str, shop: Served) -> None:
    bad, quoted = f"a{sign}b", f"a{quote(sign)}b"
    shop.post(f"{ONE}/decide", json={"id": "q"})
    shop.put("/v1/experiments/menu", json={"recipe": SHOP["recipe"]})
    before = shop.service.catalog["shop"].experiment.events
    answers = [
        shop.put(f"/v1/experiments/{quoted}", json=SHOP),
        shop.put("/v1/experiments/other", json=SHOP | {"actions": ["a", bad]}),
        shop.post(f"{ONE}/decide", json={"id": bad}),
        shop.post(f"{ONE}/decide", json={"targetingKey": bad}),
        shop.post("/v1/experiments/menu/decide", json={"actions": ["a", bad]}),
        shop.post(f"{ONE}/decisions/{quoted}/reward", json={"value": 1}),
        shop.post(f"{ONE}/decisions/q/reward", json={"value": 1, "key": bad}),
        shop.post(f"{ONE}/decisions/{quoted}/activate"),
        shop.get(f"{ONE}/decisions/{quoted}"),
        shop.post(f"{ONE}/actions", json={"add": [bad]}),
        shop.post(f"{ONE}/actions", json={"remove": [bad]}),
        shop.post("/v1/events", json={"experiment": "shop", "targetingKey": bad}),
    ]
    no_path = {404} if sign == "\n" else set()  # which a line end ends
    assert {answer.status_code for answer in answers} == {422} | no_path
    items = [{"id": bad}, {"id": "fine"}]
    assert ["error" in each for each in shop.post(f"{ONE}/decide", json=items).json()] == [
        True,
        False,
    ]
    flag = shop.post("/ofrep/v1/evaluate/flags/shop", json={"context": {"targetingKey": bad}})
    ranked = shop.post("/personalizer/v1.0/rank", json={"actions": [{"id": "a"}], "eventId": bad})
    assert flag.status_code == ranked.status_code == 400, "these protocols know no other"
    assert (
        shop.service.catalog["shop"].experiment.events == before + 1
        and "menu" in shop.service.catalog.hosted
    )


def test_clients_and_keys_refuse_them_before_anything_is_sent(tmp_path: Path) -> None:
    client = Client("http://127.0.0.1:9")
    calls = [
        lambda: client.decide("a\nb"),
        lambda: client.decide("shop", id="a\nb"),
        lambda: client.decide("shop", targeting_key="a\nb"),
        lambda: client.reward("shop", "a\nb", 1),
        lambda: client.reward("shop", "q", 1, key="a\nb"),
        lambda: client.activate("shop", "a\nb"),
        lambda: client.event("shop", "a\nb"),
    ]
    for call in calls:
        with pytest.raises(es.InvalidArgument, match="without control characters"):
            call()
    done = prompt.ensample(
        "key", "new", "--role", "read", "--experiment", "a\nb", "--data", str(tmp_path / "data")
    )
    assert done.returncode != 0 and "without control characters" in " ".join(
        (done.stdout + done.stderr).split()
    )


def test_experiment_that_has_such_names_already_opens(tmp_path: Path) -> None:
    """Logs of earlier versions are read as they are."""
    file = tmp_path / "news.db"
    with es.open_experiment(file, "news", actions=["a", "b-c"], recipe=SMALL, seed=0) as experiment:
        experiment.reward(experiment.decide(id="q-1"), 1)
    connection = apsw.Connection(str(file))
    for old, new in (("b-c", "b\\\\nc"), ("q-1", "q\\\\n1")):
        connection.execute(
            f"UPDATE events SET event = replace(event, '{old}', '{new}')".replace("\\\\", "\\")
        )
    connection.close()
    with es.open_experiment(file) as experiment:
        assert experiment.actions == ["a", "b\nc"] and experiment.log()["id"].to_list() == ["q\n1"]
        experiment.verify()
        experiment.remove("b\nc")
        assert experiment.decide().action == "a"
