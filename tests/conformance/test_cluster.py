"""The nodes of a cluster come up, and go away with the harness, paused or not."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.errors import BadInput
from tests.conformance.cluster import BROKERS, Cluster, running_cluster
from tests.conformance.processes import is_alive, wait_until

LISTENS = r"""
import os, re, socket, sys, time
if "format" in sys.argv:
    sys.exit(0)
settings = open(sys.argv[-1]).read()
folder = re.search("log.dirs=(.*)", settings)[1]
os.mkdir(folder)
with open(folder + "/pid", "w") as file:
    file.write(str(os.getpid()))
port = int(re.search(r"listeners=\w+://\S+?:(\d+)", settings)[1])
server = socket.create_server(("127.0.0.1", port))
print("node", port, "listens", flush=True)
time.sleep(600)
"""
CONTROLLER_ENDS = LISTENS.replace(
    "port = int", "if 'process.roles=controller' in settings: sys.exit('no quorum')\nport = int"
)
FORMATS_FOR_EVER = """
import os, sys, time
with open(sys.argv[-1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[-1] + ".new", sys.argv[-1] + ".pid")
time.sleep(600)
"""
JARS = [Path("kafka.jar")]
LOGGER = Path("logger.jar")


def pids(cluster: Cluster) -> dict[int, int]:
    return {broker: int((cluster.data[broker] / "pid").read_text()) for broker in BROKERS}


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_cluster_is_three_brokers_and_a_controller_until_its_end(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)

    with running_cluster(JARS, LOGGER, kept=tmp_path / "kept") as cluster:
        found = pids(cluster)
        controller = int((cluster.data[1].parent / "data-100" / "pid").read_text())
        assert len({*found.values(), controller}) == 4
        assert all(is_alive(pid) for pid in found.values())
        assert len({*cluster.addresses.values(), cluster.controller}) == 4

    assert not any(is_alive(pid) for pid in [*found.values(), controller])
    assert list((tmp_path / "folders").iterdir()) == []
    assert not (tmp_path / "kept").exists()


def test_a_paused_broker_stands_still_and_goes_on(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)

    with running_cluster(JARS, LOGGER, kept=tmp_path / "kept") as cluster:
        pid = pids(cluster)[2]
        for _ in range(2):
            with cluster.paused(2):
                assert state(pid) == "T"
        wait_until(lambda: state(pid) != "T")


def test_a_broker_that_is_gone_does_not_stand_still(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)

    with running_cluster(JARS, LOGGER, kept=tmp_path / "kept") as cluster:
        cluster.processes[1].kill()
        cluster.processes[1].wait()
        with pytest.raises(BadInput, match="broker 1 ended with status -9"), cluster.paused(1):
            pass


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, BadInput])
def test_an_exception_ends_all_nodes_the_paused_one_too(
    java: Callable[[str], None], tmp_path: Path, interrupt: type[BaseException]
) -> None:
    java(LISTENS)
    found: dict[int, int] = {}

    def fail() -> None:
        with running_cluster(JARS, LOGGER, kept=tmp_path / "kept") as cluster:
            found.update(pids(cluster))
            cluster.processes[3].send_signal(signal.SIGSTOP)
            raise interrupt

    with pytest.raises(interrupt):
        fail()

    assert not any(is_alive(pid) for pid in found.values())
    assert list((tmp_path / "folders").iterdir()) == []
    logs = sorted(path.name for path in (tmp_path / "kept").glob("*"))
    kept = [] if interrupt is KeyboardInterrupt else [f"node-{n}.log" for n in (1, 100, 2, 3)]
    assert logs == kept


def test_a_harness_that_is_killed_takes_all_nodes_with_it(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)
    program = (
        "import signal, time; from pathlib import Path\n"
        "from tests.conformance.cluster import running_cluster\n"
        "with running_cluster([Path('k.jar')], Path('l.jar'), kept=Path('kept')) as cluster:\n"
        "    pids = [process.pid for process in cluster.processes.values()]\n"
        "    cluster.processes[3].send_signal(signal.SIGSTOP)\n"
        "    print(*pids, flush=True); time.sleep(600)\n"
    )
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root
    ) as harness:
        assert harness.stdout is not None
        found = [int(pid) for pid in harness.stdout.readline().split()]
        assert len(found) == 3
        harness.send_signal(signal.SIGKILL)

    wait_until(lambda: not any(is_alive(pid) for pid in found))
    wait_until(lambda: list((tmp_path / "folders").iterdir()) == [])


def test_a_harness_that_is_killed_while_folders_are_formatted_leaves_nothing(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(FORMATS_FOR_EVER)
    program = (
        "from pathlib import Path\n"
        "from tests.conformance.cluster import running_cluster\n"
        "with running_cluster([Path('k.jar')], Path('l.jar'), kept=Path('kept')): pass\n"
    )
    root = Path(__file__).parent.parent.parent
    folders = tmp_path / "folders"
    with subprocess.Popen([sys.executable, "-c", program], cwd=root) as harness:
        wait_until(lambda: len(list(folders.glob("*/*.pid"))) == 4)
        found = [int(file.read_text()) for file in folders.glob("*/*.pid")]
        harness.send_signal(signal.SIGTERM)

    wait_until(lambda: not any(is_alive(pid) for pid in found))
    wait_until(lambda: list(folders.iterdir()) == [])


def test_a_node_that_ends_at_once_is_reported_and_its_log_kept(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(CONTROLLER_ENDS)

    with (
        pytest.raises(BadInput, match="ended with status 1: no quorum"),
        running_cluster(JARS, LOGGER, kept=tmp_path / "kept"),
    ):
        pass

    assert "no quorum" in (tmp_path / "kept" / "node-100.log").read_text()
    assert list((tmp_path / "folders").iterdir()) == []


def test_epoch_caches_are_read_from_their_files(tmp_path: Path) -> None:
    cluster = Cluster({1: "a:1"}, "a:0", {1: tmp_path}, {})
    assert cluster.epochs(1, "topic") == []

    (tmp_path / "topic-0").mkdir()
    (tmp_path / "topic-0" / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n3 14\n")

    assert cluster.epochs(1, "topic") == [(0, 0), (3, 14)]
