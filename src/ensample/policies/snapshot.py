"""Snapshot files: safetensors with a format version and a checksum, written whole or not at all."""

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ensample.checks import file_path
from ensample.errors import SnapshotError
from ensample.files import write_whole
from ensample.policies.describe import describe
from ensample.policies.plain_json import plain_json
from ensample.policies.tensor_file import (
    Tensors,
    opened,
    read_header,
    read_tensors,
    storable,
    write_tensors,
)
from ensample.registry import name_of

if TYPE_CHECKING:
    from ensample.policies.policy import Policy


FORMAT = "ensample policy"
VERSION = 2
NO_ARM = -1  # an open decision whose arm is not numbered


def save(policy: "Policy", path: str | os.PathLike[str], log: bool = True) -> None:
    """Write the learned state, the open decisions and, if wanted, the log."""
    file = file_path("path", path)
    waiting = policy.open_decisions
    tensors: Tensors = {f"state.{name}": values for name, values in policy.model.arrays().items()}
    if log:
        policy._require_log("save(log=True)")
        tensors |= {
            f"log.{name}": np.array(column) for name, column in policy._ledger.columns().items()
        }
    tensors |= {
        "open.round": np.array([decision.round for decision in waiting], np.int64),
        "open.version": np.array([decision.version for decision in waiting], np.int64),
        "open.member": np.array([decision.member for decision in waiting], np.int64),
        "open.arm": np.array(
            [NO_ARM if decision.arm is None else decision.arm for decision in waiting], np.int64
        ),
        "open.standing": np.array([decision.standing for decision in waiting], np.bool_),
        "open.features": np.array([decision.features for decision in waiting]).reshape(
            -1, policy.arms.dim
        ),
        "open.propensity": np.array(
            [np.nan if d.propensity is None else d.propensity for d in waiting], np.float64
        ),
    }
    arms: dict[str, Any] = {"kind": name_of(type(policy.arms)), "dim": policy.arms.dim}
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
    tensors = {name: storable(name, values) for name, values in tensors.items()}
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "content": content,
        "checksum": checksum(content, tensors),
    }
    write_whole(file, lambda opened: write_tensors(opened, tensors, metadata))


def read(path: str | os.PathLike[str]) -> tuple[Any, Tensors]:
    """(content, tensors) of a snapshot that is whole, of this format and of a known version; what they say is not checked."""
    with opened(file_path("path", path)) as file:
        header = read_header(file)
        metadata = header.metadata
        if metadata.get("format") != FORMAT:
            raise SnapshotError("a safetensors file, but not a snapshot of a policy")
        check_version(metadata.get("version", ""))
        if set(metadata) != {"format", "version", "content", "checksum"}:
            raise SnapshotError.about(
                "the header's __metadata__",
                sorted(metadata),
                "format, version, content and checksum",
            )
        tensors = read_tensors(file, header)
    if metadata["checksum"] != checksum(metadata["content"], tensors):
        raise SnapshotError("damaged, its checksum does not fit its content")
    return plain_json("content", metadata["content"]), tensors


def check_version(version: str) -> None:
    if version != str(VERSION):
        newer = version.isdecimal() and len(version) < 9 and int(version) > VERSION
        advice = "update ensample" if newer else "read it with the release that wrote it"
        raise SnapshotError(f"snapshot version {version!r}, this release reads {VERSION}; {advice}")


def checksum(content: str, tensors: Tensors) -> str:
    """Notices damage; who wants to deceive can compute it too."""
    digest = hashlib.sha256(content.encode(errors="surrogatepass"))
    for name in sorted(tensors):
        values = tensors[name]
        digest.update(f"{name} {values.dtype} {values.shape}".encode(errors="surrogatepass"))
        digest.update(values.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
