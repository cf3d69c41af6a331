"""One Spark session for all tests that need one; plans that cost nothing to run."""

import os
from collections.abc import Iterator

import pytest

from tests.commands import ROOT
from tests.sweeps.spark_cluster import SMALL_SPARK


@pytest.fixture(scope="session")
def spark() -> Iterator[object]:
    """A session that the sweeps under test find and use. Its workers can import `tests`."""
    from sim.study.sweep.spark import spark_session

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        with spark_session(master="local[2,3]", settings=SMALL_SPARK) as session:
            yield session
