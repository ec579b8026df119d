"""The keys for a cluster that asks for them: a small TOML file with the paths of three others.

    ca = "ca.pem"        # who signs the certificates of this cluster
    cert = "me.pem"      # ours
    key = "me.key"       # its private key; left out where the certificate's file holds it too

A path that is not absolute is beside the file.
"""

import tomllib
from pathlib import Path
from typing import Any

from distributed import Security

from ensample.errors import InvalidArgument

KEYS = ("ca", "cert", "key")


def keys_in(file: Path) -> Any:
    """The keys that a file names. Raises, naming the file, unless they can be used."""
    paths = paths_in(file)
    keys = Security(
        require_encryption=True,
        tls_ca_file=paths["ca"],
        tls_client_cert=paths["cert"],
        tls_client_key=paths.get("key"),
    )
    try:
        keys.get_connection_args("client")
    except OSError as error:  # ssl's errors are among them
        raise refused(file, f"PEM files that belong together ({error})") from None
    return keys


def configured_keys(address: str) -> Any:
    """The keys of distributed's own configuration, where a cluster asks for some and no file is given."""
    keys: Any = Security()
    if not keys.tls_ca_file or not keys.tls_client_cert:
        raise InvalidArgument(
            "cluster_security", None, f"a file with the keys for {address}: ca, cert and key"
        )
    return keys


def paths_in(file: Path) -> dict[str, str]:
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise refused(file, f"a TOML file with ca, cert and key ({error})") from None
    for key, path in table.items():
        if key not in KEYS or not isinstance(path, str):
            raise refused(
                file, f"the paths ca, cert and key, and nothing else: {key} is {path!r:.100}"
            )
    for key in ("ca", "cert"):
        if key not in table:
            raise refused(file, f"the paths ca, cert and key, and {key} is missing")
    found = {key: str(file.absolute().parent / path) for key, path in table.items()}
    for key, path in found.items():
        if not Path(path).is_file():
            raise refused(file, f"paths of files that are there; {key} is {path!r}")
    return found


def refused(file: Path, expected: str) -> InvalidArgument:
    return InvalidArgument("cluster_security", str(file), expected)
