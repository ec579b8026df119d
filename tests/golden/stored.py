"""Results that have to stay as they are, stored as JSON beside this file, and what makes each.

python -m golden.stored codec http     (in tests/) writes codec.json and http.json again
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from golden import codec, commands, conversation, evaluations, experiments, lab, pages, problems

RESULTS: dict[str, Callable[[Path], Any]] = {
    "codec": lambda folder: codec.frozen(),
    "commands": lambda folder: commands.frozen(),
    "evaluations": lambda folder: evaluations.frozen(),
    "experiments": lambda folder: {name: experiments.play(name) for name in experiments.CASES},
    "http": conversation.play,
    "lab": lambda folder: {name: make() for name, make in lab.CASES.items()},
    "pages": pages.pages,
    "problems": lambda folder: problems.found(),
}
EXACT = ("codec", "commands", "experiments", "http")  # others agree in nine digits of numbers
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:[eE][-+]?\d+)?")


def stored(name: str) -> Any:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def made(name: str, folder: Path) -> Any:
    return json.loads(json.dumps(RESULTS[name](folder)))


def differences(found: Any, kept: Any, is_exact: bool, where: str = "") -> Iterator[str]:
    """Yield where two plain values differ."""
    if isinstance(found, dict) and isinstance(kept, dict) and found.keys() == kept.keys():
        for key in found:
            yield from differences(found[key], kept[key], is_exact, f"{where}.{key}")
    elif isinstance(found, list) and isinstance(kept, list) and len(found) == len(kept):
        for i, pair in enumerate(zip(found, kept, strict=True)):
            yield from differences(*pair, is_exact, f"{where}[{i}]")
    elif json.dumps(found) != json.dumps(kept) and (is_exact or not is_close(found, kept)):
        yield f"{where}: {found!r}, stored {kept!r}"


def is_close(found: Any, kept: Any) -> bool:
    """Return True if two values, or texts, differ in digits of numbers only."""
    texts = [json.dumps(value, ensure_ascii=False) for value in (found, kept)]
    words = [NUMBER.sub("NUMBER", text) for text in texts]
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in texts]
    if isinstance(found, int | float) and isinstance(kept, int | float):
        return bool(found == pytest.approx(kept, rel=1e-9, abs=1e-12))
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=1e-9, abs=1e-12)


def main(names: list[str]) -> None:
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            text = json.dumps(made(name, Path(folder)), ensure_ascii=False, indent=0)
        Path(__file__).with_name(f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
