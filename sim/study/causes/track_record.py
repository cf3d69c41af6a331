"""The track record: which story, or which scenario in simulated time, shows which cause."""

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
        path: Its file; of a shipped one as `replog run` takes it anywhere.
        title: What it says.
        steps: How many it has; None = it is in simulated time.
    """

    path: Path
    title: str
    steps: int | None

    @property
    def size(self) -> str:
        """`11 steps`, or what else it is."""
        return "in simulated time" if self.steps is None else counted(self.steps, "step")

    def as_json(self) -> dict[str, Any]:
        """A document."""
        return asdict(self) | {"path": self.path.as_posix(), "size": self.size}


class _Entry(NamedTuple):
    """What a file shows of one invariant.

    Attributes:
        signature: What is violated, and why.
        rules: What it is judged by, by name.
        deciding: Those that make it possible.
        rank: Whether it is none that the vocabulary of causes names, whether something else is
            violated first, how large the file is, its path.
        shown: The file.
    """

    signature: Signature
    rules: Mapping[str, object]
    deciding: tuple[str, ...]
    rank: tuple[bool, bool, int, str]
    shown: Shown

    def shows(self, found: Signature) -> bool:
        """Whether it has the same cause; where a marker is missing, one that says the same."""
        own = self.signature
        return (own.cause, own.marker) == (found.cause, found.marker)

    def others(self, values: Mapping[str, object]) -> set[str]:
        """The rules that have other values."""
        return {rule for rule, value in self.rules.items() if values[rule] != value}


class TrackRecord:
    """Stories by what they show."""

    def __init__(self, folder: Path | str | None = None) -> None:
        """The stories in a folder; None = those that come with Replog, if any do.

        Raises:
            BadInput: The folder is not there.
        """
        if folder is not None and not Path(folder).is_dir():
            raise BadInput(f"{folder}: no such folder of stories")
        given = None if folder is None else (Path(folder), Path(folder))
        self._folder, self._named = given or _shipped()

    def story_of(self, found: Signature, rules: Rules) -> Shown | None:
        """The story that shows what a run does, or else the scenario; None = it is not known.

        It has the cause of the run, and of the rules that make this possible the same values. Of
        several one that violates the same invariant counts, then one with the fewest other rules,
        then one that the vocabulary of causes names, then one that violates something for this
        cause first of all, then the smallest.

        Args:
            found: What the run violates, and why.
            rules: What it is judged by.
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
    """Where the scenarios are that come with Replog, if any do, and what their paths begin with."""
    with suppress(BadInput):
        return shipped_folder(), Path(PREFIX)
    return None, Path()


@lru_cache(maxsize=4)
def _read(folder: Path | None, named: Path, file_format: str) -> list[_Entry]:
    """What the files of a format show; their paths begin with `named`."""
    found: list[_Entry] = []
    for path in () if folder is None else scenario_files(folder):
        if folder is not None and format_of(path) == file_format:
            with suppress(BadInput, Inconclusive):  # what cannot be read is for the suite to say
                found += _entries(content_at(path), named / path.relative_to(folder))
    return found


def _is_named(path: Path, mechanism: Iterable[str]) -> bool:
    """Whether the vocabulary of causes names a file as what shows one of these facts."""
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
