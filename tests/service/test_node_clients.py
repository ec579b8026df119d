"""The released clients for JavaScript: the lines of docs/clients.md, run by node."""

import json
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from service.live import Live, blocks

FOLDER = Path(__file__).parents[1] / "clients"  # its package.json says which; .ci/run installs them
ROUTER = {"actions": ["small", "large"], "recipe": {"kind": "EnsembleSampling", "size": 10}}


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    if shutil.which("node") is None:
        pytest.skip("needs node")
    asked = json.loads((FOLDER / "package.json").read_text())["dependencies"]
    missing = [name for name in asked if not (FOLDER / "node_modules" / name).is_dir()]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}: npm ci --prefix {FOLDER}")


def node(lines: str) -> str:
    """What they print; imports are looked up in the folder."""
    done = subprocess.run(
        ["node", "--input-type=module", "-"],
        input=lines,
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_clients_are_those_that_are_named() -> None:
    for name, version in json.loads((FOLDER / "package.json").read_text())["dependencies"].items():
        assert (
            json.loads((FOLDER / "node_modules" / name / "package.json").read_text())["version"]
            == version
        )


def test_personalizer(live: Live) -> None:
    key = live.key("decide")
    (lines,) = blocks("clients.md", "personalizer.mjs", live.url, key)
    more = """
    console.log(JSON.stringify(ranked));
    const twice = { id: "a", features: [] };
    const refused = await client.rank({ actions: [twice, twice] }).catch((error) => error);
    console.log(refused.statusCode, refused.body.error.code);
    """
    answer, refused = node(lines + more).splitlines()
    ranked = json.loads(answer)
    assert ranked["eventId"] == "visit-1" and ranked["rewardActionId"] == ranked["ranking"][0]["id"]
    assert sum(item["probability"] for item in ranked["ranking"]) == pytest.approx(1)
    assert refused == "400 BadRequest"
    own = live.experiment(f"personalizer-{key.split('_')[1]}")
    assert own.decision("visit-1").active is False and own.version == 1


def test_openfeature(live: Live) -> None:
    httpx.put(f"{live.url}/v1/experiments/router", json=ROUTER)
    (lines,) = blocks("clients.md", "openfeature.mjs", live.url, live.key("decide"))
    more = """
    const client = OpenFeature.getClient(), key = { targetingKey: "request-2" };
    const again = await client.getStringDetails("router", "small", key);
    const [one, two] = [again.flagMetadata.decisionId, found.flagMetadata.decisionId];
    console.log(one === two, two);
    const nested = { targetingKey: "r", x: [["y"]] };
    for (const [flag, context] of [["nobody", request], ["router", {}], ["router", nested]]) {
      const wrong = await client.getStringDetails(flag, "small", context);
      console.log(wrong.value, wrong.reason, wrong.errorCode);
    }
    """
    first, again, *wrong = node(lines + more).splitlines()
    assert first == "SPLIT true true" and again.startswith("true sticky-")
    assert wrong == [
        "small ERROR FLAG_NOT_FOUND",
        "small ERROR TARGETING_KEY_MISSING",
        "small ERROR INVALID_CONTEXT",
    ]
    assert live.experiment("router").decisions == 1


def test_openfeature_with_rewards(live: Live) -> None:
    httpx.put(f"{live.url}/v1/experiments/router", json=ROUTER)
    (lines,) = blocks("clients.md", "provider.mjs", live.url, live.key("decide"))
    more = """
    console.log(model);
    flags.track("looked", request);
    provider.rewards.rated = ["nobody"];
    flags.track("rated", request);
    """
    lines = lines.replace("new EnsampleProvider", "globalThis.provider = new EnsampleProvider")
    assert node(lines + more).strip() in ("small", "large")
    router = live.experiment("router")
    assert router.decisions == 1 and router.log()["reward"].to_list() == [0.9]


def test_the_subclass_is_short() -> None:
    (lines,) = blocks("clients.md", "provider.mjs", "", "")
    assert lines.partition("class EnsampleProvider")[2].partition("\n}\n")[0].count("\n") + 2 <= 15
