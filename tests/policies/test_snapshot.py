"""Snapshots: whole, versioned, checked, and clear about what they cannot hold."""

import json
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import ensample as es
from conformance.policies import fingerprint, play, start
from naive.stored import StoredRows


@pytest.fixture
def snapshot(tmp_path):
    policy = start("ensemble", "finite")
    play(policy, 20)
    policy.save(tmp_path / "policy.safetensors")
    return tmp_path / "policy.safetensors"


def test_every_truncation_is_noticed(snapshot) -> None:
    content = snapshot.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 1]:
        snapshot.write_bytes(content[:length])
        with pytest.raises(es.SnapshotError):
            es.load(snapshot)


def test_every_flipped_byte_is_noticed(snapshot) -> None:
    content = bytearray(snapshot.read_bytes())
    (header,) = struct.unpack("<Q", content[:8])
    places = [*range(8), *range(8, 8 + header, 37), *range(8 + header, len(content), 211)]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 0x10
        snapshot.write_bytes(damaged)
        try:
            loaded = es.load(snapshot)
        except es.SnapshotError:
            continue
        pytest.fail(f"byte {place} was changed and nobody noticed: {loaded}")


def rewrite(path, **changes: str) -> None:
    """The same tensors with other metadata."""
    content = path.read_bytes()
    (header,) = struct.unpack("<Q", content[:8])
    metadata = json.loads(content[8 : 8 + header])["__metadata__"]
    save_file(load_file(path), path, metadata | changes)


def test_a_future_version_says_so(snapshot) -> None:
    rewrite(snapshot, version="3")
    with pytest.raises(es.SnapshotError, match=r"version '3', this release reads 2; update ensample"):
        es.load(snapshot)


def test_another_safetensors_file_says_so(tmp_path) -> None:
    save_file({"weights": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(es.SnapshotError, match="not a snapshot of a policy"):
        es.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_no_file_says_so(tmp_path, name: str) -> None:
    with pytest.raises(es.SnapshotError, match="expected a snapshot file"):
        es.load(tmp_path / name)


def test_a_failed_save_leaves_the_old_file(snapshot, monkeypatch) -> None:
    before = snapshot.read_bytes()
    policy = es.load(snapshot)
    play(policy, 5, 20)

    def full_disk(tensors, name, metadata):
        with open(name, "wb") as file:
            file.write(b"half")
        raise OSError("no space left on device")

    monkeypatch.setattr("ensample.policies.snapshot.save_file", full_disk)
    with pytest.raises(OSError, match="no space"):
        policy.save(snapshot)
    assert snapshot.read_bytes() == before
    assert [path.name for path in snapshot.parent.iterdir()] == ["policy.safetensors"]


def test_a_law_or_rule_of_ones_own_is_handed_in_again(tmp_path) -> None:
    def first(round: int, size: int, rng: np.random.Generator) -> int:
        return 0

    recipe = es.EnsembleSampling(size=3, member=first)
    policy = recipe.start(es.FiniteArms(np.eye(2)))
    play_two_arms(policy)
    policy.save(tmp_path / "own")
    with pytest.raises(es.SnapshotError, match=r"first.*hand the recipe to load"):
        es.load(tmp_path / "own")
    assert fingerprint(es.load(tmp_path / "own", recipe=recipe)) == fingerprint(policy)
    with pytest.raises(es.InvalidArgument, match=r"^recipe = "):
        es.load(tmp_path / "own", recipe=es.EnsembleSampling(size=4, member=first))
    with pytest.raises(es.WrongType, match=r"^recipe = "):
        es.load(tmp_path / "own", recipe="ensemble")

    recipe = es.EnsembleSampling(size=3, reward=StoredRows(np.ones((9, 3))))
    policy = recipe.start(es.FiniteArms(np.eye(2)))
    play_two_arms(policy)
    policy.save(tmp_path / "law")
    with pytest.raises(es.SnapshotError, match="StoredRows"):
        es.load(tmp_path / "law")
    assert fingerprint(es.load(tmp_path / "law", recipe=recipe)) == fingerprint(policy)


def play_two_arms(policy: es.Policy) -> None:
    for _ in range(5):
        policy.update(policy.decide(), 0.5)


def test_an_oracle_is_handed_in_again(tmp_path) -> None:
    policy = start("ensemble", "oracle")
    play(policy, 5)
    policy.save(tmp_path / "oracle")
    with pytest.raises(es.SnapshotError, match="OracleArms cannot be stored"):
        es.load(tmp_path / "oracle")
    with pytest.raises(es.InvalidArgument, match=r"^arms = "):
        es.load(tmp_path / "oracle", arms=es.UnitBall(3))


def test_other_arms_are_refused(snapshot) -> None:
    es.load(snapshot, arms=start("ensemble", "finite").arms)
    for arms in (es.FiniteArms(np.eye(3)), es.UnitBall(3), es.FiniteArms(np.eye(2))):
        with pytest.raises(es.InvalidArgument, match=r"^arms = "):
            es.load(snapshot, arms=arms)


def test_a_theorem_recipe_survives(tmp_path) -> None:
    recipe = es.PerturbedHistory.from_theorem(es.Setting(3, None, 100, 1.0, 1.0))
    policy = recipe.start(es.UnitBall(3))
    policy.save(tmp_path / "theorem")
    assert es.load(tmp_path / "theorem").recipe == recipe


def test_open_decisions_keep_their_propensity(tmp_path) -> None:
    policy = start("ensemble", "finite")
    known = policy.decide(propensity=True)
    later, own = policy.decide(), policy.decide(np.eye(3))
    policy.save(tmp_path / "open")
    loaded = es.load(tmp_path / "open")
    assert [decision.propensity for decision in loaded.open_decisions] == [known.propensity, None, None]
    assert loaded.propensity(later) == policy.propensity(later)
    with pytest.raises(es.PropensityError):
        loaded.propensity(own)  # the arms of its round are not saved
    loaded.update(known, 1.0)
    with pytest.raises(es.PropensityError):
        loaded.propensity(later)
