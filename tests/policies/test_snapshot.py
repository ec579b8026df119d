"""Snapshots: whole, versioned, checked, and clear about what they cannot hold."""

import errno
import json
import math
import os
import stat
import struct
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import ensample as es
from attacks.mutants import Mutant
from conformance.policies import EVERY, fingerprint, offered, play, start
from ensample.policies.snapshot import VERSION
from ensample.policies.sound_arrays import checks_of
from ensample.policies.sound_replay import is_short
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

    def full_disk(file, arrays, metadata):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ensample.policies.snapshot.write_tensors", full_disk)
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
    """Changes a policy's snapshot as somebody would who can compute a checksum, and loads it."""

    def load(change, recipe: str = "ensemble", arms: str = "finite", **options) -> es.Policy:
        policy = start(recipe, arms)
        play(policy, 20)
        for t in range(20, 23):
            policy.decide(
                offered(policy, t),
                propensity=recipe == "ensemble" and arms in ("finite", "changing"),
            )
        policy.save(tmp_path / "honest")
        mutant = Mutant((tmp_path / "honest").read_bytes())
        change(mutant)
        (tmp_path / "crafted").write_bytes(mutant.file())
        return es.load(tmp_path / "crafted", **options)

    return load


def entry(name: str, place: int, value: float):
    """A change of one number."""

    def change(mutant: Mutant) -> None:
        mutant.values(name)[place] = value

    return change


def reshaped(name: str, shape: list[int]):
    """A change of shape, with as many bytes as that takes."""

    def change(mutant: Mutant) -> None:
        mutant.arrays[name][1] = shape
        mutant.arrays[name][2] = bytearray(8 * math.prod(shape))

    return change


def described(path: str, value: object):
    """A change of the description; value `...` takes a field away."""

    def change(mutant: Mutant) -> None:
        *way, last = path.split(".")
        parent = mutant.content
        for key in way:
            parent = parent[key]
        parent[last] = value
        if value is ...:
            del parent[last]

    return change


def header(edit):
    """A change of the header."""
    return lambda mutant: mutant.edits.append(edit)


ENTRIES = [  # of an ensemble of 12 on 7 arms in R^3: 20 rewards, 3 open decisions
    (entry("log.arms", 3, 999), r"log.arms\[3\] = 999: expected one of 7 standing arms"),
    (
        entry("log.arms", 3, 5),
        r"state.ridge: V\[0, 0\] = .*: expected its prior \+ sum x x' over the log",
    ),
    (entry("log.arms", 3, -2), r"log.arms\[3\] = -2"),
    (entry("log.arms", 3, -1), r"log.others = .*: expected 3 features for each of 1 arms"),
    (entry("log.rounds", 0, -5), r"log.rounds\[0\] = -5: expected a round that was begun, 0 to 22"),
    (entry("log.rounds", 0, 23), r"log.rounds\[0\] = 23"),
    (entry("log.rounds", 4, 3), r"log.rounds\[4\] = 3: expected each round once"),
    (entry("log.rewards", 7, np.nan), r"log.rewards\[7\] = nan: expected a finite number"),
    (entry("log.rewards", 7, 1e151), r"log.rewards\[7\] = 1e\+151"),
    (entry("log.rewards", 7, 9.0), r"state.ridge: b\[0\] = .*: expected sum x y over the log"),
    (entry("open.round", 0, -5), r"open.round\[0\] = -5"),
    (entry("open.round", 0, 22), r"open.round\[1\] = 21: expected increasing rounds"),
    (entry("open.round", 0, 7), r"open.round\[0\] = 7: expected a round that is not in the log"),
    (entry("open.round", 2, 23), r"open.round\[2\] = 23: expected a round that was begun"),
    (entry("open.member", 0, 12), r"open.member\[0\] = 12: expected a member, 0 to 11"),
    (entry("open.member", 0, -1), r"open.member\[0\] = -1"),
    (entry("open.arm", 1, 7), r"open.arm\[1\] = 7: expected a standing arm, 0 to 6"),
    (
        entry("open.features", 0, 0.25),
        r"open.features\[0\] = .*: expected the features of a standing arm",
    ),
    (entry("open.features", 0, np.inf), r"open.features\[0, 0\] = inf: expected a finite number"),
    (
        entry("open.propensity", 0, 1.5),
        r"open.propensity\[0\] = 1.5: expected a number from 0 to 1",
    ),
    (entry("open.propensity", 0, -0.1), r"open.propensity\[0\] = -0.1"),
    (entry("open.standing", 0, 2), r"open.standing = .*: expected bytes of 0 or 1"),
    (entry("state.ridge", 0, np.nan), r"state.ridge\[0, 0\] = nan: expected a finite number"),
    (
        entry("state.ridge", 0, 0.5),
        r"state.ridge: V\[0, 0\] = 0.5: expected its prior \+ sum x x' over the log",
    ),
    (entry("state.ridge", 1, 0.5), r"state.ridge: V\[0, 1\] = 0.5: expected a symmetric matrix"),
    (entry("state.sums", 0, np.inf), r"state.sums\[0, 0\] = inf"),
    (
        entry("arms.features", 0, np.nan),
        r"arms.features = .*: expected a K x d array of numbers, every entry finite",
    ),
    (
        reshaped("open.features", [3, 2]),
        r"open.features: float64 of shape \(3, 2\), expected float64 of shape \(n, 3\)",
    ),
    (reshaped("open.features", [3, 10_000]), r"open.features: float64 of shape \(3, 10000\)"),
    (reshaped("open.features", [4, 3]), r"open = .*: expected columns of one length"),
    (
        reshaped("log.rewards", [19]),
        r"log = \(20, 20, 19, 20\): expected 20 rounds, arms, rewards and propensities each",
    ),
    (reshaped("log.others", [2]), r"log.others = .*: expected 3 features for each of 0 arms"),
    (
        reshaped("state.sums", [12, 3]),
        r"state.sums: float64 of shape \(12, 3\), expected float64 of shape \(6, 12\)",
    ),
    (
        reshaped("state.ridge", [0, 2**62]),
        r"state.ridge: shape = .*: expected an array of a possible size",
    ),
    (reshaped("arms.features", [0, 3]), r"arms.features = "),
    (
        lambda mutant: mutant.arrays.pop("log.arms"),
        r"arrays: \[\] are not of this policy, \['log.arms'\] are missing",
    ),
    (
        lambda mutant: mutant.arrays.pop("arms.features"),
        r"arms = \[\]: expected the arrays of FiniteArms: features",
    ),
    (
        lambda mutant: mutant.arrays.update(x=["F64", [1], bytearray(8)]),
        r"arrays: \['x'\] are not of this policy",
    ),
]
DESCRIPTIONS = [
    (described("round", -5), r"content.round = -5: expected a whole number from 0 to"),
    (described("round", 1 << 63), r"content.round = "),
    (described("round", 25.0), r"content.round = 25.0 \(float\)"),
    (described("round", 21), r"open.round\[1\] = 21: expected a round that was begun"),
    (described("seed", True), r"content.seed = True"),
    (described("seed", -1), r"content.seed = -1"),
    (described("arms", []), r"content.arms = \[\]: expected kind and dim"),
    (described("arms.kind", "UnitBall"), r"arrays: \['arms.features'\] are not of this policy"),
    (described("arms.kind", ["FiniteArms"]), r"content.arms = "),
    (described("arms.dim", 4), r"content.arms.dim = 4: expected 3, as the arms have"),
    (described("arms.more", 1), r"content.arms = "),
    (described("more", 1), r"content = .*: expected recipe, arms, seed, round and version"),
    (described("recipe", None), r"content.recipe = None: expected a recipe"),
    (
        described("recipe", {"kind": "Gaussian", "scale": 1.0}),
        r"content.recipe = .*: expected a recipe",
    ),
    (
        described("recipe.kind", "Mine"),
        r"recipe.kind = 'Mine': expected a recipe or part of this library",
    ),
    (described("recipe.kind", {}), r"recipe.kind = \{\}"),
    (
        described("recipe.kind", "os:system"),
        r"recipe.kind = 'os:system': expected a recipe or part of one",
    ),
    (
        described("recipe.kind", "antigravity:fly"),
        r"kind = 'antigravity:fly': .* import antigravity first if",
    ),
    (
        described("recipe.kind", "ensample.policies.greedy:Greedy"),
        r"recipe.kind = 'ensample.pol...greedy:Greedy'",
    ),
    (described("recipe.member", {"kind": "os:PathLike"}), r"recipe.member.kind = 'os:PathLike'"),
    (
        described("arms.kind", "os:PathLike"),
        r"os:PathLike cannot be stored: hand them to load\(path, arms=...\)",
    ),
    (described("arms.kind", "Study"), r"Study cannot be stored"),
    (described("arms.kind", "Arms"), r"Arms cannot be stored"),
    (
        described("recipe.kind", "Greedy"),
        r"recipe = .*: expected the fields of Greedy: half_life, model, regularization",
    ),
    (described("recipe.size", ...), r"recipe = .*: expected the fields of EnsembleSampling"),
    (described("recipe.more", 1), r"recipe = .*: expected the fields of EnsembleSampling"),
    (described("recipe.size", 1 << 40), r"state = .*: expected one of at least 3298534883328"),
    (
        described("recipe.size", 13),
        r"state.sums: float64 of shape \(6, 12\), expected float64 of shape \(6, 13\)",
    ),
    (described("recipe.size", "12"), r"recipe: size = '12' \(str\): expected a whole number"),
    (
        described("recipe.scale", 2**53 + 1),
        r"recipe = .*: expected what EnsembleSampling keeps as it is",
    ),
    (described("recipe.scale", [0.5]), r"recipe: scale = \(0.5,\)"),
    (
        described("recipe.regularization", 2.0),
        r"state.ridge: prior\[0\] = 1.0: expected the recipe's regularization",
    ),
    (described("recipe.member", {"kind": "Sphere", "scale": 1.0}), r"recipe: member = Sphere"),
    (
        described("recipe.member", {"kind": "StickyMember", "rounds": 0}),
        r"recipe.member: rounds = 0",
    ),
    (
        described("recipe.scale", math.nan),
        r"content = .*: expected JSON \(ValueError: NaN is no number\)",
    ),
    (described("recipe.scale", 10**400), r"recipe: scale = "),
]
HEADERS = [
    (
        header(lambda found: found["log.rounds"].update(dtype="BF16")),
        r"log.rounds: dtype = 'BF16': expected one of F32, F64",
    ),
    (header(lambda found: found["log.rounds"].update(dtype="F16")), r"log.rounds: dtype = 'F16'"),
    (
        header(lambda found: found["log.rounds"].update(shape=[10**15])),
        r"log.rounds: data_offsets = .*of shape \[10{15}\]",
    ),
    (
        header(lambda found: found["log.rounds"].update(data_offsets=[0, 10**15])),
        r"log.rounds: data_offsets",
    ),
    (header(lambda found: found["log.rounds"].update(shape=[-20])), r"log.rounds: shape = \[-20\]"),
    (
        header(lambda found: found["log.rounds"].pop("shape")),
        r"the header's 'log.rounds' = .*: expected dtype, shape and data_",
    ),
    (header(lambda found: found["__metadata__"].update(more="1")), r"the header's __metadata__ = "),
    (
        header(lambda found: found["__metadata__"].update(content=1)),
        r"the header's __metadata__ = .*: expected an object of texts",
    ),
    (header(lambda found: found.update(__metadata__=[])), r"the header's __metadata__ = \[\]"),
    (header(lambda found: found.clear()), r"not a snapshot of a policy"),
    (
        lambda mutant: mutant.texts.append(lambda text: b"[" * 100_000),
        r"the header = .*: expected JSON \(RecursionError",
    ),
    (
        lambda mutant: mutant.texts.append(lambda text: text[:-1] + b',"x":1,"x":1}'),
        r"a name twice in one object",
    ),
    (
        lambda mutant: mutant.raw.append(lambda whole: bytearray(b"\xff" * 8) + whole[8:]),
        r"the header's length = 18446744073",
    ),
    (lambda mutant: mutant.raw.append(lambda whole: whole + b"more"), r"the data's length = "),
    (
        lambda mutant: setattr(mutant, "content", "[" * 100_000),
        r"content = .*: expected JSON \(RecursionError",
    ),
    (
        lambda mutant: setattr(mutant, "content", "[" * 40 + "]" * 40),
        r"content = .*: expected JSON of at most 32 levels",
    ),
    (lambda mutant: setattr(mutant, "content", '{"seed": 1e999}'), r"1e999 is no number"),
]


@pytest.mark.parametrize(("change", "message"), [*ENTRIES, *DESCRIPTIONS, *HEADERS])
def test_what_cannot_be_is_refused_by_name(crafted, change, message: str) -> None:
    with pytest.raises(es.SnapshotError, match=message) as caught:
        crafted(change)
    assert "crafted: " in str(caught.value), "the message says which file"


@pytest.mark.parametrize(
    ("recipe", "arms", "change", "message"),
    [
        (
            "LinPHE",
            "finite",
            entry("state.pulls", 0, 19),
            r"state.pulls\[0\] = 19: expected how often the arm is in the log",
        ),
        (
            "LinPHE",
            "ball",
            entry("state.root", 3, 1.0),
            r"state.root\[1, 0\] = 1.0: expected 0 below the diagonal",
        ),
        (
            "LinPHE",
            "ball",
            entry("open.member", 0, 3),
            r"open.member\[0\] = 3: expected the number of the round",
        ),
        (
            "LinPHE",
            "ball",
            entry("open.arm", 0, 3),
            r"open.arm\[0\] = 3: expected -1 where arms are not numbered",
        ),
        (
            "LinPHE",
            "ball",
            entry("open.features", 0, 3.0),
            r"open.features\[0, 0\] = 3.0: expected a point of UnitBall",
        ),
        (
            "LinPHE",
            "box",
            entry("open.features", 1, -1.0),
            r"open.features\[0, 1\] = -1.0: expected a point of Box",
        ),
        (
            "LinPHE",
            "changing",
            entry("open.standing", 0, 1),
            r"open.standing\[0\] = True: expected False for arms that change",
        ),
        (
            "LinPHE",
            "changing",
            entry("open.arm", 0, -1),
            r"open.arm\[0\] = -1: expected a whole number >= 0",
        ),
        ("Kveton's LinPHE", "finite", entry("log.arms", 0, -1), r"log.arms\[0\] = -1"),
        (
            "Kveton's LinPHE",
            "finite",
            entry("open.standing", 0, 0),
            r"open.standing: expected standing arms only",
        ),
        (
            "Thompson sampling",
            "ball",
            entry("state.rewards", 2, -1.0),
            r"state.rewards\[2\] = -1.0",
        ),
        ("LinUCB", "ball", entry("state.largest", 0, -1.0), r"state.largest\[0\] = -1.0"),
        ("ensemble, refreshed", "ball", entry("state.last", 1, 0.5), r"state.last\[1\] = 0.5"),
        (
            "LinUCB",
            "ball",
            entry("state.largest", 0, 99.0),
            r"state.largest\[0\] = 99.0: expected a norm that theta_hat can",
        ),
        (
            "logistic PHE",
            "finite",
            entry("state.arm_counts", 0, -5.0),
            r"state.arm_counts\[0\] = -5.0: expected how often",
        ),
        (
            "logistic PHE",
            "finite",
            entry("state.arm_counts", 0, 7.5),
            r"state.arm_counts\[0\] = 7.5: expected how",
        ),
        (
            "logistic PHE",
            "finite",
            entry("state.arm_totals", 0, 99.0),
            r"state.arm_totals\[0\] = 99.0",
        ),
        (
            "GLM-TSL",
            "changing",
            entry("state.other_count", 0, 1e200),
            r"state.other_count\[0\] = 1e\+200",
        ),
        (
            "ensemble, exact logistic",
            "finite",
            entry("state.other_count", 0, 1.0),
            r"state.other_count\[0\] = 1.0",
        ),
        (
            "ensemble, intercept",
            "finite",
            entry("state.ridge", 14 * 4, 9.0),
            r"state.ridge: theta_hat\[0\] = 9.0",
        ),
        (
            "ensemble, intercept",
            "finite",
            entry("state.ridge", 8 * 4, 9.0),
            r"state.ridge: V\^-1\[0, 0\] = 9.0",
        ),
        (
            "ensemble, intercept, fixed scale",
            "ball",
            entry("state.ridge", 11 * 4 + 3, 9.0),
            r"V\^-1\[3, 3\] = 9.0",
        ),
        (
            "ensemble",
            "finite",
            entry("state.sums", 0, 1e4),
            r"state.sums\[0, 0\] = 10000.0: expected a sum of draws",
        ),
        (
            "ensemble, calibrated",
            "finite",
            entry("open.member", 0, 3),
            r"open.member\[0\] = 3: expected a member, 0 to 0",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.root", 3, 1.0),
            r"state.root\[1, 0\] = 1.0: expected 0 below the diagonal",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.root", 0, 99.0),
            r"state.root\[0, 0\] = 99.0: expected a root of",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.gram_root", 3, 1.0),
            r"state.gram_root\[1, 0\] = 1.0: expected 0 below",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.gram_root", 0, 99.0),
            r"state.gram_root\[0, 0\] = 99.0: expected a root of",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.ages", 0, 99.0),
            r"state.ages\[0\] = 99.0: expected the ageing",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.ages", 1, 1e9),
            r"state.ages\[[01]\] = .*: expected the ageing",
        ),
        (
            "ensemble, fresh members",
            "ball",
            entry("state.root", 0, 99.0),
            r"state.root\[0, 0\] = 99.0: expected a root of",
        ),
        (
            "ensemble, fresh members",
            "ball",
            entry("state.root", 1, 99.0),
            r"state.root\[[01], [01]\] = .*: expected a root of",
        ),
        (
            "ensemble, calibrated",
            "ball",
            entry("state.root", 1, 1e-3),
            r"state.root\[[01], [01]\] = .*: expected a root of",
        ),
        (
            "ensemble, fresh members",
            "ball",
            entry("state.ages", 0, 0.1),
            r"state.ages\[0\] = 0.1: expected the ageing",
        ),
        (
            "ensemble, symmetrized",
            "ball",
            entry("state.sums", 0, 0.25),
            r"state.sums\[0, 0\] = 0.25: expected the second half",
        ),
        (
            "Ensemble++",
            "ball",
            entry("state.directions", 0, 1e4),
            r"state.directions\[0, 0\] = 10000.0",
        ),
        (
            "Thompson sampling",
            "ball",
            entry("state.root", 0, 99.0),
            r"state.root\[0, 0\] = 99.0: expected a root of",
        ),
        (
            "Thompson sampling",
            "ball",
            entry("state.rewards", 1, 0.1),
            r"state.rewards\[1\] = 0.1: expected the mean",
        ),
        (
            "LinPHE, logistic",
            "ball",
            entry("state.root", 0, 99.0),
            r"state.root\[0, 0\] = 99.0: expected a root of",
        ),
        (
            "SupLinUCB",
            "finite",
            entry("state.grams", 0, -1.0),
            r"state.grams\[0, 0, 0\] = -1.0: expected diagonals",
        ),
        (
            "SupLinUCB",
            "finite",
            entry("state.grams", 1, 0.5),
            r"state.grams\[0, 0, 1\] = 0.5: expected symmetric",
        ),
        (
            "SupLinUCB",
            "finite",
            entry("state.inverses", 0, -1.0),
            r"state.inverses\[0, 0, 0\] = -1.0: expected diagonals",
        ),
        (
            "SupLinUCB",
            "finite",
            entry("state.inverses", 0, 0.01),
            r"state.inverses\[0, 0, 0\] = 0.01: expected the inverse",
        ),
        ("SupLinUCB", "finite", entry("state.targets", 0, 99.0), r"state.targets\[0, 0\] = 99.0"),
        (
            "SupLinUCB",
            "finite",
            entry("state.means", 0, 99.0),
            r"state.means\[0, 0\] = 99.0: expected V\^-1 b",
        ),
        (
            "multiplier bootstrap",
            "finite",
            entry("state.grams", 0, -1.0),
            r"state.grams\[0, 0, 0\] = -1.0",
        ),
        (
            "multiplier bootstrap",
            "finite",
            entry("state.targets", 0, 1e5),
            r"state.targets\[0, 0\] = 100000.0",
        ),
        (
            "networks",
            "finite",
            entry("state.trained", 0, 999),
            r"state.trained\[0\] = 999: expected .* minibatches",
        ),
        (
            "networks",
            "finite",
            entry("state.features.sizes", 0, 2.0),
            r"state.features.sizes\[0\] = 2.0: expected the st",
        ),
        (
            "networks",
            "changing",
            entry("state.features.seen", 0, 2.0),
            r"state.features.seen\[0\] = 2.0: expected how often",
        ),
        (
            "networks",
            "changing",
            entry("state.memory.rewards", 2, 9.0),
            r"state.memory.rewards\[2\] = 9.0: expected",
        ),
        (
            "information-directed",
            "finite",
            entry("open.member", 0, 1),
            r"open.member\[0\] = 1: expected a member, 0 to 0",
        ),
        (
            "epsilon-greedy",
            "finite",
            described("arms.kind", "Box"),
            r"arms = \['features'\]: expected the arrays of Box",
        ),
        (
            "LinUCB",
            "ball",
            described("arms.dim", 1 << 20),
            r"state = .*: expected one of at least 1099511627776",
        ),
    ],
)
def test_every_model_has_states_that_cannot_be(
    crafted, recipe: str, arms: str, change, message: str
) -> None:
    crafted(lambda mutant: None, recipe, arms, verify=True)
    with pytest.raises(es.SnapshotError, match=message):
        crafted(change, recipe, arms)


def test_every_array_of_every_model_has_a_check() -> None:
    for recipe, arms in EVERY:
        model = start(recipe, arms).model
        assert set(model.arrays()) <= set(checks_of(model)), (recipe, arms)


def test_every_check_can_fail(tmp_path: Path) -> None:
    """An absurd number at the first place of any array, with the log and without.

    Weights are believed, whatever they are; without a log so is what only that says.
    """
    seen = ("newest", "memory.features", "origin", "root of LinPHE, logistic")
    for recipe, arms in {type(start(*kind).model): kind for kind in reversed(EVERY)}.values():
        policy = start(recipe, arms)
        play(policy, 20)
        for name, log in product(policy.model.arrays(), (True, False)):
            if name != "parameters" and (log or not {name, f"{name} of {recipe}"} & set(seen)):
                policy.save(tmp_path / "honest", log=log)
                mutant = Mutant((tmp_path / "honest").read_bytes())
                if mutant.values(f"state.{name}") is None:
                    continue
                entry(
                    f"state.{name}",
                    0,
                    -5 if policy.model.arrays()[name].dtype.kind == "i" else -1e6,
                )(mutant)
                (tmp_path / "crafted").write_bytes(mutant.file())
                with pytest.raises(es.SnapshotError):
                    pytest.fail(
                        f"{recipe} on {arms}: {name} = {es.load(tmp_path / 'crafted').model.arrays()[name]}"
                    )


def test_a_refusal_warns_of_nothing(crafted) -> None:
    """Not even of a NaN that signals when it is converted."""

    def signalling(mutant: Mutant) -> None:
        mutant.arrays["arms.features"][0] = "F32"
        mutant.arrays["arms.features"][2] = bytearray(b"\x01\x00\x80\x7f" * 21)

    with pytest.raises(es.SnapshotError, match=r"arms.features = "):
        crafted(signalling)


COULD_BE = [entry("state.sums", 0, 0.125), described("seed", 1), described("recipe.scale", 0.75)]


@pytest.mark.parametrize("verify", [None, True])
def test_a_state_that_its_log_does_not_give_is_refused(crafted, verify: bool | None) -> None:
    for change in COULD_BE:
        with pytest.raises(
            es.SnapshotError, match=r"state.sums = .*: expected what replaying the log gives"
        ):
            crafted(change, verify=verify)
    with pytest.raises(es.WrongType, match=r"^verify = 1"):
        crafted(lambda mutant: None, verify=1)


def test_digits_that_rounding_decides_are_taken_from_the_log(crafted, tmp_path: Path) -> None:
    """As of a file that another processor wrote: what is loaded is what the log gives, to the last bit."""

    def rounded(mutant: Mutant) -> None:
        mutant.values("state.sums")[...] *= 1.0 + 1e-12

    honest, other = crafted(lambda mutant: None), crafted(rounded)
    assert fingerprint(other) == fingerprint(honest) != fingerprint(crafted(rounded, verify=False))
    with pytest.raises(
        es.SnapshotError, match=r"state.sums = .*: expected what replaying the log gives"
    ):
        crafted(rounded, verify=True)


def test_what_was_drawn_is_believed_where_it_is_asked_for_and_where_a_replay_takes_long(
    crafted, monkeypatch
) -> None:
    for change in COULD_BE:
        crafted(change, verify=False)
    monkeypatch.setattr("ensample.policies.sound_replay.SHORT", 1e-6)
    for change in COULD_BE:
        crafted(change)
    with pytest.raises(
        es.SnapshotError, match=r"V\[0, 0\] = .*: expected its prior \+ sum x x' over the log"
    ):
        crafted(entry("log.arms", 0, 6))


def test_networks_that_are_trained_much_a_round_are_not_replayed_unasked() -> None:
    for work, short in (({}, True), ({"steps": 8, "batch": 1 << 20}, False)):
        model = es.Neural(hidden=(4,), memory=100, **work)
        policy = es.EnsembleSampling(size=5, model=model).start(es.FiniteArms(np.eye(3)), seed=1)
        play(policy, 5)
        assert is_short(policy) is short


class Sluggish(es.Gaussian):
    """A law of somebody's own: nobody knows how long a draw takes."""


def test_a_recipe_of_ones_own_is_not_replayed_unasked(tmp_path: Path) -> None:
    for law, short in ((es.Gaussian(0.5), True), (Sluggish(0.5), False)):
        policy = es.EnsembleSampling(size=5, scale=0.5, reward=law).start(
            es.FiniteArms(np.eye(3)), seed=1
        )
        play(policy, 5)
        assert is_short(policy) is short
        policy.save(tmp_path / "own")
        for verify in (None, True):
            again = es.load(tmp_path / "own", recipe=policy.recipe, verify=verify)
            assert fingerprint(again) == fingerprint(policy)


def test_a_policy_without_observations_survives(tmp_path: Path) -> None:
    policy = start("ensemble", "finite")
    policy.save(tmp_path / "fresh")
    assert fingerprint(es.load(tmp_path / "fresh", verify=True)) == fingerprint(policy)


def test_late_rounds_survive(tmp_path: Path) -> None:
    """Also those beyond the last that a replay may begin with."""
    policy = start("ensemble", "finite")
    policy._ledger.round = 1 << 62
    play(policy, 3)
    policy.decide()
    policy.save(tmp_path / "late")
    assert fingerprint(es.load(tmp_path / "late")) == fingerprint(policy)


@pytest.mark.parametrize("size", [1e-150, 1e-6, 1e6, 1e40])
@pytest.mark.parametrize(
    "recipe",
    ["ensemble", "LinPHE", "Thompson sampling", "LinUCB, watched norm", "ensemble, refreshed"],
)
def test_features_and_rewards_of_any_size_survive(tmp_path: Path, recipe: str, size: float) -> None:
    policy = start(recipe, "changing")
    for t in range(30):
        policy.update(size * np.random.default_rng(t).uniform(-1.0, 1.0, 3), size * (t % 7 - 3))
    policy.save(tmp_path / "sized")
    assert fingerprint(es.load(tmp_path / "sized")) == fingerprint(policy)


def test_state_of_a_half_life_so_short_that_squares_of_what_is_left_underflow(
    tmp_path: Path,
) -> None:
    policy = es.EnsembleSampling(1, half_life=0.005).start(es.ChangingArms(dim=3), seed=5)
    rng = np.random.default_rng(18)
    for number in range(42):
        policy.update(policy.decide(rng.standard_normal((3, 3))), float(number < 38))
    path = tmp_path / "faded.safetensors"
    policy.save(path, log=False)
    assert es.load(path).model.parts.mean.tolist() == policy.model.parts.mean.tolist()


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
