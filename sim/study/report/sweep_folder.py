"""What a report is made from: `plan.json` and `tallies.json` of a sweep's folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.files.foreign import shell
from sim.files.opening import read_bytes
from sim.plugins import as_options
from sim.study.sweep import wording
from sim.study.sweep.folder import DOCUMENT_BYTES_MAX, TALLIES_FILE, clear_errors, plan_content
from sim.study.sweep.shapes import tallies_document
from sim.study.sweep.table import State, has_table, open_table


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """The two documents, and the folder: where it is, and how commands name it."""

    path: Path
    name: str
    """As the user gave it, and of an absolute path its last part: where it is, commands work."""
    plan: dict[str, Any]
    tallies: dict[str, Any]
    table: State | None = None
    """Its table; None where somebody kept the two documents alone."""
    environment: str = ""
    """The one that `tallies` are of; empty for all cases together."""
    first_case: int = 0
    turns: int = 1
    """Every so many cases, from the first on, one belongs to `tallies`."""

    @property
    def environments(self) -> tuple[SweepFolder, ...]:
        """The same sweep, once for each environment of the plan."""
        all_of_them = self.tallies["environments"]
        turns = len(all_of_them)
        return tuple(
            replace(self, tallies=own, environment=own["name"], first_case=number, turns=turns)
            for number, own in enumerate(all_of_them)
        )

    @property
    def cases(self) -> slice:
        """Which of all cases, in order of `case_id`, `tallies` are of: environments take turns."""
        return slice(self.first_case, None, self.turns)

    @property
    def drawn(self) -> str:
        """The seeds of the sweep, and its environments: what its numbers are numbers of."""
        names = [one["name"] for one in self.plan["environments"]]
        return wording.drawn(self.plan["count"], names)

    @property
    def about(self) -> list[str]:
        """The families and invariants that the plan is about; none where it does not say."""
        found: list[str] = self.plan["plan"].get("about", [])
        return found

    @property
    def sweep_command(self) -> str:
        """What makes it."""
        file = shell.quoted(_without_folders(self.plan["plan_file"] or "PLAN"))
        drawn = f"--count {self.plan['count']} --seed {self.plan['seed']}"
        return f"replog sweep {file} {drawn} --out {self._named()}"

    @property
    def report_command(self) -> str:
        """What makes its report."""
        return f"replog report {self._named()}"

    def replay_command(self, run_id: int) -> str:
        """What does one of its runs again."""
        return f"replog run {self._named(str(run_id))}"

    def _named(self, *more: str) -> str:
        """The folder, and the plugins that the sweep was made with."""
        return shell.command([self.name, *more, *as_options(self.plan.get("plugins", ()))])


def read_folder(out: Path) -> SweepFolder:
    """Reads a finished sweep.

    Raises:
        BadInput: There is none, it was not finished, something in the folder is not as the sweep
            left it, or one of its two documents is not what a sweep writes.
    """
    with clear_errors(out):
        plan = plan_content(out)
        table = open_table(out) if has_table(out) else None
        if not (out / TALLIES_FILE).exists():
            raise BadInput(
                f"{out}: this sweep was not finished; `replog sweep ... --resume` finishes it"
            )
        content = read_bytes(out / TALLIES_FILE, limit=DOCUMENT_BYTES_MAX)
    tallies = tallies_document(f"{out}/{TALLIES_FILE}", content, plan)
    return SweepFolder(out, _without_folders(out.as_posix()), plan, tallies, table)


def _without_folders(name: str) -> str:
    """An absolute path by its last part: a page travels, and the folders of one machine do not."""
    path = Path(name)
    return path.name if path.is_absolute() else name
