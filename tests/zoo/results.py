"""What the last full trial of each planted defect came to, and the file that keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sim.files.atomic import replace_text
from tests.zoo.planted import DEFECTS


@dataclass(slots=True)
class Result:
    """What was found out about one defect.

    Attributes:
        code: Digest of the sources that it was planted in.
        suite: The first file of the suite that detects it, with the invariant and the complaint;
            empty = none does.
        tries: Number of random runs, up to the first that shows it.
        touched: Number of random runs that went on otherwise at all, whatever came of it.
        run: Id of the random run that shows it; empty = none does.
        environment: Plan and environment of that run.
        by: What that run shows: invariants, `no end`, or the name of an exception.
        test: The first test that fails; empty = none does; None = no test was run, since something
            else detects the defect.
    """

    code: str
    suite: dict[str, str] = field(default_factory=dict)
    tries: int = 0
    touched: int = 0
    run: str = ""
    environment: str = ""
    by: list[str] = field(default_factory=list)
    test: str | None = None

    @property
    def detected(self) -> bool:
        """Whether anything detects the defect."""
        return bool(self.suite or self.run or self.test)

    def __str__(self) -> str:
        """What detects the defect, for a line of progress."""
        file = self.suite.get("file")
        return file or (self.run and f"random run {self.run}") or self.test or "nothing"


Results = dict[str, Result]
"""By the name of the defect."""


def read(path: Path) -> Results:
    """The results in a file; nothing if there is none."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return {name: Result(**one) for name, one in kept.items()}


def write(path: Path, results: Results) -> None:
    """Writes results, a line for each defect in the order of the defects."""
    names = [name for name in DEFECTS if name in results]
    lines = [f"{json.dumps(name)}: {json.dumps(asdict(results[name]))}" for name in names]
    replace_text(path, "{\n" + ",\n".join(lines) + "\n}\n")
