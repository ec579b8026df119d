"""Write evaluations.json: python tests/golden/make_evaluations.py (with tests/ on the path)."""

import json
from pathlib import Path

from golden.evaluations import cases, numbers

if __name__ == "__main__":
    found = {name: numbers(found) for name, found in cases().items()}
    path = Path(__file__).parent / "evaluations.json"
    path.write_text(json.dumps(found, separators=(",", ":")).replace('},"', '},\n"') + "\n")
