"""One sweep through several faults, and whether it is the undisturbed one at its end."""

import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos.damage import damaged
from tests.chaos.faults import DISK_FULL, FAULTS, FINISHED, Fault, Place, free_the_disk
from tests.chaos.running import Running
from tests.chaos.tables import Tables, differences, read_tables

PLAN = "scenarios/sweeps/demo.yaml"
DISK = "24m"
END_SECONDS = 180.0
"""A command that takes longer hangs."""
FAULTS_MAX = 3
DAMAGED = "file damaged"


@dataclass
class Round:
    """What happened in one round, or in several.

    Attributes:
        survived: Faults that struck, by name and engine, each with a sound sweep after it.
        too_late: Faults that found the sweep at its end already.
        rows: Rows compared with the undisturbed sweep's.
        findings: What must not happen, each as a sentence.
    """

    survived: Counter[tuple[str, str]] = field(default_factory=Counter)
    too_late: int = 0
    rows: int = 0
    rounds: int = 0
    findings: list[str] = field(default_factory=list)

    def add(self, other: "Round") -> None:
        """Count another one in."""
        self.survived += other.survived
        self.too_late += other.too_late
        self.rows += other.rows
        self.rounds += other.rounds
        self.findings += other.findings


@dataclass(frozen=True)
class Undisturbed:
    """The sweep as it is when nothing happens.

    Attributes:
        count: Its cases.
        tables: What it says.
        seconds: How long each engine takes for it.
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


def undisturbed(folder: Path, count: int, engines: list[str], *, mounts: bool) -> Undisturbed:
    """Sweeps with each engine. Raises AssertionError when they do not agree."""
    tables: list[Tables] = []
    seconds = {}
    for engine in engines:
        began = time.monotonic()
        sweep = Running(sweep_words(folder / engine, engine, count), folder / f"{engine}-log")
        status = sweep.wait(END_SECONDS)
        assert status == FINISHED, f"an undisturbed sweep ended with {status}: {sweep.err}"
        seconds[engine] = time.monotonic() - began
        tables.append(read_tables(folder / engine))
    assert not differences(tables[0], tables[-1]), "the engines do not agree"
    return Undisturbed(count, tables[0], seconds, mounts)


def sweep_words(out: Path, engine: str, count: int) -> list[str]:
    """Arguments of the sweep."""
    return ["sweep", PLAN, "--count", str(count), "--out", str(out), "--engine", engine]


def one_round(number: int, expected: Undisturbed, place: Path) -> Round:
    """A sweep that meets up to `FAULTS_MAX` faults, each at a moment by chance."""
    chance = Random(number)  # the moments are chosen by it; what they hit is the machine's choice
    engine = chance.choice(sorted(expected.seconds))
    result = Round(rounds=1)
    history: list[str] = []
    with small_disk(place) if expected.mounts else nullcontext(place) as disk:
        folder = disk / "sweep"
        try:
            _disturb(chance, engine, expected, folder, place, result, history)
            _compare(engine, expected, folder, place, result)
        except AssertionError as error:
            told = ", then ".join(history) or "nothing"
            result.findings.append(f"seed {number}, {engine}, after {told}: {error}")
            shutil.copytree(folder, place / "found", dirs_exist_ok=True)
    return result


def _disturb(
    chance: Random,
    engine: str,
    expected: Undisturbed,
    folder: Path,
    place: Path,
    result: Round,
    history: list[str],
) -> None:
    words = sweep_words(folder, engine, expected.count)
    runs, hurt = 0, False
    for turn in range(chance.randint(1, FAULTS_MAX)):
        fault = chance.choice(expected.faults(engine))
        resume = ["--resume"] if folder.exists() else []
        sweep = Running([*words, *resume], place / f"sweep-{turn}")
        struck = _strike(fault, sweep, chance, expected.seconds[engine], folder, place)
        history.append(f"{fault.name}{'' if struck else ' (too late)'}")
        status = sweep.wait(END_SECONDS)
        _judge(fault, sweep, status, struck=struck)
        free_the_disk(folder)
        hurt = (
            hurt and status != FINISHED
        )  # what is damaged stays so until a sweep comes to its end
        there = _there(folder, place, hurt=hurt)
        assert there >= runs, f"{runs} runs were there, and {there} are left"
        runs = there
        result.too_late += not struck
        if struck:
            result.survived[fault.name, engine] += 1
        if chance.random() < 0.5 and folder.exists():
            before = len(history)
            runs = _damage(chance, folder, place, runs, history, result, engine)
            hurt = hurt or len(history) > before


def _strike(
    fault: Fault, sweep: Running, chance: Random, seconds: float, folder: Path, place: Path
) -> bool:
    """Wait for the moment, and let it happen; False = the sweep was over.

    A sweep begins when it takes its folder; before that Python starts, and it is no sweep yet.
    """
    while not (folder / ".lock").exists() and not sweep.over:
        time.sleep(0.01)
    until = time.monotonic() + chance.uniform(0, seconds)
    while time.monotonic() < until and not sweep.over:
        time.sleep(0.01)
    return not sweep.over and fault.strike(Place(sweep, folder, place / "second", chance))


def _judge(fault: Fault, sweep: Running, status: int | None, *, struck: bool) -> None:
    assert status is not None, f"it did not end within {END_SECONDS:.0f} s"
    allowed = fault.ends | {FINISHED}  # it may have been at its end in that moment
    assert status in (allowed if struck else {FINISHED}), f"exit status {status}: {sweep.err!r}"
    assert "Traceback" not in sweep.err, sweep.err
    if struck and status != FINISHED:
        assert fault.says in sweep.err, f"{fault.says!r} is not in {sweep.err!r}"
    strays = sweep.strays()
    assert not strays, f"{len(strays)} of its processes were left"


def _there(folder: Path, place: Path, *, hurt: bool) -> int:
    """How many runs are there, and whole; a sweep that was disturbed is not damaged."""
    status, document = _checked(folder, place)
    if status == 2:
        return 0  # it did not come to its plan
    assert hurt or document["damage"] == [], document["damage"]
    assert document["whole"] == (status == 0), document
    return int(document["runs_there"])


def _checked(folder: Path, place: Path) -> tuple[int | None, dict[str, object]]:
    check = Running(["sweep", "check", str(folder), "--json"], place / "check")
    status = check.wait(END_SECONDS)
    assert "Traceback" not in check.err, check.err
    return status, json.loads(check.out or "{}")


def _damage(
    chance: Random,
    folder: Path,
    place: Path,
    runs: int,
    history: list[str],
    result: Round,
    engine: str,
) -> int:
    """Damage a file; how many runs count then. Whoever reads the folder must notice."""
    finished = (folder / "finished.json").exists()
    what = damaged(folder, chance)
    if what is None:
        return runs
    history.append(what)
    status, document = _checked(folder, place)
    assert status in {1, 2, 3}, f"check does not notice: {document}"
    assert status != 1 or document["damage"] or not document["finished"], document
    if finished:
        for words in (["report", str(folder), "--no-shrink"], ["replay", str(folder), "0"]):
            command = Running(words, place / words[0])
            ended = command.wait(END_SECONDS)
            assert "Traceback" not in command.err, command.err
            # A replay reads its own part alone; the others it tells by name and size.
            careful = words[0] == "report" or "bit" not in what
            assert ended == 2 or not careful, f"{words[0]} does not notice: {ended}"
    result.survived[DAMAGED, engine] += 1
    return 0


def _compare(engine: str, expected: Undisturbed, folder: Path, place: Path, result: Round) -> None:
    """Finish the sweep, and compare it with the undisturbed one."""
    words = sweep_words(folder, engine, expected.count)
    last = Running([*words, *(["--resume"] if folder.exists() else [])], place / "last")
    status = last.wait(END_SECONDS)
    assert status == FINISHED, f"the sweep cannot be finished: {status}, {last.err!r}"
    assert not (strays := last.strays()), f"{len(strays)} of its processes were left"
    checked, document = _checked(folder, place)
    assert checked == 0, f"it is not whole at the end: {document}"
    tables = read_tables(folder)
    assert not (found := differences(expected.tables, tables)), found
    result.rows += tables.rows


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
