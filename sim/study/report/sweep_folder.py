"""A finished sweep as reports and gates read it: its plan and its statistics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.files.foreign import command_line, quoted
from sim.plugins import as_options
from sim.study.sweep.folder import PlanFile, clear_errors, plan_file_in
from sim.study.sweep.plan import Sweep
from sim.study.sweep.statistics import on_duckdb, statistics_of
from sim.study.sweep.table import open_table
from sim.version import Made


@dataclass(frozen=True, slots=True)
class SweepFolder:
    """A finished sweep: where it is, how commands name it, its plan and its statistics."""

    path: Path
    name: str
    """The folder as the user gave it, or the last part of an absolute path."""
    sweep: Sweep
    made: PlanFile
    """The content of its `plan.json`: version, plugins and plan file that it was made with."""
    statistics: list[dict[str, Any]]
    """The statistics of each environment (`sim.study.sweep.statistics`)."""

    @property
    def made_by(self) -> str:
        """The version of Replog that made the sweep, with its revision if that is known."""
        return str(Made(self.made.package_version, self.made.revision))

    @property
    def sweep_command(self) -> str:
        """The command that makes the sweep."""
        file = quoted(_without_folders(self.made.plan_file or "PLAN"))
        drawn = f"--count {self.sweep.count} --seed {self.sweep.seed}"
        return f"replog sweep {file} {drawn} --out {self._named()}"

    @property
    def report_command(self) -> str:
        """The command that makes its report."""
        return f"replog report {self._named()}"

    @property
    def commands(self) -> list[str]:
        """The commands that make the sweep, its report and the causes of its failing runs."""
        causes = f"replog causes {self._named()}"
        return [self.sweep_command, self.report_command, causes]

    def replay_command(self, run_id: int) -> str:
        """The command that does one of its runs again."""
        return f"replog run {self._named(str(run_id))}"

    def _named(self, *more: str) -> str:
        """The folder, and the plugins that the sweep was made with."""
        return command_line([self.name, *more, *as_options(self.made.plugins)])


def read_folder(out: Path) -> SweepFolder:
    """Reads a finished sweep.

    Raises:
        BadInput: There is none, it was not finished, or something in the folder is not as the sweep
            left it.
    """
    table = open_table(out)
    if table.missing:
        first = table.missing[0]
        raise BadInput(
            f"{out}: this sweep is not finished, case {first} is missing; `replog sweep ... "
            "--resume` finishes it"
        )
    with clear_errors(out):
        made = plan_file_in(out)
    with on_duckdb(table.files) as ask:
        found = statistics_of(table.sweep, ask)
    return SweepFolder(out, _without_folders(out.as_posix()), table.sweep, made, found)


def _without_folders(name: str) -> str:
    """An absolute path by its last part: a page travels, and the folders of one machine do not."""
    path = Path(name)
    return path.name if path.is_absolute() else name
