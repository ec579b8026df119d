"""Write `codec.json`. An encoding that changes makes old files unreadable."""

import json

from golden.codec_cases import HERE, frozen

if __name__ == "__main__":
    (HERE / "codec.json").write_text(json.dumps(frozen(), indent=0) + "\n")
