"""The track record: stories and timed scenarios by the causes that they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sim.bounds import Inconclusive
from sim.diagnose.explain.mechanisms import MECHANISMS, deciding_rules
from sim.diagnose.explain.signature import Signature, first_signatures
from sim.errors import BadInput
from sim.files.formats import SCENARIO_FORMAT, STORY_FORMAT
from sim.files.shipped import PREFIX, shipped_folder
from sim.protocol.rules import Rules
from sim.simulate.run import conclusive, run_of
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story
from sim.study.suite.scenario_files import content_at, format_of, scenario_files
from sim.study.sweep.wording import counted

NOT_KNOWN = "not known: no story of the track record has this cause under these rules"


@dataclass(frozen=True, slots=True)
class Shown:
    """A story, or a scenario, that shows a cause.

    Attributes:
        path: Path of the file; of a shipped one as `replog run` takes it anywhere.
        title: Title of the story.
        steps: Number of steps; None for a timed scenario.
    """

    path: Path
    title: str
    steps: int | None

    @property
    def size(self) -> str:
        """The size in words: `11 steps`, or `in simulated time`."""
        return "in simulated time" if self.steps is None else counted(self.steps, "step")

    def as_json(self) -> dict[str, Any]:
        """Returns the file, title and size for JSON."""
        return asdict(self) | {"path": self.path.as_posix(), "size": self.size}


class _Entry(NamedTuple):
    """The first violation of one invariant by a file.

    Attributes:
        signature: The invariant with its cause.
        rules: The rules of the run, by name.
        deciding: Names of the rules that make the cause possible.
        rank: Order among files with one cause: those that the vocabulary of causes names come
            first, then those that violate nothing before, then by size, then by path.
        shown: The file.
    """

    signature: Signature
    rules: Mapping[str, object]
    deciding: tuple[str, ...]
    rank: tuple[bool, bool, int, str]
    shown: Shown

    def shows(self, found: Signature) -> bool:
        """True for a violation with the same cause and marker."""
        own = self.signature
        return (own.cause, own.marker) == (found.cause, found.marker)

    def others(self, values: Mapping[str, object]) -> set[str]:
        """Names of the rules whose values differ."""
        return {rule for rule, value in self.rules.items() if values[rule] != value}


class TrackRecord:
    """Lookup of the stories by their causes."""

    def __init__(self, folder: Path | str | None = None) -> None:
        """Takes the folder of the stories; None for those that come with Replog, if any do.

        Raises:
            BadInput: The folder is not there.
        """
        if folder is not None and not Path(folder).is_dir():
            raise BadInput(f"{folder}: no such folder of stories")
        given = None if folder is None else (Path(folder), Path(folder))
        self._folder, self._named = given or _shipped()

    def story_of(self, found: Signature, rules: Rules) -> Shown | None:
        """Finds the story with the cause of a run, or else the scenario; None where none has it.

        It has the same values of the rules that make the cause possible. Of several, one that
        violates the same invariant is preferred, then one with the fewest other rules, then one
        that the vocabulary of causes names, then one that violates nothing before, then the
        smallest.

        Args:
            found: The violation of the run with its cause.
            rules: The rules of the run.
        """
        values = rules.as_dict()
        for file_format in (STORY_FORMAT, SCENARIO_FORMAT):  # scenarios take longer
            fitting = [
                (one.signature.invariant != found.invariant, len(others), one.rank, one.shown)
                for one in _read(self._folder, self._named, file_format)
                if one.shows(found) and not (others := one.others(values)) & {*one.deciding}
            ]
            if fitting:
                return min(fitting, key=itemgetter(0, 1, 2))[-1]
        return None


def _shipped() -> tuple[Path | None, Path]:
    """Folder of the scenarios that come with Replog, if any do, and prefix of their paths."""
    with suppress(BadInput):
        return shipped_folder(), Path(PREFIX)
    return None, Path()


@lru_cache(maxsize=4)
def _read(folder: Path | None, named: Path, file_format: str) -> list[_Entry]:
    """Runs all files of a format in a folder; reported paths begin with `named`."""
    found: list[_Entry] = []
    for path in () if folder is None else scenario_files(folder):
        if folder is not None and format_of(path) == file_format:
            with suppress(BadInput, Inconclusive):  # what cannot be read is for the suite to say
                found += _entries(content_at(path), named / path.relative_to(folder))
    return found


def _is_named(path: Path, mechanism: Iterable[str]) -> bool:
    """True for a file that the vocabulary of causes names for one of these facts."""
    known = [MECHANISMS[name] for name in mechanism if name in MECHANISMS]
    return any(path.name.startswith(f"{one}_") for each in known for one in each.sources)


def _entries(content: Story | Scenario, path: Path) -> Iterator[_Entry]:
    if not content.expect.violated:
        return
    run = conclusive(run_of(content))
    steps = len(content.steps) if isinstance(content, Story) else None
    values, shown = run.rules.as_dict(), Shown(path, content.title, steps)
    size = steps or len(run.events)
    for place, found in first_signatures(run.events, run.violations, run.rules).items():
        rank = (not _is_named(path, found.mechanism), place > 0, size, path.as_posix())
        deciding = deciding_rules(found.mechanism)
        yield _Entry(found, values, deciding, rank, shown)
