"""Pages about the service: what they say one types works, and what they say one sees is seen."""

import html
import json
import os
import re
import shlex
import tomllib
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from openfeature import api

from ensample.service.openapi import EXAMPLES
from ensample.service.routes import ROUTES
from ensample.service.settings import ServiceSettings
from service.conftest import ONE, SHOP, Serve, Served
from service.live import BLOCK, DOCS, Live, blocks

PAGE = DOCS / "service.md"
FORM = {"content-type": "application/x-www-form-urlencoded"}  # as curl sends it
FIRST = ["put_experiment", "experiment", "decide", "reward"]  # those of a path stand together


def commands(text: str) -> list[tuple[str, str, str, str]]:
    """Return method, address, body and what is printed for each line of curl that begins with $."""
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        words = shlex.split(line)
        assert words[0] == "curl"
        address = next(word for word in words if word.startswith("localhost:8000"))
        body = words[words.index("-d") + 1] if "-d" in words else ""
        method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
        found.append((method, address.removeprefix("localhost:8000"), body, printed.strip()))
    return found


def check_typed(client: Any, text: str) -> int:
    """Check that each command answers what is printed below it, `...` standing for anything."""
    for method, path, body, printed in (found := commands(text)):
        answer = client.request(method, path, content=body.encode(), headers=FORM)
        expected = re.escape(printed).replace(r"\.\.\.", ".*")
        assert re.fullmatch(expected, answer.text), (path, printed, answer.text)
    return len(found)


def test_the_first_lines_work_as_printed(serve: Serve) -> None:
    block = PAGE.read_text().split("runs these lines -->\n```console\n")[1].split("```")[0]
    assert check_typed(serve(), block) == 4
    for _, _, body, _ in commands(block):
        assert json.loads(body) in EXAMPLES.values(), "/docs shows the same"


def test_every_route_is_in_the_table() -> None:
    text = PAGE.read_text()
    for route in ROUTES:
        words = route.path.replace("{experiment}", "E").replace("{id:path}", "ID")
        words = words.replace("{key:path}", "KEY")
        forms = (f"`{route.method} {words}", f"/{words.rpartition('/')[2]}`", f"`{words}`")
        assert any(form in text for form in forms) or "static" in words, route.title


def test_every_setting_is_in_the_list_with_its_default() -> None:
    told = tomllib.loads(PAGE.read_text().split("```toml\n")[1].split("```")[0])["serve"]
    known = {item.name: item.default for item in fields(ServiceSettings)}
    assert set(told) == set(known)
    for name in set(told) - {"data", "hosts"}:  # of an example
        assert told[name] == known[name] or (told[name], known[name]) == ([], ()), name


@pytest.mark.parametrize(
    "page", ["service.md", "clients.md", "start.md", "tutorials/service.md", "../README.md"]
)
def test_what_one_types_installs_from_a_clone(page: str) -> None:
    text = (DOCS / page).read_text()
    lines = re.findall(r"(?:^\$ |`)pip install[^`\n]*\n?[^`\n]*", text, flags=re.MULTILINE)
    assert lines and not [line for line in lines if "ensample[" in line]


def test_an_experiment_whose_file_is_moved_away_is_gone_until_it_is_back(
    serve: Serve, tmp_path: Path
) -> None:
    client = serve(shop=SHOP)
    client.decide(id="q1")
    client.stop()
    file = client.service.settings.data / "experiments" / "shop.db"
    assert [path.name for path in file.parent.iterdir()] == ["shop.db"], "the whole experiment"
    away = file.rename(tmp_path / "shop.db")
    without = serve()
    assert without.get(ONE).status_code == 404 and without.get("/readyz").status_code == 200
    without.stop()
    away.rename(file)
    assert serve().get(f"{ONE}/decisions/q1").status_code == 200


def test_the_document_says_what_is_there(shop: Served) -> None:
    document = shop.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for name in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)):
        assert name in document["components"]["schemas"]
    path = "/v1/experiments/{experiment}/decisions/{id}/reward"
    body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    one_of_both = [{"required": ["value"]}, {"required": ["reward"]}]
    assert body["schema"]["anyOf"] == one_of_both and body["example"] == {"value": 1}
    page = shop.get("/docs")
    assert page.status_code == 200 and '"device": "phone"' in html.unescape(page.text)
    assert "http" not in page.text.replace("https://127.0.0.1", "") and "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert shop.get("/static/style.css").headers["content-type"].startswith("text/css")
    for name in ("../app.py", "base.html"):
        assert shop.get(f"/static/{name}").status_code == 404


def test_docs_show_a_curl_line_of_each_route_that_works_in_the_order_of_use(shop: Served) -> None:
    text = shop.get("/docs").text
    assert "$ref" not in text and "#/components" not in text
    names = re.findall(r'<section id="(\w+)">', text)
    lines = re.findall(r'<pre class="curl">(.*?)</pre>', text)
    assert len(names) == len(lines) == len(ROUTES)
    assert names[:4] == FIRST and names[-3:] == ["readyz", "healthz", "metrics"]
    for name, line in zip(names, map(html.unescape, lines), strict=True):
        curl, *words = shlex.split(line)
        options = dict(pairwise(words))
        url = next(word for word in words if "127.0.0.1" in word).partition(":8000")[2]
        body = options.get("-d", "").encode()
        if "--data-binary" in options:
            body = shop.get(f"{ONE}/log").content
        method = options.get("-X", "POST" if {"-d", "--data-binary"} & set(words) else "GET")
        found = shop.request(method, url, content=body, headers=FORM if body else {})
        assert curl == "curl" and found.status_code < 300, (name, line, found.text)


def test_curl_lines_have_a_key_where_the_service_asks_for_one(shop: Served) -> None:
    headers = {"authorization": f"Bearer {shop.key('read')}"}
    page = html.unescape(shop.get("/docs", headers=headers).text)
    lines = re.findall(r'<pre class="curl">(.*?)</pre>', page)
    probes = [line for line in lines if line.endswith("z")]
    assert [line for line in lines if "Bearer $KEY" not in line] == probes


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the page leaves its clients open
def test_the_lines_of_clients_in_python_run(live: Live) -> None:
    key = live.key("admin")
    names: dict[str, Any] = {}
    try:
        for lines in blocks("clients.md", "python", live.url, key):
            exec(lines, names)
    finally:
        api.clear_providers()
        names["client"].close()
    own = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert own.decisions == own.version == 1 and names["show"] in ("pasta", "salad")
    router = live.experiment("router")
    assert names["outcome"] == "applied"
    assert {*names["chosen"], names["model"]} <= {"small", "large"}
    assert router.decision(names["decision"]).action == names["model"]
    assert router.decisions == 4 and router.log()["reward"].to_list() == [0.8, None, None, 0.9]


def test_the_tutorial_of_the_service_runs(
    live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    found = list(BLOCK.finditer((DOCS / "tutorials/service.md").read_text(encoding="utf-8")))
    kinds = ["curl", "curl", "curl", "python", "curl", "python"]
    assert [block["name"] for block in found] == kinds
    with httpx.Client(base_url=live.url, timeout=60.0) as client:
        for block in found:
            if block["name"] == "curl":
                check_typed(client, block["lines"])
            else:
                exec(block["lines"].replace("http://127.0.0.1:8000", live.url), names)
    checkout = live.experiment("checkout")
    assert checkout.decisions == 101 and checkout.counts["applied"] > 10
    assert os.path.getsize("checkout.parquet") > 1000 and len(names["found"]) == 2


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the page leaves its client open
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # others' own
def test_the_same_task_by_others(live: Live) -> None:
    key = live.key("admin")
    names: dict[str, Any] = {}
    try:
        for lines in blocks("tutorials/coming-from.md", "python", live.url, key):
            exec(lines, names)
    finally:
        names["client"].close()
    assert names["action"] in ("sport", "culture") and abs(sum(names["shares"]) - 1) < 1e-6
    assert names["log"].select("action", "reward", "propensity").row(0) == ("sport", 1.0, 0.8)
    own = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert own.version == names["policy"].version == names["news"].version == 1
