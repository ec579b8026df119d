"""Write `encodings.json`. An encoding that changes makes old files unreadable."""

import json

from golden.encodings import HERE, frozen

if __name__ == "__main__":
    (HERE / "encodings.json").write_text(json.dumps(frozen(), indent=0) + "\n")
