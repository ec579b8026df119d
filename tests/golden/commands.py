"""Commands as one types them, and what they print: help, tables, JSON and errors.

Speeds and times are left out. Figures and pages go into a folder of their own.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from prompt import ensample

HERE = Path(__file__).parent
NAMES = [
    *["demo", "race", "plan", "measure", "run", "studies", "report", "evaluate"],
    *["serve", "key", "replay", "backup", "migrate", "verify"],
]
STUDY = """
name = "small"
horizon = 60
runs = 3
[problem]
family = "sphere"
dim = [2, 3]
arms = 5
[[policy]]
recipe = "EnsembleSampling"
size = 4
scale = "noise"
[[policy]]
recipe = "Greedy"
"""
LOG = "\n".join(
    ["action,reward,propensity"]
    + [f"{'ab'[i % 2]},{(i * 7 % 10) / 10},{0.25 + 0.5 * (i % 2)}" for i in range(60)]
)
SMALL = "--problem sphere --dim 3 --arms 4 --horizon 50 --runs 3"
COMMANDS = [
    "--help",
    *(f"{name} --help" for name in NAMES),
    "plan",
    "plan --json",
    "plan --arms 0 --horizon 1000000 --json",
    "plan --perturbation CenteredBinomial(trials=4) --norm 0.5",
    "plan --perturbation gausian",
    "plan --arms 20 --horizon 1000 --frontier --json --out frontier",
    f"race {SMALL} --policies es-10,LinUCB,linphe --json --out figures",
    f"race {SMALL} --policies EnsembleSampling(size=3,scale=2*noise),greedy --seed 3 --json --out "
    "a",
    "race --policies Greedi",
    "race --problem spere",
    "race --dim 0",
    f"measure {SMALL} --policies es-10,LinUCB.from_theorem --json",
    "studies",
    "run small.toml --dry-run",
    "run small.toml",
    "run small.toml --threads 1",
    "run nothing",
    "run small.toml --scale paper",
    "report results/small --csv",
    "report nothing",
    "demo --rounds 100 --json",
    "demo --rounds 3",
    "evaluate log.csv --policy uniform --policy action:a --low 0 --high 1 --json found.json",
    "evaluate log.csv --policy action:c",
    "evaluate log.csv --require lift.lower>=0",
    "evaluate log.csv --columns action",
    "key new --data here",
    "key list --data here",
    "key new --role read --experiment shop --data here",
    "key list --data here",
    "key revoke 1 --data here",
    "replay here --verify",
    "backup here backup.tar",
    "migrate nothing other",
    "verify chi-square",
    "verify nothing",
    "nothing",
]
CHANGING = [
    (r"\d[\d.,]* rounds/s", "N rounds/s"),
    (r'"rounds_per_second": [^,\n]*', '"rounds_per_second": N'),
    (r"about .* on \d+ threads", "about N on N threads"),
    (r"[\d.,]+ MiB", "N MiB"),
    (r"\d+ pilots?", "N pilots"),
    (r"\b\d+\.\d s\b", "N s"),
    (r"shown this once: \S+", "shown this once: KEY"),
    (r"\b[0-9a-f]{12}\b", "KEY-ID"),
    (r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}", "DATE"),
]
SPEED_COLUMNS = ("rounds/s ", "us/round ", " time ")
ERROR = 60  # characters of an error that are stored: others own the rest


def without_speed(text: str) -> str:
    """Return what a command prints without what differs between runs: speeds, keys and dates."""
    for pattern, instead in CHANGING:
        text = re.sub(pattern, instead, text)
    if any(column in text for column in SPEED_COLUMNS):  # the last column of a table
        lines = [re.sub(r"│[^│]*│$", "│", line) for line in text.splitlines()]
        text = re.sub(r"[\s─━┏┓┃┡┩╇┳└┘┴]+", " ", "\n".join(lines))
    return "\n".join(line.rstrip() for line in text.splitlines())


def frozen() -> dict[str, Any]:
    """Return exit code, output and errors of each command, in order, in one folder."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.toml").write_text(STUDY)
        (folder / "log.csv").write_text(LOG)
        for place, command in enumerate(COMMANDS):
            done = ensample(*command.split(" "), folder=folder, COLUMNS=100)
            said = without_speed(done.stderr.replace(name, ""))
            said = said[:ERROR] if done.returncode else said
            text = without_speed(done.stdout.replace(name, ""))
            found[f"{place}: ensample {command}"] = [done.returncode, text, said]
        found["files"] = sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and path.parent.name not in ("cells", "here")
        )
        found["found.json"] = json.loads((folder / "found.json").read_text())
    return found
