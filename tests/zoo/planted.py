"""Defects to plant in the product: what someone could get wrong, one after the other in files.

A check that never fails proves nothing, and a run in which nothing goes wrong proves as much as the
defects that it would have shown. So each of these is made in a copy of the product. Every one could
be overlooked by a reader: a bound off by one, a case forgotten, state that a restart leaves behind,
an epoch that is not checked, another clock, a checkpoint that is written too early.

The files are `defects/GROUP.patch`; `GROUP.2.patch` has a second series, which nobody had seen who
made random runs find more. A defect is its name and what goes wrong, in words behind `#`;
perhaps behind `##` why no random run can show it; the file below `sim/` that it is made in; and
lines of that file as a patch has them, which occur there once. Those of `kafka_logs` are errors of
the cleaner, which the random logs of `make conformance` have to notice by themselves.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import sim

FOLDER = Path(__file__).with_name("defects")
NEWEST = 2
"""The last series of defects."""
OF_LOGS = "kafka_logs"
"""The group that is compared with Kafka's own cleaner."""


class Planted(NamedTuple):
    """One defect.

    Attributes:
        name: Its name, of small letters.
        group: What it is a defect of: the name of its file.
        what: What goes wrong, in words.
        module: The file it is made in, below `sim/`.
        right: Lines of it that occur exactly once.
        wrong: What to write instead.
        unseen: Why no random run can show it, in words; empty = some might.
        series: Of which series it is, from 1.
    """

    name: str
    group: str
    what: str
    module: str
    right: str
    wrong: str
    unseen: str = ""
    series: int = 1

    @property
    def judged(self) -> bool:
        """Whether it is of the half that nobody looks at who makes random runs find more.

        That half of the newest series is drawn by a digest of the name. What was missed of the
        series before has been looked at, so that all of it counts as tuned.
        """
        drawn = blake2b(self.name.encode(), digest_size=1).digest()[0] % 2 == 1
        return drawn and self.series == NEWEST

    def plant(self, source: str) -> str:
        """The module's text with the error in it.

        Raises:
            ValueError: The right lines are not there exactly once: the module has changed.
        """
        found = source.count(self.right)
        if found != 1:
            raise ValueError(f"{self.module} has {found} places for {self.name}: {self.what}")
        return source.replace(self.right, self.wrong)


def _planted(group: str, series: int, error: str) -> Planted:
    said, *rest = error.rstrip("\n").split("\n")
    name, _, what = said.partition(": ")
    unseen = rest.pop(0).removeprefix("## ") if rest[0].startswith("## ") else ""
    module, *lines = rest

    def with_sign(sign: str) -> str:
        return "".join(f"{line[1:]}\n" for line in lines if line[:1] in {"", " ", sign})

    return Planted(name, group, what, module, with_sign("-"), with_sign("+"), unseen, series)


def _in_files() -> Iterator[Planted]:
    for path in sorted(FOLDER.glob("*.patch")):
        group, _, series = path.stem.partition(".")
        errors = re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for error in errors[1:]:
            yield _planted(group, int(series or 1), error)


DEFECTS = tuple(_in_files())
"""All of them, in the order of groups and files."""
PLANTED = tuple(one for one in DEFECTS if one.group == OF_LOGS)
"""Those that the random logs have to notice."""


@cache
def code_digest() -> str:
    """A digest of the sources that decide what a random run does: 32 hex digits."""
    top = Path(sim.__file__).parent
    digest = blake2b(digest_size=16)
    for room in ("files", "protocol", "check", "simulate"):
        for path in sorted((top / room).rglob("*.py")):
            name = path.relative_to(top).as_posix().encode()
            digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def plant(error: Planted | None, folder: Path) -> None:
    """Copy the product's modules into `folder`, one of them with the error; None = no error.

    Raises:
        ValueError: The error has no place in today's source.
    """
    target = folder / "sim"
    ignored = shutil.ignore_patterns("__pycache__", "shipped")
    shutil.copytree(Path(sim.__file__).parent, target, ignore=ignored)
    if error is not None:
        module = target / error.module
        module.write_text(error.plant(module.read_text(encoding="utf-8")), encoding="utf-8")
