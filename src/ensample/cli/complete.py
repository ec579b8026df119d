"""What the shell completes, besides options and files: `ensample --install-completion`."""

from pathlib import Path

# Imports are in the functions: each command needs its own names only.


def problems(incomplete: str) -> list[str]:
    from ensample.problems import families_by_name

    return beginning_with(incomplete, list(families_by_name()))


def policies(incomplete: str) -> list[str]:
    """The last of the names in a list with commas.

    >>> policies("es-10,lin")
    ['es-10,linphe', 'es-10,linucb']
    """
    from ensample.cli.policies import POLICIES
    from ensample.cli.recipes import RECIPES

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in beginning_with(last, [*POLICIES, *RECIPES])]


def claims(incomplete: str) -> list[str]:
    from ensample.claims import CLAIMS

    return beginning_with(incomplete, [claim.id for claim in CLAIMS])


def studies(incomplete: str) -> list[str]:
    """Studies of ours, and files and folders on the way to one."""
    from ensample.lab import BUNDLED

    folder = Path(incomplete).parent if incomplete else Path()
    paths = [path for path in folder.glob("*") if path.suffix == ".toml" or path.is_dir()]
    here = [
        f"{path}/" if path.is_dir() else str(path)
        for path in sorted(paths)
        if not path.name.startswith(".")
    ]
    return beginning_with(incomplete, [*BUNDLED, *here])


def beginning_with(incomplete: str, names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
