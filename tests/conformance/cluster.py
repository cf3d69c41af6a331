"""A real Kafka cluster: one controller and three brokers in KRaft mode on loopback.

Each node is a process of its own, so that a broker can be paused as a virtual machine is, and goes
on where it was. All are killed at the end, paused or not, and their files removed; what the nodes
logged is kept if the run fails.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sim.errors import BadInput
from tests.conformance.broker import Broker
from tests.conformance.broker_process import (
    LOOPBACK,
    START_S,
    STOP_S,
    await_listening,
    await_that,
    format_storage,
    free_ports,
    java_with,
    running_node,
    write_settings,
)

BROKERS = (1, 2, 3)
CONTROLLER = 100
FETCH_WAIT_MS = 100
"""`replica.fetch.wait.max.ms`: a follower's fetch is answered after so long at the latest."""

_COMMON = {
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
}
_BROKER = {
    "process.roles": "broker",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "replica.fetch.wait.max.ms": str(FETCH_WAIT_MS),
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
}
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)
_SMALL = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is running.

    Attributes:
        addresses: Host and port for clients of each broker.
        controller: Host and port of the controller.
        data: The log folder of each broker.
        processes: The processes of the brokers.
    """

    addresses: dict[int, str]
    controller: str
    data: dict[int, Path]
    processes: dict[int, subprocess.Popen[bytes]]

    def broker(self, broker: int) -> Broker:
        """One of the brokers, for those who look at its log folder."""
        return Broker(self.addresses[broker], self.data[broker])

    def epochs(self, broker: int, topic: str) -> list[tuple[int, int]]:
        """Epoch and start offset of each entry of the leader epoch cache of a replica on disk.

        The file `leader-epoch-checkpoint` has a version, a count, and a line per entry
        (LeaderEpochCheckpointFile); it is replaced as a whole.
        """
        file = self.broker(broker).partition(topic) / "leader-epoch-checkpoint"
        try:
            lines = file.read_text().splitlines()
        except FileNotFoundError:
            return []
        entries = [line.split() for line in lines[2:]]
        return [(int(epoch), int(start)) for epoch, start in entries]

    @contextmanager
    def paused(self, broker: int) -> Iterator[None]:
        """A broker stands still: it neither fetches nor answers, nor does its cleaner work.

        On a busy machine its threads go on for some milliseconds after the signal; they are waited
        for.

        Raises:
            BadInput: It does not stop in time, or is gone.
        """
        process = self.processes[broker]
        process.send_signal(signal.SIGSTOP)
        try:
            await_that(
                lambda: _has_stopped(process, broker),
                f"broker {broker} to stand still",
                patience_s=STOP_S,
            )
            yield
        finally:
            process.send_signal(signal.SIGCONT)


def _has_stopped(process: subprocess.Popen[bytes], broker: int) -> bool:
    """Whether all threads of a process stand still, since it was last asked."""
    if process.poll() is not None:
        raise BadInput(f"broker {broker} ended with status {process.returncode}")
    return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG) is not None


@contextmanager
def running_cluster(
    jars: Sequence[Path], logger: Path, *, kept: Path, start_s: float = START_S
) -> Iterator[Cluster]:
    """Start a cluster from the jars of a release; kill it and remove its files at the end.

    Args:
        jars: What `kafka_jars` gives.
        logger: What `logger_jar` gives.
        kept: The folder in which the nodes' logs are kept if the run fails.
        start_s: How long each node may take until it answers.

    Raises:
        BadInput: No Java, or a node does not come up.
    """
    folder = Path(tempfile.mkdtemp(prefix="replog-cluster-"))
    try:
        yield from _started(jars, logger, folder, start_s)
    except Exception:
        _keep_logs(folder, kept)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(jars: Sequence[Path], logger: Path, folder: Path, start_s: float) -> Iterator[Cluster]:
    ports = dict(zip((CONTROLLER, *BROKERS), free_ports(1 + len(BROKERS)), strict=True))
    settings = {node: _write(folder, node, ports) for node in ports}
    format_storage(java_with(jars, *_SMALL), list(settings.values()), folder=folder)
    java = java_with([*jars, logger], *_SMALL, *_LOGGING)
    with ExitStack() as nodes:
        processes = {
            node: nodes.enter_context(
                running_node(java, path, output=_output(folder, node), folder=folder, orderly=False)
            )
            for node, path in settings.items()
        }
        for node, process in processes.items():
            await_listening(process, ports[node], _output(folder, node), start_s)
        yield Cluster(
            addresses={node: f"{LOOPBACK}:{ports[node]}" for node in BROKERS},
            controller=f"{LOOPBACK}:{ports[CONTROLLER]}",
            data={node: folder / f"data-{node}" for node in BROKERS},
            processes={node: processes[node] for node in BROKERS},
        )


def _write(folder: Path, node: int, ports: dict[int, int]) -> Path:
    port = ports[node]
    own = {
        "node.id": str(node),
        "log.dirs": str(folder / f"data-{node}"),
        "controller.quorum.voters": f"{CONTROLLER}@{LOOPBACK}:{ports[CONTROLLER]}",
    }
    if node == CONTROLLER:
        role = {"process.roles": "controller", "listeners": f"CONTROLLER://{LOOPBACK}:{port}"}
    else:
        listener = f"PLAINTEXT://{LOOPBACK}:{port}"
        role = {**_BROKER, "listeners": listener, "advertised.listeners": listener}
    return write_settings(folder / f"node-{node}.properties", {**_COMMON, **own, **role})


def _output(folder: Path, node: int) -> Path:
    return folder / f"node-{node}.log"


def _keep_logs(folder: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in folder.glob("node-*.log"):
        shutil.copy(log, kept / log.name)
