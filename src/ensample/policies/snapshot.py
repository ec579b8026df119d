"""Snapshot files: safetensors with a format version and a checksum, written whole or not at all."""

import hashlib
import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ensample.checks import file_path
from ensample.errors import InvalidArgument, SnapshotError
from ensample.policies.describe import describe

if TYPE_CHECKING:
    from ensample.policies.policy import Policy

__all__ = ["NO_ARM", "VERSION", "Tensors", "read", "save"]

FORMAT = "ensample policy"
VERSION = 2
NO_ARM = -1  # an open decision whose arm is not numbered

Tensors = dict[str, NDArray[Any]]


def save(policy: "Policy", path: str | os.PathLike[str], log: bool = True) -> None:
    """Write the learned state, the open decisions and, if wanted, the log."""
    file = file_path("path", path)
    if not file.parent.is_dir() or file.is_dir():
        raise InvalidArgument("path", os.fspath(file), "a file in a folder that exists")
    waiting = policy.open_decisions
    tensors: Tensors = {f"state.{name}": values for name, values in policy.model.arrays().items()}
    if log:
        policy._require_log("save(log=True)")
        tensors |= {f"log.{name}": np.array(column) for name, column in policy._ledger.columns().items()}
    tensors |= {
        "open.round": np.array([decision.round for decision in waiting], np.int64),
        "open.version": np.array([decision.version for decision in waiting], np.int64),
        "open.member": np.array([decision.member for decision in waiting], np.int64),
        "open.arm": np.array([NO_ARM if decision.arm is None else decision.arm for decision in waiting], np.int64),
        "open.standing": np.array([decision.standing for decision in waiting], np.bool_),
        "open.features": np.array([decision.features for decision in waiting]).reshape(-1, policy.arms.dim),
        "open.propensity": np.array([np.nan if d.propensity is None else d.propensity for d in waiting], np.float64),
    }
    arms: dict[str, Any] = {"kind": type(policy.arms).__name__, "dim": policy.arms.dim}
    for name, value in (policy.arms.parameters or {}).items():
        if isinstance(value, np.ndarray):
            tensors[f"arms.{name}"] = value
    content = json.dumps(
        {
            "recipe": describe(policy.recipe),
            "arms": arms,
            "seed": policy.seed,
            "round": policy.round,
            "version": policy.version,
        },
        sort_keys=True,
    )
    tensors = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    write(
        file,
        tensors,
        {"format": FORMAT, "version": str(VERSION), "content": content, "checksum": checksum(content, tensors)},
    )


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """(content, tensors) of a snapshot that is whole, of this format and of a known version."""
    if not file_path("path", path).is_file():
        raise SnapshotError(f"path = {os.fspath(path)!r}: expected a snapshot file, there is none")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError) as error:
        raise SnapshotError(f"{os.fspath(path)}: not a snapshot, or damaged or cut short ({error})") from error
    if metadata.get("format") != FORMAT:
        raise SnapshotError(f"{os.fspath(path)}: a safetensors file, but not a snapshot of a policy")
    version = metadata.get("version", "")
    if version != str(VERSION):
        raise SnapshotError(f"{os.fspath(path)}: snapshot version {version!r}, this release reads {VERSION}; update ensample")
    content = metadata.get("content", "")
    if metadata.get("checksum") != checksum(content, tensors):
        raise SnapshotError(f"{os.fspath(path)}: damaged, its checksum does not fit its content")
    return json.loads(content), tensors


def write(path: Path, tensors: Tensors, metadata: dict[str, str]) -> None:
    """Under another name first, so that an interrupted write leaves the old file as it was."""
    path = path.resolve()  # a link stays a link
    half = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        save_file(tensors, half, metadata)
        sync(half)
        os.replace(half, path)
        sync(path.parent)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def sync(path: Path) -> None:
    """Make sure that a file, or a folder's list of files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(content: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(content.encode())
    for name in sorted(tensors):
        values = tensors[name]
        digest.update(f"{name} {values.dtype} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
