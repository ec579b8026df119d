"""Write http.json: the service's answers to the scripted conversation. Run `python -m golden.make_http` in tests/."""

import json
import tempfile
from pathlib import Path

from golden.conversation import play

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in play(Path(folder)))
    Path(__file__).with_name("http.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
