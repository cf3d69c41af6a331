"""Defects to plant in the product: what someone could get wrong, one after the other in files.

A check that never fails proves nothing, and a run in which nothing goes wrong proves as much as the
defects that it would have shown. So each of these is planted by itself. Every one could be
overlooked by a reader: a bound off by one, a case forgotten, state that a restart leaves behind, an
epoch that is not checked, another clock, a checkpoint that is written too early.

The files are `defects/GROUP.patch`; later series are in `GROUP.2.patch` and so on, each
written without knowing what detects anything. A defect is its name and what goes wrong, in words
behind `#`; perhaps behind `##` why no random run can show it; the file below `sim/` that it is made
in; and lines of that file as a patch has them, which occur there once. Those of `kafka_logs` are
errors of the cleaner, which the recorded answers of Kafka to random logs have to detect.

`defects/undetected.txt` has, for each defect that nothing detects, the name, its class of `CLASSES`
and the reason, between colons.

`python -m tests.zoo.planted NAME MODULE ARGUMENT ...` runs a Python module in a product with that
defect; an empty name is none. No file is changed: the importer compiles the module of the defect
from the text with the error in it. Nothing of `sim` is imported before.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

SIM = Path(__file__).parents[2] / "sim"
FOLDER = Path(__file__).with_name("defects")
NEWEST = 7
"""The last series of defects."""
OF_LOGS = "kafka_logs"
"""The group that is compared with Kafka's own cleaner."""

CLASSES = {
    "never touched": "what is wrong never mattered to any decision, in random runs or the suite",
    "touched without effect": "the wrong line was executed, and nothing came of it",
    "effect": "a run went on otherwise, and no promise minds",
    "equivalent": "no behaviour differs; the reason is the proof",
}
"""Why nothing detects a defect, by class."""


class Undetected(NamedTuple):
    """The reason why nothing detects a defect.

    Attributes:
        kind: Its class, a key of `CLASSES`.
        why: The situation that is never met, the promise that is missing, or the proof.
    """

    kind: str
    why: str


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

    def source(self) -> str:
        """The text of its module with the error in it.

        Raises:
            ValueError: The right lines are not there exactly once: the module has changed.
        """
        source = (SIM / self.module).read_text(encoding="utf-8")
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


DEFECTS = {one.name: one for one in _in_files()}
"""All of them by name, in the order of groups and files."""


def _undetected() -> dict[str, Undetected]:
    lines = (FOLDER / "undetected.txt").read_text(encoding="utf-8").splitlines()
    return {name: Undetected(kind, why) for name, kind, why in (x.split(": ", 2) for x in lines)}


UNDETECTED = _undetected()
"""The defects that nothing detects, by name, each with its class and the reason."""


@cache
def code_digest() -> str:
    """A digest of the sources that decide what a random run does: 32 hex digits."""
    digest = blake2b(digest_size=16)
    for room in ("files", "protocol", "check", "simulate"):
        for path in sorted((SIM / room).rglob("*.py")):
            name = path.relative_to(SIM).as_posix().encode()
            digest.update(name + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def command(error: Planted | None, module: str, *arguments: str) -> list[str]:
    """The command that runs a Python module in a product with a defect; None = without one."""
    name = error.name if error else ""
    return [sys.executable, "-m", "tests.zoo.planted", name, module, *arguments]


class _Loader(SourceFileLoader):
    """Compiles one module from another text than that of its file."""

    source = ""

    def get_code(self, fullname: str) -> CodeType:
        """The code of the text with the defect; nothing is read from or written to caches."""
        return self.source_to_code(self.source.encode(), self.get_filename(fullname))


class _Importer(MetaPathFinder):
    """Finds the module of one defect before Python's own finder does."""

    def __init__(self, error: Planted) -> None:
        self._name = ".".join(("sim", *Path(error.module).with_suffix("").parts))
        self._name = self._name.removesuffix(".__init__")
        self._source = error.source()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The module with the defect; None for all others."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname == self._name else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
            spec.loader.source = self._source
        return spec


def main(name: str, module: str, *arguments: str) -> None:
    """Run a module, with the defect of that name if there is a name."""
    if name:
        sys.meta_path.insert(0, _Importer(DEFECTS[name]))
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
