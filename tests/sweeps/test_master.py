"""A master that cannot be used is told in one line, before Java starts."""

import re
import socket
from collections.abc import Iterator

import pytest

from sim.errors import BadInput
from sim.sweeps.engines import master


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def complaint(url: str) -> str:
    with pytest.raises(BadInput) as caught:
        master.check_master(url)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("local", True),
        ("local[*,3]", True),
        ("local-cluster[2,1,512]", False),
        ("localhost", False),
        ("spark://local:7077", False),
        ("yarn", False),
    ],
)
def test_only_a_master_in_this_process_is_local(url: str, local: bool) -> None:
    assert master.is_local(url) is local


def test_a_master_that_listens_is_taken(listening: int, closed: int) -> None:
    master.check_master(f"spark://127.0.0.1:{listening}")
    master.check_master(f"k8s://https://127.0.0.1:{listening}")
    master.check_master(f"spark://127.0.0.1:{closed},127.0.0.1:{listening}")


def test_a_closed_port_is_named(closed: int) -> None:
    assert f"nobody listens at 127.0.0.1:{closed}" in complaint(f"spark://127.0.0.1:{closed}")


def test_a_wrong_name_of_a_machine_is_named() -> None:
    assert "'no-such-host.invalid'" in complaint("spark://no-such-host.invalid:7077")


def test_a_master_that_drops_packets_is_waited_for_some_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def silent(_address: object, timeout: float) -> None:
        assert timeout <= 10
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", silent)

    assert "no answer from 10.1.2.3:7077 within 5 s" in complaint("spark://10.1.2.3:7077")


@pytest.mark.parametrize("url", ["spark://", "spark://host", "spark://host:0", "spark://h:99999"])
def test_an_address_without_host_and_port_is_refused(url: str) -> None:
    assert "is no HOST:PORT" in complaint(url)


@pytest.mark.parametrize("url", ["mesos://host:5050", "sc://host", "host:7077", ""])
def test_other_kinds_of_masters_are_refused_with_those_there_are(url: str) -> None:
    assert re.search(r"allowed: local\[N\], spark://HOST:PORT, yarn or k8s://", complaint(url))


def test_yarn_needs_the_folder_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    assert "neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set" in complaint("yarn")

    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    master.check_master("yarn")
