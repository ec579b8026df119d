"""docs/service.md: what it says one types is typed, and what it says one sees is seen."""

import json
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from ensample.service.openapi import EXAMPLES
from ensample.service.routes import ROUTES
from ensample.service.settings import ServiceSettings
from service.conftest import SHOP, Serve

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def commands(text: str) -> list[tuple[list[str], str]]:
    """Each line that begins with $, and what is printed after it."""
    block = text.split("runs these lines -->\n```console\n")[1].split("```")[0]
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [
        (shlex.split(part.partition("\n")[0]), part.partition("\n")[2].strip()) for part in parts
    ]


def test_the_first_lines_work_as_printed(serve: Serve) -> None:
    client, found = serve(), commands(PAGE.read_text())
    assert len(found) == 4
    for words, printed in found:
        assert words[0] == "curl" and words[-2] == "-d"
        method = words[words.index("-X") + 1] if "-X" in words else "POST"
        address = next(word for word in words if word.startswith("localhost:8000"))
        form = {"content-type": "application/x-www-form-urlencoded"}  # as curl sends it
        answer = client.request(
            method, f"http://{address}", content=words[-1].encode(), headers=form
        )
        assert json.loads(words[-1]) in EXAMPLES.values(), "the page of the service shows the same"
        expected = re.escape(printed).replace(r"\.\.\.", ".*")
        assert re.fullmatch(expected, answer.text), (printed, answer.text)


def test_every_route_is_in_the_table() -> None:
    text = PAGE.read_text()
    for route in ROUTES:
        words = (
            route.path.replace("{experiment}", "E")
            .replace("{id:path}", "ID")
            .replace("{key:path}", "KEY")
        )
        tail = words.rpartition("/")[2]
        assert (
            f"`{route.method} {words}" in text
            or f"/{tail}`" in text
            or f"`{words}`" in text
            or "static" in words
        ), route.title


def test_every_setting_is_in_the_list_with_its_default() -> None:
    told = tomllib.loads(PAGE.read_text().split("```toml\n")[1].split("```")[0])["serve"]
    known = {item.name: item.default for item in fields(ServiceSettings)}
    assert set(told) == set(known)
    own = {"data", "hosts"}  # of an example
    assert {name: told[name] for name in set(told) - own if told[name] != []} == {
        name: known[name] for name in set(told) - own if known[name] != ()
    }


@pytest.mark.parametrize(
    "page", ["service.md", "clients.md", "start.md", "tutorials/service.md", "../README.md"]
)
def test_what_one_types_installs_from_a_clone(page: str) -> None:
    lines = re.findall(
        r"(?:^\$ |`)pip install[^`\n]*\n?[^`\n]*",
        (PAGE.parent / page).read_text(),
        flags=re.MULTILINE,
    )
    typed = [line for line in lines if "ensample[" in line]
    assert lines and not typed


def test_an_experiment_whose_file_is_moved_away_is_gone_until_it_is_back(
    serve: Serve, tmp_path: Path
) -> None:
    client, one = serve(), "/v1/experiments/shop"
    client.put(one, json=SHOP)
    client.post(f"{one}/decide", json={"id": "q1"})
    client.exit_stack.close()
    file = client.service.settings.data / "experiments" / "shop.db"
    assert [path.name for path in file.parent.iterdir()] == ["shop.db"], "the whole experiment"
    away = file.rename(tmp_path / "shop.db")
    without = serve()
    assert without.get(one).status_code == 404 and without.get("/readyz").status_code == 200
    without.exit_stack.close()
    away.rename(file)
    assert serve().get(f"{one}/decisions/q1").status_code == 200
