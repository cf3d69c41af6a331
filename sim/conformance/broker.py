"""A real Kafka broker: one node in KRaft mode on loopback, started and stopped by the harness.

It runs in a process and a temporary folder of its own and goes away with the harness, whichever way
that ends: normally, by an exception, by Ctrl-C, or killed.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.conformance.jars import java_command
from sim.errors import BadInput

LOOPBACK = "127.0.0.1"
START_S = 120
STOP_S = 30
_POLL_S = 0.1
_CLUSTER_ID = "cmVwbG9nLWNvbmZvcm1hbg"
_HEAP = ("-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1")

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "auto.create.topics.enable": "false",
}

# Waits until its input ends, which it does when the harness is gone, then ends the broker.
_WATCHMAN = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is running.

    Attributes:
        address: Host and port for clients.
        data: Its log folder.
    """

    address: str
    data: Path

    def partition(self, topic: str) -> Path:
        """The folder of the only partition of a topic."""
        return self.data / f"{topic}-0"

    def checkpoint(self, topic: str) -> int | None:
        """The first dirty offset the cleaner stored for a topic; None before its first pass.

        The file `cleaner-offset-checkpoint` has a version, a count, and a line per partition
        (Kafka's OffsetCheckpointFile); it is replaced as a whole.
        """
        try:
            lines = (self.data / "cleaner-offset-checkpoint").read_text().splitlines()
        except FileNotFoundError:
            return None
        entries = dict(line.rsplit(" ", 1) for line in lines[2:])
        stored = entries.get(f"{topic} 0")
        return None if stored is None else int(stored)


@contextmanager
def running_broker(jars: Sequence[Path], *, start_s: float = START_S) -> Iterator[Broker]:
    """Start a broker from the jars of a release; stop it and remove its files at the end.

    Args:
        jars: What `kafka_jars` gives.
        start_s: How long it may take until it answers.

    Raises:
        BadInput: No Java, or the broker does not come up; the text has its last words.
    """
    folder = Path(tempfile.mkdtemp(prefix="replog-broker-"))
    try:
        clients, controller = _free_ports()
        settings = _write_settings(folder, clients, controller)
        java = [java_command(), *_HEAP, "-cp", ":".join(map(str, jars))]
        _format(java, settings)
        output = folder / "output.txt"
        with output.open("wb") as said:
            process = subprocess.Popen(
                [*java, "kafka.Kafka", str(settings)],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                cwd=folder,
                start_new_session=True,  # Ctrl-C is the harness's: it stops the broker in order
            )
        with _stopped_at_the_end(process, folder):
            _await_listening(process, clients, output, start_s)
            yield Broker(f"{LOOPBACK}:{clients}", folder / "data")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _free_ports() -> tuple[int, int]:
    """Two ports nobody listens on at the moment."""
    with socket.socket() as first, socket.socket() as second:
        first.bind((LOOPBACK, 0))
        second.bind((LOOPBACK, 0))
        return int(first.getsockname()[1]), int(second.getsockname()[1])


def _write_settings(folder: Path, clients: int, controller: int) -> Path:
    settings = {
        **_SETTINGS,
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{clients}",
        "log.dirs": str(folder / "data"),
    }
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return path


def _format(java: list[str], settings: Path) -> None:
    """Prepare the log folder, as `kafka-storage.sh format` does."""
    command = [*java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(settings)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S, check=False)
    except subprocess.TimeoutExpired:
        raise BadInput(f"the broker's folder was not formatted in {START_S} s") from None
    if done.returncode != 0:
        raise BadInput(f"the broker's folder cannot be formatted: {_last_words(done.stderr)}")


@contextmanager
def _stopped_at_the_end(process: subprocess.Popen[bytes], folder: Path) -> Iterator[None]:
    """Stop the broker on leaving; a watchman does it if the harness is killed before."""
    with subprocess.Popen(
        ["sh", "-c", _WATCHMAN, "sh", str(process.pid), str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as watchman:
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            watchman.kill()


def _await_listening(
    process: subprocess.Popen[bytes], port: int, output: Path, start_s: float
) -> None:
    end = time.monotonic() + start_s
    while time.monotonic() < end:
        if process.poll() is not None:
            words = _last_words(output.read_text(errors="replace"))
            raise BadInput(f"the broker ended with status {process.returncode}: {words}")
        try:
            with socket.create_connection((LOOPBACK, port), timeout=1):
                return
        except OSError:
            time.sleep(_POLL_S)
    raise BadInput(f"the broker does not listen on port {port} after {start_s:.0f} s")


def _last_words(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip() and "SLF4J" not in line]
    return lines[-1].strip() if lines else "it said nothing"
