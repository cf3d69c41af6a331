"""Real Kafka nodes in KRaft mode on loopback: a single broker, or a controller and three brokers.

Each node is a process of its own in a temporary folder, so that a broker can be paused as a virtual
machine is, and goes on later. No node outlives the harness: a node runs in a session of its own, so
that Ctrl-C reaches the harness alone, which then ends the nodes, and a watchman process for each
node ends it when the harness is killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sim.errors import BadInput
from sim.simulate.partition import checkpoint_in
from tests.conformance.jvm import java_command, kafka_jars, run_java

BROKERS = (1, 2, 3)
CONTROLLER = 100
FETCH_WAIT_MS = 100
"""`replica.fetch.wait.max.ms`: longest time until a follower's fetch is answered."""
START_S = 120
STOP_S = 30
PATIENCE_S = 60
POLL_S = 0.05
"""Short, as Java takes a signal and Python sees it when it wakes up."""

_LOOPBACK = "127.0.0.1"
_CLUSTER_ID = "cmVwbG9nLWNvbmZvcm1hbg"
_SMALL = ("-Xms64m", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_COMMON = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "auto.create.topics.enable": "false",
    "replica.high.watermark.checkpoint.interval.ms": "200",
}
_ALONE = {
    "process.roles": "broker,controller",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
_IN_CLUSTER = {
    "process.roles": "broker",
    "auto.leader.rebalance.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "replica.fetch.wait.max.ms": str(FETCH_WAIT_MS),
    "transaction.state.log.num.partitions": "1",
    "producer.id.expiration.check.interval.ms": "500",
}

# Waits until its input ends, as it does when the harness ends, then kills the node.
_WATCHMAN = 'read -r _; kill -9 "$1" 2>/dev/null; rm -rf "$2"'


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that is running, and its files.

    Attributes:
        address: Host and port for clients.
        data: Its log directory.
    """

    address: str
    data: Path

    def partition(self, topic: str) -> Path:
        """Folder of the only partition of a topic."""
        return self.data / f"{topic}-0"

    def checkpoint(self, topic: str) -> int | None:
        """First dirty offset that the cleaner stored for a topic; None before its first pass."""
        return checkpoint_in(self.data / "cleaner-offset-checkpoint").get(f"{topic} 0")

    def await_cleaned(self, topic: str, bound: int) -> None:
        """Waits until the cleaner has reached an offset of a topic (exclusive)."""
        what = f"the cleaner's checkpoint {bound} of {topic}"
        await_that(what, lambda: self.checkpoint(topic), bound)

    def epochs(self, topic: str) -> list[tuple[int, int]]:
        """Epoch and start offset of each entry of the leader epoch cache of a replica on disk."""
        entries = checkpoint_in(self.partition(topic) / "leader-epoch-checkpoint")
        return [(int(epoch), start) for epoch, start in entries.items()]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is running.

    Attributes:
        controller: Host and port of the controller.
        brokers: The brokers by their ids.
        processes: The processes of the brokers.
    """

    controller: str
    brokers: dict[int, Broker]
    processes: dict[int, subprocess.Popen[bytes]]

    @contextmanager
    def paused(self, broker: int) -> Iterator[None]:
        """Pauses a broker: it neither fetches nor answers, and its cleaner stands still.

        On a busy machine its threads go on for some milliseconds after the signal; this waits for
        them.

        Raises:
            BadInput: The broker does not stop in time, or has ended.
        """
        process = self.processes[broker]
        process.send_signal(signal.SIGSTOP)
        try:
            await_that(
                f"broker {broker} to stand still",
                lambda: _has_stopped(process, broker),
                patience_s=STOP_S,
            )
            yield
        finally:
            process.send_signal(signal.SIGCONT)


def _has_stopped(process: subprocess.Popen[bytes], broker: int) -> bool:
    """True once all threads of a process have stopped; a later call returns False again."""
    if process.poll() is not None:
        raise BadInput(f"broker {broker} ended with status {process.returncode}")
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG) is not None


@contextmanager
def running_broker(version: str, settings: Mapping[str, str]) -> Iterator[Broker]:
    """Starts a broker of a release; ends it and removes its files afterwards.

    Args:
        version: The release.
        settings: Settings of the broker in addition to the harness's own.

    Raises:
        BadInput: No Java, or the broker does not start; the text has its last line of output.
    """
    clients, controller = _free_ports(2)
    address = f"PLAINTEXT://{_LOOPBACK}:{clients}"
    listens = {
        "controller.quorum.voters": f"1@{_LOOPBACK}:{controller}",
        "listeners": f"{address},CONTROLLER://{_LOOPBACK}:{controller}",
        "advertised.listeners": address,
    }
    nodes = {1: {**_ALONE, **listens, **settings}}
    with _running(version, nodes, {1: clients}) as (folder, _):
        yield Broker(f"{_LOOPBACK}:{clients}", folder / "data-1")


@contextmanager
def running_cluster(version: str) -> Iterator[Cluster]:
    """Starts a cluster of a release; kills it and removes its files at the end.

    Raises:
        BadInput: No Java, or a node does not start.
    """
    ports = dict(zip((CONTROLLER, *BROKERS), _free_ports(1 + len(BROKERS)), strict=True))
    address = {node: f"{_LOOPBACK}:{port}" for node, port in ports.items()}
    voters = {"controller.quorum.voters": f"{CONTROLLER}@{address[CONTROLLER]}"}
    listens = f"CONTROLLER://{address[CONTROLLER]}"
    nodes = {CONTROLLER: {**voters, "process.roles": "controller", "listeners": listens}}
    for node in BROKERS:
        listens = f"PLAINTEXT://{address[node]}"
        clients = {"listeners": listens, "advertised.listeners": listens}
        nodes[node] = {**voters, **_IN_CLUSTER, **clients}
    with _running(version, nodes, ports) as (folder, processes):
        brokers = {node: Broker(address[node], folder / f"data-{node}") for node in BROKERS}
        yield Cluster(address[CONTROLLER], brokers, processes)


@contextmanager
def _running(
    version: str, nodes: Mapping[int, Mapping[str, str]], ports: Mapping[int, int]
) -> Iterator[tuple[Path, dict[int, subprocess.Popen[bytes]]]]:
    """Runs nodes of a release, each with its settings and its port, in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="replog-nodes-"))
    java = [*_SMALL, "-cp", ":".join(map(str, kafka_jars(version)))]
    try:
        written = {node: _write(folder, node, settings) for node, settings in nodes.items()}
        for path in written.values():
            _format_storage(java, path)
        with ExitStack() as stack:
            processes = {
                node: stack.enter_context(_node(java, path, folder / f"node-{node}.log", folder))
                for node, path in written.items()
            }
            for node, process in processes.items():
                _await_listening(process, ports[node], folder / f"node-{node}.log")
            yield folder, processes
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, node: int, settings: Mapping[str, str]) -> Path:
    """Writes the settings of a node as a properties file."""
    own = {"node.id": str(node), "log.dirs": str(folder / f"data-{node}")}
    path = folder / f"node-{node}.properties"
    lines = [f"{name}={value}\n" for name, value in {**_COMMON, **own, **settings}.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _free_ports(count: int) -> list[int]:
    """Free ports of the loopback interface."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind((_LOOPBACK, 0))
        return [int(bound.getsockname()[1]) for bound in sockets]


def _format_storage(java: Sequence[str], settings: Path) -> None:
    """Formats the log directory of a node, as `kafka-storage.sh format` does."""
    tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(settings)]
    done = run_java(*java, *tool, what="a broker's folder", patience_s=START_S)
    if done.returncode != 0:
        words = _last_words(done.stderr.decode(errors="replace"))
        raise BadInput(f"the broker's folder cannot be formatted: {words}")


@contextmanager
def _node(
    java: Sequence[str], settings: Path, output: Path, folder: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a node; kills it at the end, even if it is paused.

    A watchman does so if the harness is killed before.
    """
    with output.open("wb") as said:
        process = subprocess.Popen(
            [java_command(), *java, "kafka.Kafka", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is the harness's: it ends the node itself
        )
    with subprocess.Popen(
        ["sh", "-c", _WATCHMAN, "sh", str(process.pid), str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    ) as watchman:
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            watchman.kill()


def _await_listening(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    """Waits until a node accepts connections."""

    def listens() -> bool:
        if process.poll() is not None:
            words = _last_words(output.read_text(encoding="utf-8", errors="replace"))
            raise BadInput(f"the broker ended with status {process.returncode}: {words}")
        with suppress(OSError), socket.create_connection((_LOOPBACK, port), timeout=1):
            return True
        return False

    await_that(f"the broker to listen on port {port}", listens, patience_s=START_S)


def _last_words(output: str) -> str:
    """Last line of a node's output, without those of SLF4J."""
    lines = [line for line in output.splitlines() if line.strip() and "SLF4J" not in line]
    return lines[-1].strip() if lines else "it said nothing"


def await_that(
    what: str,
    seen: Callable[[], object],
    wanted: object = True,
    *,
    patience_s: float = PATIENCE_S,
) -> None:
    """Waits until a state is the wanted one.

    Args:
        what: Name of the wanted state, for the error.
        seen: Gives the present state; it is called again and again.
        wanted: The wanted state.
        patience_s: Longest time to wait, in seconds.

    Raises:
        BadInput: The state is another one in the end; the text names it.
    """
    until = time.monotonic() + patience_s
    while (last := seen()) != wanted:
        if time.monotonic() > until:
            raise BadInput(f"waited {patience_s:.0f} s in vain for {what}; last seen: {last}")
        time.sleep(POLL_S)
