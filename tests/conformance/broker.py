"""A real Kafka broker: one node in KRaft mode on loopback, started and stopped by the harness.

It runs in a process and a temporary folder of its own and goes away with the harness, whichever way
that ends: normally, by an exception, by Ctrl-C, or killed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.broker_process import (
    LOOPBACK,
    START_S,
    await_listening,
    format_storage,
    free_ports,
    java_with,
    running_node,
    write_settings,
)

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
def running_broker(
    jars: Sequence[Path],
    *,
    settings: Mapping[str, str] | None = None,
    start_s: float = START_S,
) -> Iterator[Broker]:
    """Start a broker from the jars of a release; stop it and remove its files at the end.

    Args:
        jars: What `kafka_jars` gives.
        settings: Settings of the broker beside the harness's own.
        start_s: How long it may take until it answers.

    Raises:
        BadInput: No Java, or the broker does not come up; the text has its last words.
    """
    folder = Path(tempfile.mkdtemp(prefix="replog-broker-"))
    try:
        clients, controller = free_ports(2)
        written = write_settings(
            folder / "server.properties",
            {**_settings_of(folder, clients, controller), **(settings or {})},
        )
        java = java_with(jars)
        format_storage(java, [written], folder=folder)
        output = folder / "output.txt"
        with running_node(java, written, output=output, folder=folder, orderly=True) as process:
            await_listening(process, clients, output, start_s)
            yield Broker(f"{LOOPBACK}:{clients}", folder / "data")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings_of(folder: Path, clients: int, controller: int) -> dict[str, str]:
    return {
        **_SETTINGS,
        "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
        "listeners": f"PLAINTEXT://{LOOPBACK}:{clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{clients}",
        "log.dirs": str(folder / "data"),
    }
