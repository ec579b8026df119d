"""Snapshots: whole, versioned, checked, and clear about what they cannot hold."""

import errno
import json
import math
import os
import stat
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import ensample as es
from attacks.crafted import Mutant
from conformance.policies import fingerprint, offered, play, start
from ensample.policies.snapshot import VERSION
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
    rewrite(snapshot, version=str(VERSION + 1))
    with pytest.raises(
        es.SnapshotError,
        match=rf"version '{VERSION + 1}', this release reads {VERSION}; update ensample",
    ):
        es.load(snapshot)


@pytest.mark.parametrize("version", ["0", "", "1.0", "-3", "9" * 5000])
def test_another_version_says_so(snapshot, version: str) -> None:
    rewrite(snapshot, version=version)
    with pytest.raises(
        es.SnapshotError,
        match=f"version '{version}', this release reads {VERSION}; read it with the release",
    ):
        es.load(snapshot)


def test_the_format_is_safetensors(snapshot, tmp_path) -> None:
    """The library reads what we write, and we read what it writes."""
    policy = es.load(snapshot)
    with safe_open(snapshot, framework="np") as file:
        np.testing.assert_array_equal(file.get_tensor("state.sums"), policy.model.arrays()["sums"])
        save_file(load_file(snapshot), tmp_path / "theirs", file.metadata())
    assert fingerprint(es.load(tmp_path / "theirs")) == fingerprint(policy)


def test_another_safetensors_file_says_so(tmp_path) -> None:
    save_file({"weights": np.zeros(3)}, tmp_path / "model.safetensors")
    with pytest.raises(es.SnapshotError, match="not a snapshot of a policy"):
        es.load(tmp_path / "model.safetensors")


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_no_file_says_so(tmp_path, name: str) -> None:
    with pytest.raises(es.SnapshotError, match="expected a snapshot file"):
        es.load(tmp_path / name)


def test_pipes_and_devices_are_no_snapshots(tmp_path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/null", "/dev/zero", "a\0b"):
        with pytest.raises(es.SnapshotError, match="expected a snapshot file"):
            es.load(path)


def test_a_full_disk_leaves_the_old_file(snapshot, monkeypatch) -> None:
    before = snapshot.read_bytes()
    policy = es.load(snapshot)
    play(policy, 5, 20)

    def full_disk(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ensample.files.os.fsync", full_disk)
    with pytest.raises(es.StorageError, match="No space") as caught:
        policy.save(snapshot)
    assert isinstance(caught.value, OSError) and caught.value.errno == errno.ENOSPC
    assert snapshot.read_bytes() == before
    assert [path.name for path in snapshot.parent.iterdir()] == ["policy.safetensors"]


def test_saving_keeps_modes_takes_long_names_and_refuses_devices(snapshot) -> None:
    policy = es.load(snapshot)
    snapshot.chmod(0o640)
    policy.save(snapshot)
    assert stat.S_IMODE(snapshot.stat().st_mode) == 0o640
    policy.save(snapshot.with_name("x" * 255))
    for path in ("/dev/null", snapshot.parent, snapshot.with_name("missing") / "file"):
        with pytest.raises(es.InvalidArgument, match=r"^path = "):
            policy.save(path)
    with pytest.raises(es.WrongType, match=r"^path = "):
        policy.save(7)


def test_a_law_or_rule_of_ones_own_is_handed_in_again(tmp_path) -> None:
    def first(round: int, size: int, rng: np.random.Generator) -> int:
        return 0

    recipe = es.EnsembleSampling(size=3, member=first)
    policy = recipe.start(es.FiniteArms(np.eye(2)))
    play_two_arms(policy)
    policy.save(tmp_path / "own")
    with pytest.raises(es.SnapshotError, match=r"first.*give the recipe again"):
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


def test_open_decisions_keep_their_propensity(tmp_path) -> None:
    policy = start("ensemble", "finite")
    known = policy.decide(propensity=True)
    later, own = policy.decide(), policy.decide(np.eye(3))
    policy.save(tmp_path / "open")
    loaded = es.load(tmp_path / "open")
    assert [decision.propensity for decision in loaded.open_decisions] == [
        known.propensity,
        None,
        None,
    ]
    assert loaded.propensity(later) == policy.propensity(later)
    with pytest.raises(es.PropensityError):
        loaded.propensity(own)  # the arms of its round are not saved
    loaded.update(known, 1.0)
    with pytest.raises(es.PropensityError):
        loaded.propensity(later)


@pytest.fixture
def crafted(tmp_path):
    """Change a snapshot as somebody would who can compute a checksum, and load it."""

    def load(change, recipe: str = "ensemble", arms: str = "finite", **options) -> es.Policy:
        policy = start(recipe, arms)
        play(policy, 20)
        for t in range(20, 23):
            policy.decide(offered(policy, t), propensity=recipe == "ensemble")
        policy.save(tmp_path / "honest")
        mutant = Mutant((tmp_path / "honest").read_bytes())
        change(mutant)
        (tmp_path / "crafted").write_bytes(mutant.file())
        return es.load(tmp_path / "crafted", **options)

    return load


def entry(name: str, place: int, value: float):
    """Return a change of one number."""

    def change(mutant: Mutant) -> None:
        mutant.values(name)[place] = value

    return change


def reshaped(name: str, shape: list[int]):
    """Return a change of shape, with as many bytes as that takes."""

    def change(mutant: Mutant) -> None:
        mutant.arrays[name][1] = shape
        mutant.arrays[name][2] = bytearray(8 * math.prod(shape))

    return change


def described(path: str, value: object):
    """Return a change of the description; value `...` takes a field away."""

    def change(mutant: Mutant) -> None:
        *way, last = path.split(".")
        parent = mutant.content
        for key in way:
            parent = parent[key]
        parent[last] = value
        if value is ...:
            del parent[last]

    return change


CRAFTED = [  # of an ensemble of 12 on 7 arms in R^3: 20 rewards, 3 open decisions
    (entry("log.arms", 3, 999), r"log.arms\[3\] = 999: expected a number from -1 to 6"),
    (entry("log.arms", 3, -2), r"log.arms\[3\] = -2"),
    (entry("log.arms", 3, -1), r"log.others = .*: expected 3 features for each of 1 arms"),
    (entry("log.rounds", 0, -5), r"log.rounds\[0\] = -5: expected a number from 0 to 22"),
    (entry("log.rounds", 4, 3), r"log.rounds\[4\] = 3: expected each round once"),
    (entry("log.rewards", 7, np.nan), r"log.rewards\[7\] = nan"),
    (entry("log.rewards", 7, 1e151), r"log.rewards\[7\] = 1e\+151"),
    (entry("open.round", 0, 22), r"open.round\[1\] = 21: expected increasing rounds"),
    (entry("open.round", 0, 7), r"open.round\[0\] = 7: expected a round that is not in the log"),
    (entry("open.round", 2, 23), r"open.round\[2\] = 23: expected a number from 0 to 22"),
    (entry("open.member", 0, 12), r"open.member\[0\] = 12: expected a number from 0 to 11"),
    (entry("open.arm", 1, 7), r"open.arm\[1\] = 7: expected a standing arm, 0 to 6"),
    (entry("open.features", 0, 0.25), r"open.features\[0\] = .*: expected the features of a"),
    (entry("open.features", 0, np.inf), r"open.features\[0, 0\] = inf"),
    (entry("open.propensity", 0, 1.5), r"open.propensity\[0\] = 1.5: expected a number from 0"),
    (entry("open.standing", 0, 2), r"open.standing = .*: expected bytes of 0 or 1"),
    (entry("state.ridge", 0, np.nan), r"state.ridge\[0, 0\] = nan: expected a finite number"),
    (entry("state.sums", 0, np.inf), r"state.sums\[0, 0\] = inf"),
    (entry("arms.features", 0, np.nan), r"arms.features = .*: expected a K x d array of numbers"),
    (reshaped("open.features", [3, 2]), r"\(3, 2\), expected float64 of shape \(n, 3\)"),
    (reshaped("open.features", [4, 3]), r"open = .*: expected columns of one length"),
    (reshaped("log.rewards", [19]), r"log = \(20, 20, 19, 20\): expected 20 rounds, arms"),
    (reshaped("state.sums", [12, 3]), r"state.sums: float64 of shape \(12, 3\), expected float64"),
    (lambda mutant: mutant.arrays.pop("log.arms"), r"\['log.arms'\] are missing"),
    (lambda mutant: mutant.arrays.pop("arms.features"), r"expected the arrays of FiniteArms"),
    (described("round", -5), r"content.round = -5: expected a whole number from 0 to"),
    (described("round", 25.0), r"content.round = 25.0 \(float\)"),
    (described("version", 19), r"log = .*: expected 19 rounds"),
    (described("seed", True), r"content.seed = True"),
    (described("arms", []), r"content.arms = \[\]: expected kind and dim"),
    (described("arms.dim", 4), r"content.arms.dim = 4: expected 3, as the arms have"),
    (described("arms.kind", "os:system"), r"os:system cannot be stored"),
    (described("more", 1), r"content = .*: expected recipe, arms, seed, round and version"),
    (described("recipe.kind", "os:system"), r"recipe.kind = 'os:system'"),
    (described("recipe.kind", "Gaussian"), r"recipe = .*: expected the fields of Gaussian"),
    (described("recipe.size", -1), r"recipe.size = -1"),
    (described("recipe.size", 1 << 40), r"state = .*: expected one of at least"),
    (described("recipe.scale", ...), r"recipe = .*: expected the fields of EnsembleSampling"),
]


@pytest.mark.parametrize(("change", "message"), CRAFTED, ids=[text for _, text in CRAFTED])
def test_crafted_file_is_refused_by_name(crafted, change, message: str) -> None:
    with pytest.raises(es.SnapshotError, match=message):
        crafted(change)


IMPOSSIBLE = [
    ("networks", "kept", 1, 999, "a newest observation"),
    ("networks", "memory.rounds", 0, -1, "a memory that does not hold"),
    ("networks", "trained", 0, 1 << 62, "minibatches, that cannot have been"),
    ("networks", "features.squares", 0, -1.0, "sums of squares below 0"),
    ("LinPHE, Rademacher", "pulls", 0, -1, "counts that are not from 0 to 20"),
    ("Kveton's LinPHE", "pulls", 0, 1 << 62, "counts that are not from 0 to 20"),
    ("multiplier bootstrap", "pulls", 0, 21, "counts that are not from 0 to 20"),
    ("logistic PHE", "arm_counts", 0, 1e18, "counts that are not from 0 to 20"),
    ("Thompson sampling, adaptive", "rewards", 2, -1.0, "squares below 0"),
    ("ensemble, calibrated", "scales", 3, -1.0, "scales below 0"),
    ("ensemble, calibrated", "ages", 0, -1.0, "ages below 0"),
]


def test_rewards_that_the_model_cannot_learn_are_refused(crafted) -> None:
    with pytest.raises(es.SnapshotError, match=r"log.rewards\[2\] = 7"):
        crafted(entry("log.rewards", 2, 7.0), "ensemble, logistic")


@pytest.mark.parametrize(("recipe", "name", "place", "value", "message"), IMPOSSIBLE)
def test_impossible_state_is_refused(
    crafted, recipe: str, name: str, place: int, value: float, message: str
) -> None:
    with pytest.raises(es.SnapshotError, match=message):
        crafted(entry(f"state.{name}", place, value), recipe)


def test_refused_file_warns_of_nothing(crafted) -> None:
    """Not even of a NaN that signals when it is converted."""

    def signalling(mutant: Mutant) -> None:
        mutant.arrays["arms.features"][0] = "F32"
        mutant.arrays["arms.features"][2] = bytearray(b"\x01\x00\x80\x7f" * 21)

    with pytest.raises(es.SnapshotError, match=r"arms.features = "):
        crafted(signalling)


def test_state_that_its_log_does_not_give_is_refused_by_a_replay(crafted) -> None:
    crafted(lambda mutant: None, verify=True)
    for change in (entry("state.sums", 0, 0.125), described("seed", 1)):
        crafted(change)
        with pytest.raises(es.SnapshotError, match="expected what replaying the log gives"):
            crafted(change, verify=True)
    with pytest.raises(es.WrongType, match=r"^verify = 1"):
        crafted(lambda mutant: None, verify=1)


def test_replay_needs_a_log(tmp_path: Path) -> None:
    policy = start("ensemble", "finite")
    policy.save(tmp_path / "without", log=False)
    with pytest.raises(es.SnapshotError, match="saved without its log"):
        es.load(tmp_path / "without", verify=True)


@pytest.mark.parametrize("recipe", ["ensemble", "LinPHE", "LinUCB, watched norm"])
@pytest.mark.parametrize("size", [1e-150, 1e-6, 1e40])
def test_features_and_rewards_of_any_size_survive(tmp_path: Path, recipe: str, size: float) -> None:
    policy = start(recipe, "changing")
    for t in range(30):
        policy.update(size * np.random.default_rng(t).uniform(-1.0, 1.0, 3), size * (t % 7 - 3))
    policy.save(tmp_path / "sized")
    assert fingerprint(es.load(tmp_path / "sized", verify=True)) == fingerprint(policy)


def test_state_of_a_half_life_so_short_that_squares_underflow_survives(tmp_path: Path) -> None:
    policy = es.EnsembleSampling(1, half_life=0.005).start(es.ChangingArms(dim=3), seed=5)
    rng = np.random.default_rng(18)
    for number in range(42):
        policy.update(policy.decide(rng.standard_normal((3, 3))), float(number < 38))
    policy.save(tmp_path / "faded", log=False)
    assert es.load(tmp_path / "faded").mean.tolist() == policy.mean.tolist()


RELEASED = Path(__file__).parent / "released"
"""Snapshots of `EnsembleSampling(5)` and of one with `Logistic()` by version 0.2.0 (commit cfdd62c), which stored members."""


@pytest.mark.parametrize(("name", "warned"), [("default", True), ("logistic", False)])
def test_a_snapshot_of_an_earlier_release_goes_on_with_its_stored_members(
    tmp_path: Path, name: str, warned: bool
) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        policy = es.load(RELEASED / f"{name}.ens", verify=True)
    assert [warning.category for warning in said] == [es.SnapshotWarning] * warned
    assert all("it decides otherwise from now on" in str(warning.message) for warning in said)
    assert policy.recipe.fresh is False and policy.version == policy.round == 40
    policy.update(policy.decide(), 1.0)
    policy.save(tmp_path / "again.ens")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = es.load(tmp_path / "again.ens", verify=True)
    assert fingerprint(again) == fingerprint(policy)
