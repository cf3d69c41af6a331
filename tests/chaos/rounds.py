"""A sweep that is disturbed, continued, and compared with one that was left in peace."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NamedTuple

from sim.study.sweep.table import state_of
from tests.chaos.sweeping import ENGINES, Running, Site, site
from tests.sweeps.spark_cluster import kill
from tests.sweeps.test_engines import assert_same

FINISHED, BAD_INPUT, INTERRUPTED, KILLED = 0, 2, 130, -signal.SIGKILL
PAUSE_SECONDS = 2.0


Strike = Callable[[Running, Site, Random], object]
"""Does it; False = there was nothing to do it to, yet."""


class Fault(NamedTuple):
    """Something that happens once.

    Attributes:
        name: For people.
        strike: Do it.
        ends: Exit statuses that the sweep may have after it, beside `FINISHED`.
        engines: Where it can happen.
    """

    name: str
    strike: Strike
    ends: frozenset[int] = frozenset()
    engines: tuple[str, ...] = ENGINES


def _pause(sweep: Running, _site: Site, _chance: Random) -> None:
    sweep.send(signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    sweep.send(signal.SIGCONT)


def _signalled(number: signal.Signals) -> Strike:
    return lambda sweep, _site, _chance: sweep.send(number)


def _one_of(*words: str) -> Strike:
    """One of the processes of the sweep, or of the cluster, with such a word in its command."""

    def strike(sweep: Running, site: Site, chance: Random) -> bool:
        there = sweep.others(*words)
        if site.cluster is not None:
            there += [pid for word in words for pid in site.cluster.processes(word)]
        if there:
            kill(chance.choice(there))
        return bool(there)

    return strike


def _spark_worker(_sweep: Running, site: Site, chance: Random) -> None:
    assert site.cluster is not None
    site.cluster.kill_worker(chance.randrange(2))


PYTHON = _one_of("multiprocessing.spawn", "pyspark.daemon", "pyspark/daemon")
JAVA = _one_of("org.apache.spark.deploy.SparkSubmit")
FAULTS = (
    Fault("driver killed", _signalled(signal.SIGKILL), frozenset({KILLED})),
    Fault("driver terminated", _signalled(signal.SIGTERM), frozenset({INTERRUPTED})),
    Fault("Ctrl-C", _signalled(signal.SIGINT), frozenset({INTERRUPTED})),
    Fault("machine lost", lambda sweep, _, __: sweep.kill_all(), frozenset({KILLED})),
    Fault("driver paused", _pause),
    Fault("Python worker killed", PYTHON, frozenset({BAD_INPUT})),
    Fault("Java machine killed", JAVA, frozenset({BAD_INPUT}), ("spark", "cluster")),
    Fault("executor killed", _one_of("CoarseGrainedExecutor"), engines=("cluster",)),
    Fault("Spark worker killed", _spark_worker, engines=("cluster",)),
)


class Rounds:
    """Sweeps of one engine, one after another; what must not happen raises AssertionError."""

    def __init__(self, site: Site, folder: Path, count: int) -> None:
        self._site, self._folder, self._count = site, folder, count
        began = time.monotonic()
        self._undisturbed = folder / "peace"
        self._finish(site.sweep(self._undisturbed, count), self._undisturbed)
        self._seconds = time.monotonic() - began

    def disturbed(self, fault: Fault, name: str, chance: Random) -> bool:
        """Whether the fault struck; then the sweep was continued, and is the undisturbed one."""
        out = self._folder / name
        sweep = self._site.sweep(out, self._count)
        struck = self._strike(fault, out, sweep, chance)
        status = sweep.wait()
        assert status in fault.ends | {FINISHED}, f"exit status {status}: {sweep.said()!r}"
        # Spark's gateway reports itself what cut its calls in two.
        assert self._site.engine != "process" or "Traceback" not in sweep.said(), sweep.said()
        assert status != BAD_INPUT or "--resume" in sweep.said(), sweep.said()
        assert not (strays := sweep.strays()), f"{len(strays)} of its processes were left"
        self._whole_so_far(out)
        if self._site.cluster is not None:
            self._site.cluster.mend()
        if status != FINISHED:
            sweep = self._site.sweep(out, self._count)
        self._finish(sweep, out)
        assert_same(out, self._undisturbed)
        return struck

    def _strike(self, fault: Fault, out: Path, sweep: Running, chance: Random) -> bool:
        """Wait for a moment by chance, and let it happen; False = the sweep was over.

        A sweep begins when it takes its folder; before that Python starts, and it is no sweep yet.
        """
        owner = f"process {sweep.process.pid} "
        while sweep.process.poll() is None and owner not in _text(out / ".lock"):
            time.sleep(0.01)
        time.sleep(chance.uniform(0, self._seconds))
        while sweep.process.poll() is None:
            if fault.strike(sweep, self._site, chance) is not False:
                return True
            time.sleep(0.05)  # what it strikes has not started yet
        return False

    def _whole_so_far(self, out: Path) -> None:
        """A sweep that was disturbed is not damaged."""
        if (out / "plan.json").is_file():  # else it did not come to its plan
            assert state_of(out, thorough=True).damage == {}

    def _finish(self, sweep: Running, out: Path) -> None:
        status = sweep.wait()
        assert status == FINISHED, f"it cannot be finished: {status}, {sweep.said()!r}"
        self._whole_so_far(out)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def rounds(engine: str, folder: Path, *, seed: int, number: int, count: int) -> list[str]:
    """Rounds of all faults of an engine in an order by chance; the names of those that struck.

    Raises AssertionError with what must not happen, and after which fault.
    """
    faults = [fault for fault in FAULTS if engine in fault.engines]
    chance = Random(f"{seed} {engine} {number}")
    chance.shuffle(faults)
    struck = []
    with site(engine, folder) as place:
        one = Rounds(place, folder, count)
        for at, fault in enumerate(faults):
            try:
                if one.disturbed(fault, f"{at}-{fault.name.replace(' ', '-')}", chance):
                    struck.append(fault.name)
            except AssertionError as error:
                error.add_note(f"{engine}, {fault.name}, seed {seed}, round {number}")
                raise
    return struck
