"""Write pages.json: python tests/golden/make_pages.py (with tests/ on the path)."""

import json
import tempfile
from pathlib import Path

from golden.pages import pages

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = pages(Path(folder))
    path = Path(__file__).parent / "pages.json"
    path.write_text(json.dumps(found, ensure_ascii=False, indent=0) + "\n")
