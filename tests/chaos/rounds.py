"""One sweep through several faults, and whether it is the undisturbed one at its end."""

import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.damage import damaged
from tests.chaos.faults import (
    BAD_INPUT,
    DISK_FULL,
    FAULTS,
    FINISHED,
    Fault,
    Place,
    dealt,
    free_the_disk,
)
from tests.chaos.running import Running
from tests.chaos.sites import Site
from tests.chaos.tables import Tables, differences, read_tables

DISK = "24m"
END_SECONDS = 180.0
"""A command that takes longer hangs."""
TRIES = 2
"""A fault that comes when the sweep is over already is tried once more."""
DAMAGED = "file damaged"
DAMAGE_RATE = 0.5
"""Of the faults, after which a file is damaged, too."""


@dataclass
class Round:
    """What happened in one round, or in several.

    Attributes:
        survived: Faults that struck, by name and engine, each with a sound sweep after it.
        too_late: Faults that found the sweep at its end already.
        compared: Sweeps compared with the undisturbed one, and `rows` of them.
        findings: What must not happen, each as a sentence.
    """

    survived: Counter[tuple[str, str]] = field(default_factory=Counter)
    too_late: int = 0
    rounds: int = 0
    compared: int = 0
    rows: int = 0
    findings: list[str] = field(default_factory=list)

    def add(self, other: "Round") -> None:
        """Count another one in."""
        self.survived += other.survived
        self.too_late += other.too_late
        self.rounds += other.rounds
        self.compared += other.compared
        self.rows += other.rows
        self.findings += other.findings


@dataclass(frozen=True)
class Undisturbed:
    """The sweep as it is when nothing happens.

    Attributes:
        count: Its cases.
        tables: What it says.
        seconds: How long each engine takes for it, all of them at the same time.
        mounts: Whether every sweep gets a disk of its own, which may be full.
    """

    count: int
    tables: Tables
    seconds: dict[str, float]
    mounts: bool

    def faults(self, engine: str) -> list[Fault]:
        """What can happen to a sweep of an engine here."""
        found = [fault for fault in FAULTS if engine in fault.engines]
        return found if self.mounts else [one for one in found if one.name != DISK_FULL]


def undisturbed(folder: Path, count: int, places: Sequence[Site], *, mounts: bool) -> Undisturbed:
    """Sweeps once with each engine. Raises AssertionError when they do not agree."""
    one_of_each = {site.engine: site for site in places}

    def seconds_of(site: Site) -> float:
        out = folder / site.engine
        sweep = site.sweep(out, count, folder / f"{site.engine}-log")
        _wait_for_begin(sweep, out)
        began = time.monotonic()
        status = sweep.wait(END_SECONDS)
        assert status == FINISHED, f"an undisturbed sweep ended with {status}: {sweep.err}"
        return time.monotonic() - began

    with ThreadPoolExecutor(len(one_of_each)) as pool:
        seconds = dict(zip(one_of_each, pool.map(seconds_of, one_of_each.values()), strict=True))
    first, *others = (read_tables(folder / engine) for engine in seconds)
    assert not any(differences(first, other) for other in others), "the engines do not agree"
    return Undisturbed(count, first, seconds, mounts)


def one_round(
    seed: int, number: int, site: Site, expected: Undisturbed, place: Path, *, until: float
) -> Round:
    """A sweep that meets some faults, each at a moment by chance; and another, if it ends before.

    Seed, number and engine say which faults, and when; what they hit is the machine's choice. None
    begins after `until` of the monotonic clock.
    """
    with small_disk(place) if expected.mounts else nullcontext(place) as disk:
        sweep = _Disturbed(Random(f"{seed} {number} {site.engine}"), site, expected, disk, place)
        try:
            for fault in dealt(expected.faults(site.engine), seed, site.engine, number):
                if time.monotonic() < until:
                    sweep.meet(fault)
            sweep.finish()
        except AssertionError as error:
            told = ", then ".join(sweep.history) or "nothing"
            again = f"--seed {seed} --engines {site.engine} --count {expected.count}"
            sweep.result.findings.append(
                f'{site.engine}, after {told}: {error} (ARGS="{again} --only {number}" again)'
            )
            if sweep.folder.exists():
                shutil.copytree(sweep.folder, place / "found", dirs_exist_ok=True)
            site.mend()
    return sweep.result


class _Disturbed:
    """A sweep through the faults of a round. What must not happen raises AssertionError.

    Attributes:
        folder: What it writes into.
        history: What happened to it, in words.
        result: The round so far.
    """

    def __init__(
        self, chance: Random, site: Site, expected: Undisturbed, disk: Path, place: Path
    ) -> None:
        self.folder = disk / "sweep"
        self.history: list[str] = []
        self.result = Round(rounds=1)
        self._chance = chance
        self._site = site
        self._expected = expected
        self._place = place
        self._runs = 0  # that must still be there
        self._hurt = False  # a file was damaged, and no sweep came to its end since

    def meet(self, fault: Fault) -> None:
        """Go on until a fault strikes, and see what is there after it."""
        for _ in range(TRIES):
            sweep = self._sweep(f"sweep-{len(self.history)}")
            struck = self._strike(fault, sweep)
            self.history.append(f"{fault.name}{'' if struck else ' (too late)'}")
            status = sweep.wait(END_SECONDS)
            self._judge(fault, sweep, status, struck=struck)
            free_the_disk(self.folder)
            self._site.mend()
            self._hurt = self._hurt and status != FINISHED
            there = self._there()
            assert there >= self._runs, f"{self._runs} runs were there, and {there} are left"
            self._runs = there
            if self._chance.random() < DAMAGE_RATE and self.folder.exists():
                self._damage()
            if status == FINISHED and not self._hurt:
                self._compare()
            if struck:
                self.result.survived[fault.name, self._site.engine] += 1
                return
            self.result.too_late += 1

    def finish(self) -> None:
        """Let the sweep come to its end, if it did not yet."""
        if not self.folder.exists():
            return
        last = self._sweep("last")
        status = last.wait(END_SECONDS)
        assert status == FINISHED, f"the sweep cannot be finished: {status}, {last.err!r}"
        assert not (strays := self._site.strays(last)), f"{len(strays)} of its processes were left"
        self._compare()

    def _sweep(self, log: str) -> Running:
        resume = ["--resume"] if self.folder.exists() else []
        return self._site.sweep(self.folder, self._expected.count, self._place / log, *resume)

    def _strike(self, fault: Fault, sweep: Running) -> bool:
        """Wait for the moment, and let it happen; False = the sweep was over.

        A sweep begins when it takes its folder; before that Python starts, and it is no sweep yet.
        """
        _wait_for_begin(sweep, self.folder)
        seconds = self._expected.seconds[self._site.engine]
        until = time.monotonic() + self._chance.uniform(0, seconds)
        while time.monotonic() < until and not sweep.over:
            time.sleep(0.01)
        second = self._place / "second"
        place = Place(sweep, self.folder, second, self._chance, self._site.cluster)
        while not sweep.over:
            if fault.strike(place):
                return True
            time.sleep(0.05)  # what it strikes has not started yet
        return False

    def _judge(self, fault: Fault, sweep: Running, status: int | None, *, struck: bool) -> None:
        assert status is not None, f"it did not end within {END_SECONDS:.0f} s"
        allowed = fault.ends | {FINISHED}  # it may have been at its end in that moment
        assert status in (allowed if struck else {FINISHED}), f"exit status {status}: {sweep.err!r}"
        assert "Traceback" not in sweep.err, sweep.err
        if struck and status != FINISHED and fault.says:
            said = any(words in sweep.err for words in fault.says)
            assert said, f"none of {fault.says} is in {sweep.err!r}"
        strays = self._site.strays(sweep)
        assert not strays, f"{len(strays)} of its processes were left"

    def _there(self) -> int:
        """How many runs are there, and whole; a sweep that was disturbed is not damaged."""
        status, document = self._checked()
        if status == BAD_INPUT:
            return 0  # it did not come to its plan
        assert self._hurt or document["damage"] == [], document["damage"]
        assert document["whole"] == (status == 0), document
        return int(document["runs_there"])

    def _checked(self) -> tuple[int | None, dict[str, Any]]:
        words = ["sweep", "check", str(self.folder), "--json"]
        check = Running(words, self._place / "check")
        status = check.wait(END_SECONDS)
        assert "Traceback" not in check.err, check.err
        return status, json.loads(check.out or "{}")

    def _damage(self) -> None:
        """Damage a file, if there is one. Whoever reads the folder must notice."""
        finished = (self.folder / "finished.json").exists()
        what = damaged(self.folder, self._chance)
        if what is None:
            return
        self.history.append(what)
        self._hurt, self._runs = True, 0
        status, document = self._checked()
        assert status in {1, 2, 3}, f"check does not notice: {document}"
        assert status != 1 or document["damage"] or not document["finished"], document
        if finished:
            for words in (["report", "--no-shrink"], ["replay", "0"]):
                command = Running([words[0], str(self.folder), words[1]], self._place / words[0])
                ended = command.wait(END_SECONDS)
                assert "Traceback" not in command.err, command.err
                # A replay reads its own part alone; the others it tells by name and size.
                careful = words[0] == "report" or "bit" not in what
                assert ended == BAD_INPUT or not careful, f"{words[0]} does not notice: {ended}"
        self.result.survived[DAMAGED, self._site.engine] += 1

    def _compare(self) -> None:
        """Compare a finished sweep with the undisturbed one; another one may begin then."""
        checked, document = self._checked()
        assert checked == 0, f"it is not whole at the end: {document}"
        tables = read_tables(self.folder)
        assert not (found := differences(self._expected.tables, tables)), found
        self.result.compared += 1
        self.result.rows += tables.rows
        shutil.rmtree(self.folder)
        self._runs = 0


def _wait_for_begin(sweep: Running, folder: Path) -> None:
    """Returns once a sweep has taken its folder, or is over. One before may have left its lock."""
    owner = f"process {sweep.process.pid} "
    while not sweep.over:
        with suppress(OSError):
            if (folder / ".lock").read_text(errors="replace").startswith(owner):
                return
        time.sleep(0.01)


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of its own that can be filled. Raises OSError without the right to mount."""
    disk = place / "disk"
    disk.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "chaos", disk]
    if (mounted := subprocess.run(mount, capture_output=True, text=True, check=False)).returncode:
        raise OSError(mounted.stderr.strip())
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
