"""Write experiments.json: what experiments decided, and came to, when it was frozen."""

import json

from golden_experiments import CASES, STORED, play

if __name__ == "__main__":
    frozen = {name: play(name) for name in CASES}
    STORED.write_text(json.dumps(frozen) + "\n")
    print(f"{len(frozen)} experiments in {STORED.name}")
