"""Results of each kind with their pages, made once."""

from pathlib import Path

import pytest
from results_made import Made, make_results


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A run, a study, a comparison and a replay, and the page of each."""
    folder: Path = tmp_path_factory.mktemp("results")
    return make_results(folder)
