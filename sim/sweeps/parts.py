"""Which files the tables of a sweep consist of: those that manifests name, and no other."""

from __future__ import annotations

import re
from bisect import bisect, insort
from dataclasses import dataclass
from typing import Any

from sim.errors import BadInput
from sim.sweeps.inside import MIB
from sim.sweeps.layout import PLAN_FILE, RUNS, VIOLATIONS, WAVES, first_run_of, not_in
from sim.sweeps.manifest import Part, Table, Wave, decode_wave, hull, identity_of, number_of
from sim.sweeps.plan import Sweep
from sim.sweeps.segments import parts_in
from sim.sweeps.shapes import PLAN_BYTES_MAX, plan_document
from sim.sweeps.storage import LocalStorage, Storage

FOLDER_FORMAT = "replog-sweep-output/2"
UNCHECKED_FORMAT = "replog-sweep-output/1"
"""Without manifests: it is read, and cannot be checked."""
MANIFEST_BYTES_MAX = 64 * MIB
PART_BYTES_MAX = 512 * MIB
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
"""How an address begins, once it was taken for a path: `hdfs:/host/folder`."""
_OLD_PART = re.compile(rf"({RUNS}|{VIOLATIONS})/wave=\d+/part-\d+\.parquet", re.ASCII)


def plan_content(storage: Storage) -> dict[str, Any]:
    """The content of `plan.json`. Raises BadInput when there is none, or it is no plan's."""
    path = f"{storage.label}/{PLAN_FILE}"
    try:
        if storage.size(PLAN_FILE) > PLAN_BYTES_MAX:
            raise BadInput(f"{path}: has more than {PLAN_BYTES_MAX // MIB} MiB")
        content = storage.read(PLAN_FILE)
    except (FileNotFoundError, NotADirectoryError):
        if _ADDRESS.match(storage.label) and isinstance(storage, LocalStorage):
            raise BadInput(
                f"{storage.label}: is no folder of this machine; copy it here, as with "
                "hdfs dfs -get ADDRESS DIR"
            ) from None
        raise BadInput(
            f"{storage.label}: no {PLAN_FILE} there; give the folder of a sweep (--out)"
        ) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return plan_document(path, content, (FOLDER_FORMAT, UNCHECKED_FORMAT))


@dataclass(frozen=True, slots=True)
class Parts:
    """The files of a folder's tables.

    Attributes:
        storage: Where they are.
        waves: What is there; without any in folders that are older than manifests.
        unchecked: The parts of such a folder.
    """

    storage: Storage
    waves: tuple[Wave, ...] = ()
    unchecked: tuple[Part, ...] = ()

    def of(self, table: Table) -> list[Part]:
        """The parts of a table, in order of `run_id`."""
        found = [part for wave in self.waves for part in wave.parts] or self.unchecked
        return sorted((p for p in found if p.table == table), key=lambda part: part.first_run)

    def read(self, part: Part) -> bytes:
        """The bytes of a part. Raises BadInput when they are not those that were written."""
        size = self.storage.size(part.path)
        if size > PART_BYTES_MAX:
            most = f"{PART_BYTES_MAX // MIB:,} MiB"
            raise damaged(self.storage, part.path, f"has {size // MIB:,} MiB; a part has {most}")
        content = self.storage.read(part.path)
        if not part.matches(content):
            raise damaged(self.storage, part.path, "is not what the sweep wrote")
        return content


def damaged(storage: Storage, name: str, what: str) -> BadInput:
    """The line for a file of a sweep that is not as it should be."""
    return BadInput(f"{storage.label}/{name}: {what}; --resume of the sweep mends it")


def parts_there(storage: Storage) -> Parts:
    """The files of the tables in a folder.

    Raises BadInput when it holds no sweep, or a manifest that is damaged or foreign.
    """
    content = plan_content(storage)
    if content["format"] == UNCHECKED_FORMAT:
        return Parts(storage, unchecked=_unchecked(storage))
    waves, problems = waves_and_problems(storage, content)
    for name, what in problems.items():
        raise damaged(storage, name, what)
    return Parts(storage, tuple(waves))


def _unchecked(storage: Storage) -> tuple[Part, ...]:
    """The parts of finished waves; of these, a folder under `runs` came into place last."""
    names = [*storage.names(RUNS), *storage.names(VIOLATIONS)]
    found = [name.split("/") for name in names if _OLD_PART.fullmatch(name)]
    there = {wave for table, wave, _last in found if table == RUNS}
    return tuple(
        Part(f"{table}/{wave}/{last}", -1, first_run_of(last), -1, -1, "")
        for table, wave, last in found
        if wave in there
    )


def waves_and_problems(
    storage: Storage, content: dict[str, Any]
) -> tuple[list[Wave], dict[str, str]]:
    """The waves that are there, in order, and the files that are no manifests of them: name -> why.

    `content` is that of `plan.json`. A wave that has cases of an earlier one is a problem as well.
    """
    try:
        rule_sets, count = len(content["rule_sets"]), int(content["count"])
        of_all = identity_of(content, range(count))
        one_seed = len(parts_in(content)) == 1  # then all cases have the same
    except (BadInput, KeyError, TypeError, ValueError):
        raise BadInput(f"{storage.label}/{PLAN_FILE}: no longer a valid plan") from None
    waves: list[Wave] = []
    problems: dict[str, str] = {}
    covered: list[tuple[int, int]] = []
    for name in storage.names(WAVES):
        if number_of(name) is None:
            problems[name] = "is not the name of a manifest"
            continue
        try:
            if storage.size(name) > MANIFEST_BYTES_MAX:
                raise ValueError(f"has more than {MANIFEST_BYTES_MAX // MIB} MiB")
            wave = decode_wave(name, storage.read(name), rule_sets=rule_sets)
        except ValueError as error:
            problems[name] = str(error)
            continue
        except OSError as error:
            problems[name] = f"cannot be read: {error.strerror or error}"
            continue
        if wave.sweep != (of_all if one_seed else identity_of(content, hull(wave.ranges))):
            problems[name] = "is of another sweep"
        elif wave.cases[-1][1] > count:
            problems[name] = f"holds cases beyond the {count} of the plan"
        elif any(_overlaps(covered, cases) for cases in wave.cases):
            problems[name] = "holds cases that another wave has, too"
        else:
            waves.append(wave)
            for cases in wave.cases:
                insort(covered, cases)
    return waves, problems


def _overlaps(covered: list[tuple[int, int]], cases: tuple[int, int]) -> bool:
    """Whether a range has something in common with ranges that have nothing in common, in order."""
    place = bisect(covered, cases)
    before = place > 0 and covered[place - 1][1] > cases[0]
    return before or (place < len(covered) and covered[place][0] < cases[1])


def missing_cases(sweep: Sweep, waves: list[Wave]) -> tuple[range, ...]:
    """The cases that are in no wave."""
    return not_in((cases for wave in waves for cases in wave.ranges), sweep.count)
