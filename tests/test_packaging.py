"""What pyproject.toml asks for. That its lower bounds are true is shown by `make test-lowest`."""

import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import ensample as es
from lowest import PYPROJECT, lowest, pinned

FILE = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
PROJECT = FILE["project"]
ROOT = PYPROJECT.parent


def test_every_direct_dependency_has_a_lower_bound_that_can_be_tried() -> None:
    pins = dict(pin.split("==") for pin in lowest(PROJECT))
    assert {"numpy", "rich", "typer", "jinja2", "matplotlib", "polars", "distributed"} <= set(pins)
    for name, least in pins.items():
        assert numbers(version(name)) >= numbers(least), f"{name} here is older than we ask for"


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".") if part.isdigit()]


def test_a_dependency_without_a_bound_is_not_passed_over() -> None:
    assert pinned("polars>=1.30") == "polars==1.30"
    for requirement in ("polars", "polars<2", "polars==1.30", "polars~=1.30"):
        with pytest.raises(ValueError, match="has no lower bound"):
            pinned(requirement)


def test_source_distribution_has_what_build_and_tests_need(tmp_path: Path) -> None:
    build = f"from scikit_build_core.build import build_sdist; build_sdist({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, check=True, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    needed = {
        "CMakeLists.txt",
        "cmake/zig.cmake",
        "cpp/ridge.hpp",
        "Makefile",
        "NOTICE",
        "constraints.txt",
        "mkdocs.yml",
    }
    assert needed <= names
    folders = {name.partition("/")[0] for name in names}
    assert {*FILE["tool"]["pytest"]["ini_options"]["testpaths"], "cpp", "examples"} <= folders
    assert not folders & {"build", "results", ".venv", ".git"}


def test_image_is_built_from_all_that_the_build_reads() -> None:
    lines = (ROOT / "docs" / "deploy" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = {
        name.removeprefix("./")
        for line in lines
        if line.startswith("COPY ")
        for name in line.split()[1:-1]
    }
    read = {
        "pyproject.toml",
        "CMakeLists.txt",
        "cmake",
        "cpp",
        "src",
        "README.md",
        *PROJECT["license-files"],
    }
    assert read <= copied and all((ROOT / name).exists() for name in read)


def test_the_version_is_said_once_more_and_alike() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f'\nversion: "{es.__version__}"\n' in citation
    assert f"\n## [{es.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
