"""docs/service.md: what it says one types is typed, and what it says one sees is seen."""

import re
import shlex
from pathlib import Path

from ensample.serve.routes import ROUTES
from serve.conftest import Serve

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


def commands(text: str) -> list[tuple[list[str], str]]:
    """Each line that begins with $, and what is printed after it."""
    block = text.split("runs these lines -->\n```console\n")[1].split("```")[0]
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(shlex.split(part.partition("\n")[0]), part.partition("\n")[2].strip()) for part in parts]


def test_the_first_lines_work_as_printed(serve: Serve) -> None:
    client, found = serve(), commands(PAGE.read_text())
    assert len(found) == 4
    for words, printed in found:
        assert words[0] == "curl" and words[-2] == "-d"
        method = words[words.index("-X") + 1] if "-X" in words else "POST"
        address = next(word for word in words if word.startswith("localhost:8000"))
        form = {"content-type": "application/x-www-form-urlencoded"}  # as curl sends it
        answer = client.request(method, f"http://{address}", content=words[-1].encode(), headers=form)
        expected = re.escape(printed).replace(r"\.\.\.", ".*")
        assert re.fullmatch(expected, answer.text), (printed, answer.text)


def test_every_route_is_in_the_table() -> None:
    text = PAGE.read_text()
    for route in ROUTES:
        words = route.path.replace("{experiment}", "E").replace("{id:path}", "ID").replace("{key:path}", "KEY")
        tail = words.rpartition("/")[2]
        assert f"`{route.method} {words}" in text or f"/{tail}`" in text or f"`{words}`" in text or "static" in words, (
            route.title
        )
