"""What several tests of the laboratory compare with."""

import pytest

import ensample as es
from lab.studies import slow


@pytest.fixture(scope="session")
def slow_whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the slow study, run by threads and not disturbed."""
    from lab.test_run import cell_files

    folder = tmp_path_factory.mktemp("slow")
    es.run_study(slow(), folder)
    return cell_files(folder)
