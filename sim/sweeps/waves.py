"""Writing waves: the answers of some seconds, put in place at once, by the leading process alone.

A wave's parts come into place first and its manifest last, by a rename; what was being written when
a sweep was killed is known by the manifest that stayed in the staging folder.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Self

from sim.sweeps.blocks import BlockAnswer
from sim.sweeps.code_digest import code_digest
from sim.sweeps.digests import digests_name_of
from sim.sweeps.layout import RUNS, STAGING, VIOLATIONS, joined, part_name
from sim.sweeps.manifest import (
    WAVE_FORMAT,
    Part,
    Wave,
    encoded,
    hull,
    identity_of,
    sha256,
)
from sim.sweeps.plan import Sweep
from sim.sweeps.storage import Storage

WAVE_SECONDS = 5.0
"""How long answers are kept in memory: with the longest block, all that a kill can cost."""
WAVE_BYTES_MAX = 64 * 1024 * 1024


class WaveWriter:
    """Takes answers, and puts them in place a wave at a time; at the end those it still has.

    Attributes:
        runs: That were taken, written already or not.
    """

    def __init__(
        self, storage: Storage, sweep: Sweep, plan_file: dict[str, Any], kept: Sequence[Wave]
    ) -> None:
        """`plan_file` is the content of `plan.json`, `kept` are the waves that are there."""
        self.runs = 0
        self._storage = storage
        self._sweep = sweep
        self._plan_file = plan_file
        self._number = max((wave.number for wave in kept), default=-1) + 1
        self._attempt = uuid.uuid4().hex
        self._versions = versions()
        self._waiting: list[BlockAnswer] = []
        self._since = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.commit()

    def add(self, answer: BlockAnswer) -> None:
        """Takes an answer, and writes those it has when it is time."""
        self._waiting.append(answer)
        self.runs += answer.run_rows
        late = time.monotonic() - self._since >= WAVE_SECONDS
        if late or sum(one.size for one in self._waiting) >= WAVE_BYTES_MAX:
            self.commit()

    def commit(self) -> None:
        """Puts in place what it has. Raises OSError; then the wave is not there."""
        if self._waiting:
            self._write(sorted(self._waiting, key=lambda one: one.block.first))
            self._waiting.clear()
            self._number += 1
        self._since = time.monotonic()

    def _write(self, answers: list[BlockAnswer]) -> None:
        parts = [part for answer in answers for part in self._parts(answer)]
        cases = joined(answer.block.cases for answer in answers)
        wave = Wave(
            format=WAVE_FORMAT,
            number=self._number,
            sweep=identity_of(self._plan_file, hull(cases)),
            attempt=self._attempt,
            versions=self._versions,
            cases=tuple((one.start, one.stop) for one in cases),
            parts=tuple(part for part, _content in parts),
        )
        draft = f"{STAGING}/{self._attempt}/{wave.name}"
        self._storage.write(draft, encoded(wave))
        for part, content in parts:
            self._storage.write(part.path, content)
        self._storage.rename(draft, wave.name)

    def _parts(self, answer: BlockAnswer) -> list[tuple[Part, bytes]]:
        first = self._sweep.run_id(answer.block.first, 0)
        last = self._sweep.run_id(answer.block.end, 0) - 1
        path = part_name(RUNS, self._number, first)
        files = (
            (path, answer.run_rows, answer.runs),
            (part_name(VIOLATIONS, self._number, first), answer.violation_rows, answer.violations),
            (digests_name_of(path), answer.run_rows, answer.digests),
        )
        return [
            (Part(name, rows, first, last, len(content), sha256(content)), content)
            for name, rows, content in files
        ]


def versions() -> dict[str, str]:
    """Of what writes rows, by name; `code` is a digest of the sources that decide them."""
    from importlib.metadata import version
    from platform import python_version

    return {
        "replog": version("replog"),
        "code": code_digest(),
        "python": python_version(),
        "pyarrow": version("pyarrow"),
    }


def code_problem(label: str, waves: Iterable[Wave]) -> str | None:
    """Whether some waves were made by other code than this, as a line; None = all by the same.

    Waves that do not say so may have been.
    """
    here = versions()
    for wave in waves:
        for name in ("replog", "code"):
            there = wave.versions.get(name, here[name])
            if there != here[name]:
                return (
                    f"{label}/{wave.name}: made by another version of Replog "
                    f"({name} {there:.40} there, {here[name]} here); rows of both do not mix"
                )
    return None
