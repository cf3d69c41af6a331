"""What may happen to a sweep while it goes on, and how the command must end then."""

import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.chaos.running import Running, send
from tests.chaos.sites import ENGINES, WORKERS
from tests.sweeps.spark_cluster import Cluster

FINISHED = 0
BAD_INPUT = 2
INTERRUPTED = 130
KILLED = -signal.SIGKILL
EITHER = frozenset({FINISHED, BAD_INPUT})
CONTINUES = "--resume continues"
DISK_FULL = "disk full"
PAUSE_SECONDS = 3.0
A_ROUND = 3
"""Faults of a round."""


class Place(NamedTuple):
    """Where a fault strikes.

    Attributes:
        sweep: The command under way.
        folder: What it writes into, alone on a small disk.
        log: Where another command may write what it says.
        chance: Chooses among several victims.
        cluster: What the sweep runs on, if that is a cluster.
    """

    sweep: Running
    folder: Path
    log: Path
    chance: Random
    cluster: Cluster | None = None


class Fault(NamedTuple):
    """Something that happens once.

    Attributes:
        name: For people.
        strike: Do it; whether there was something to do it to, yet.
        ends: Exit statuses that the sweep may have after it.
        says: One of these is in stderr then unless it finished; empty = nothing in particular.
        engines: Where it can happen.
    """

    name: str
    strike: Callable[[Place], bool]
    ends: frozenset[int]
    says: tuple[str, ...] = ()
    engines: tuple[str, ...] = ENGINES


def _signalled(number: signal.Signals) -> Callable[[Place], bool]:
    def strike(place: Place) -> bool:
        send(place.sweep.process.pid, number)
        return True

    return strike


def _ctrl_c(place: Place) -> bool:
    """As a terminal does: every process of the foreground gets it."""
    for pid in (place.sweep.process.pid, *place.sweep.others()):
        send(pid, signal.SIGINT)
    return True


def _machine(place: Place) -> bool:
    place.sweep.kill_all()
    return True


def _one_of(*words: str) -> Callable[[Place], bool]:
    def strike(place: Place) -> bool:
        there = place.sweep.others(*words)
        if there:
            send(place.chance.choice(there), signal.SIGKILL)
        return bool(there)

    return strike


def _of_the_cluster(*words: str) -> Callable[[Place], bool]:
    """One of its processes of this sweep, on any machine."""

    def strike(place: Place) -> bool:
        assert place.cluster is not None
        own = {place.sweep.process.pid, *place.sweep.others()}
        there = [pid for word in words for pid in place.cluster.processes(word) if pid not in own]
        if there:
            send(place.chance.choice(there), signal.SIGKILL)
        return bool(there)

    return strike


def _spark_worker(place: Place) -> bool:
    assert place.cluster is not None
    place.cluster.kill_worker(place.chance.randrange(WORKERS))
    return True


def _spark_workers(place: Place) -> bool:
    assert place.cluster is not None
    for number in range(WORKERS):
        place.cluster.kill_worker(number)
    return True


def _spark_master(place: Place) -> bool:
    assert place.cluster is not None
    place.cluster.kill_master()
    return True


def _pause(place: Place) -> bool:
    everybody = (place.sweep.process.pid, *place.sweep.others())
    for pid in everybody:
        send(pid, signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    for pid in everybody:
        send(pid, signal.SIGCONT)
    return True


def _disk_full(place: Place) -> bool:
    """Nothing more can be written; `free_the_disk` ends it."""
    try:
        with _ballast(place.folder).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 12))
    except OSError:
        return True


def _second_sweep(place: Place) -> bool:
    """Somebody starts the same again; that one must be refused. Raises AssertionError."""
    second = place.sweep.again(place.log)
    status = second.wait(60)
    if place.sweep.over:
        return False
    refused = status == BAD_INPUT and "another sweep is writing" in second.err
    assert refused, f"a second sweep in the folder was not refused: {status}, {second.err!r}"
    return True


def free_the_disk(folder: Path) -> None:
    """Takes back what a full disk was full of."""
    _ballast(folder).unlink(missing_ok=True)


def _ballast(folder: Path) -> Path:
    return folder.parent / "ballast"


def dealt(faults: Sequence[Fault], seed: int, engine: str, number: int) -> list[Fault]:
    """The faults of a round: rounds go through all in an order by chance, then in another one."""
    found = []
    for place in range(number * A_ROUND, (number + 1) * A_ROUND):
        turn, at = divmod(place, len(faults))
        found.append(Random(f"{seed} {engine} {turn}").sample(faults, len(faults))[at])
    return found


_NOBODY = ("no answer within", "no executor", "no worker accepted", CONTINUES)
"""What a sweep says of a cluster that is not there, sooner or later in its start."""

FAULTS = (
    Fault("driver killed", _signalled(signal.SIGKILL), frozenset({KILLED})),
    Fault(
        "driver terminated", _signalled(signal.SIGTERM), frozenset({INTERRUPTED}), ("interrupted",)
    ),
    Fault("Ctrl-C", _ctrl_c, frozenset({INTERRUPTED}), ("interrupted",)),
    Fault("machine lost", _machine, frozenset({KILLED})),
    Fault("machine paused", _pause, frozenset({FINISHED})),
    Fault(DISK_FULL, _disk_full, EITHER, ("no space left",)),
    Fault("second sweep", _second_sweep, frozenset({FINISHED})),
    Fault(
        "worker killed",
        _one_of("multiprocessing.spawn"),
        EITHER,
        ("a worker process died",),
        ("process",),
    ),
    Fault(
        "Java machine killed",
        _one_of("org.apache.spark.deploy.SparkSubmit"),
        EITHER,
        (CONTINUES,),
        ("spark", "cluster"),
    ),
    Fault(
        "Python worker killed",
        _one_of("pyspark.daemon", "pyspark/daemon"),
        EITHER,
        (CONTINUES,),
        ("spark",),
    ),
    Fault(
        "Python worker killed",
        _of_the_cluster("pyspark.daemon"),
        EITHER,
        (CONTINUES,),
        ("cluster",),
    ),
    Fault(
        "executor killed",
        _of_the_cluster("CoarseGrainedExecutorBackend"),
        frozenset({FINISHED}),
        engines=("cluster",),
    ),
    Fault("Spark worker killed", _spark_worker, frozenset({FINISHED}), engines=("cluster",)),
    Fault("Spark workers all killed", _spark_workers, EITHER, _NOBODY, ("cluster",)),
    Fault("Spark master killed", _spark_master, EITHER, _NOBODY, ("cluster",)),
)
