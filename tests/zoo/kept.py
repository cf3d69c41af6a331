"""What came of each planted defect, and the file that keeps it, so that more runs can be added."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sim.diagnose.what_if.futures import Interval, clopper_pearson
from sim.files.atomic import replace_text
from tests.zoo.planted import DEFECTS, Planted


@dataclass(slots=True)
class Result:
    """What was found out about one defect.

    Attributes:
        code: Digest of the sources that it was planted in first.
        suite: The first file of the suite that tells it, with the invariant; empty = none does;
            None = it was not run.
        runs: How many random runs there were, by environment.
        shown: How many of them show it, by environment.
        touched: How many runs went on otherwise at all, whatever came of it.
        by: What shows it: invariant, or `no end`, or an exception -> in how many runs.
        first: Number of the first run that shows it, from 1; None = no run does.
        test: The first test that fails; empty = none does; None = no test was run.
    """

    code: str
    suite: dict[str, str] | None = None
    runs: Counter[str] = field(default_factory=Counter)
    shown: Counter[str] = field(default_factory=Counter)
    touched: int = 0
    by: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    test: str | None = None

    @property
    def tries(self) -> int:
        """Random runs of all environments."""
        return self.runs.total()

    @property
    def found(self) -> int:
        """Random runs that show it."""
        return self.shown.total()

    @property
    def killed(self) -> bool:
        """Whether anything tells it."""
        return bool(self.suite) or self.found > 0 or bool(self.test)

    def share(self, environments: Iterable[str] | None = None) -> Interval:
        """The exact interval of the share of runs that show it, in all or some environments."""
        wanted = [*self.runs] if environments is None else [*environments]
        runs = sum(self.runs[one] for one in wanted)
        shown = sum(self.shown[one] for one in wanted)
        return clopper_pearson(shown, runs) if runs else Interval(0.0, 1.0)

    def median(self) -> int | None:
        """After how many runs half of all searches have met it, by the share that was seen."""
        if not self.found:
            return None
        share = self.found / self.tries
        return 1 if share >= 0.5 else math.ceil(math.log(0.5) / math.log1p(-share))


Results = dict[str, Result]
"""By the name of the defect."""


def read(path: Path) -> Results:
    """What a file has kept; nothing if there is none."""
    if not path.exists():
        return {}
    kept: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    counted = ("runs", "shown", "by")
    return {
        name: Result(**{**one, **{key: Counter(one[key]) for key in counted}})
        for name, one in kept.items()
    }


def write(path: Path, results: Results) -> None:
    """Keep results, a line for each defect in the order of the defects."""
    names = [one.name for one in DEFECTS if one.name in results]
    lines = [f"{json.dumps(name)}: {json.dumps(_as_json(results[name]))}" for name in names]
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _as_json(result: Result) -> dict[str, Any]:
    return {one.name: getattr(result, one.name) for one in fields(Result)}


def in_groups(defects: Iterable[Planted]) -> dict[str, list[Planted]]:
    """The defects by group."""
    found: dict[str, list[Planted]] = {}
    for one in defects:
        found.setdefault(one.group, []).append(one)
    return found
