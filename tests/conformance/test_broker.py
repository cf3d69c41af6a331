"""The broker's process comes up, is said to be missing, and goes away with the harness."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.errors import BadInput
from tests.conformance.broker import Broker, running_broker
from tests.conformance.processes import is_alive, wait_until

LISTENS = r"""
import os, re, socket, sys, time
if "format" in sys.argv:
    sys.exit(0)
settings = open(sys.argv[-1]).read()
with open(re.search("log.dirs=(.*)", settings)[1] + ".pid", "w") as file:
    file.write(str(os.getpid()))
port = int(re.search(r"PLAINTEXT://\S+?:(\d+)", settings)[1])
server = socket.create_server(("127.0.0.1", port))
time.sleep(600)
"""
ENDS = """
import sys
if "format" not in sys.argv:
    print("SLF4J: no logger")
    print("out of luck")
    sys.exit(3)
"""
REFUSES = """
import sys
print("no such folder", file=sys.stderr)
sys.exit(1)
"""


def pid_of(folder: Path) -> int:
    (file,) = folder.glob("replog-broker-*/data.pid")
    return int(file.read_text())


def test_a_broker_is_stopped_and_its_files_removed(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)

    with running_broker([Path("kafka.jar")]) as broker:
        pid = pid_of(tmp_path / "folders")
        assert broker.address.startswith("127.0.0.1:")
        assert is_alive(pid)

    assert not is_alive(pid)
    assert list((tmp_path / "folders").iterdir()) == []


def test_an_exception_stops_the_broker(java: Callable[[str], None], tmp_path: Path) -> None:
    java(LISTENS)
    pids: list[int] = []

    def fail() -> None:
        with running_broker([Path("kafka.jar")]):
            pids.append(pid_of(tmp_path / "folders"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    assert not is_alive(pids[0])


def test_a_harness_that_is_killed_takes_the_broker_with_it(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(LISTENS)
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tests.conformance.broker import running_broker\n"
        "with running_broker([Path('kafka.jar')]):\n"
        "    print('up', flush=True); time.sleep(600)\n"
    )
    root = Path(__file__).parent.parent.parent
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=root
    ) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"up\n"
        pid = pid_of(tmp_path / "folders")
        harness.send_signal(signal.SIGKILL)

    wait_until(lambda: not is_alive(pid))
    wait_until(lambda: list((tmp_path / "folders").iterdir()) == [])


def test_a_broker_that_ends_at_once_is_reported_with_its_last_words(
    java: Callable[[str], None], tmp_path: Path
) -> None:
    java(ENDS)

    with (
        pytest.raises(BadInput, match="the broker ended with status 3: out of luck"),
        running_broker([Path("kafka.jar")]),
    ):
        pass

    assert list((tmp_path / "folders").iterdir()) == []


def test_a_folder_that_cannot_be_formatted_is_reported(java: Callable[[str], None]) -> None:
    java(REFUSES)

    with (
        pytest.raises(BadInput, match="cannot be formatted: no such folder"),
        running_broker([Path("kafka.jar")]),
    ):
        pass


def test_a_broker_that_never_listens_is_reported(java: Callable[[str], None]) -> None:
    java("import sys, time\nif 'format' not in sys.argv:\n    time.sleep(600)\n")

    with (
        pytest.raises(BadInput, match=r"does not listen on port \d+ after 1 s"),
        running_broker([Path("kafka.jar")], start_s=1),
    ):
        pass


def test_the_cleaners_checkpoint_is_read_from_its_file(tmp_path: Path) -> None:
    broker = Broker("127.0.0.1:9092", tmp_path)
    assert broker.checkpoint("compared") is None

    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\nother 0 7\ncompared 0 12\n")

    assert broker.checkpoint("compared") == 12
    assert broker.checkpoint("missing") is None
    assert broker.partition("compared") == tmp_path / "compared-0"
