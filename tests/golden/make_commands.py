"""Write `commands.json`, what the commands print."""

import json

from golden.command_cases import HERE, frozen

if __name__ == "__main__":
    (HERE / "commands.json").write_text(json.dumps(frozen(), indent=0, ensure_ascii=False) + "\n")
