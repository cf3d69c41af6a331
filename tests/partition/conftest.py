"""Partitions that brokers of Kafka 3.8.0 and 4.3.1 wrote, recorded with what Kafka says of them.

`recorded.zip` has for each version folders `before` and `after` a pass of the broker's cleaner,
with the text of kafka-dump-log of each partition before it. `others` has the same of internal
topics, and of old message formats that Kafka's classes wrote. Below `replicas` are the brokers'
folders at moments of the clusters in tests/data/kafka_cluster, below `settings` texts of
kafka-configs --describe of 2.8, 3.8 and 4.3 about a broker of 3.8.0.
"""

import shutil
from pathlib import Path

import pytest

ZIP = Path(__file__).with_name("recorded.zip")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    shutil.unpack_archive(ZIP, folder)
    return folder


@pytest.fixture
def partition(recorded: Path, tmp_path: Path) -> Path:
    """A partition of its own, with transactions, gzip, and a data directory around it."""
    data = tmp_path / "data"
    shutil.copytree(recorded / "3.8.0" / "before", data)
    return data / "t11-0"
