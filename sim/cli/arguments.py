"""Kinds of arguments of commands, and the arguments that several commands have.

Only what every command needs is imported here: reading the arguments is part of the start of
`replog run`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click

from sim.cli.output import complain
from sim.errors import BadInput
from sim.files.limits import RUN, SECONDS, SEED

if TYPE_CHECKING:
    from sim.api.runs import Run


class Argument(NamedTuple):
    """An argument of a command, as far as the signature does not describe it.

    Attributes:
        read: Type of Click, or a function from the text to the value, which raises BadParameter or
            BadInput; None for a path or a text, as the parameter is annotated.
        metavar: Placeholder of the value in the help; None for the parameter's name.
        flags: Names of the option; empty for the parameter's name.
        nargs: `+` for at least one argument; `?` for an option that may be given without a value,
            and then has the empty text.
        help: Meaning, where several commands share it; empty where the docstring has it.
    """

    read: click.ParamType[Any] | Callable[[str], Any] | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    nargs: str | None = None
    help: str = ""


def path_of(text: str) -> Path:
    """The path in `text`; raises BadParameter for an empty text."""
    if not text:
        raise click.BadParameter("an empty path; the current folder is ./")
    return Path(text)


def shipped(text: str) -> Path:
    """A file or a folder, or the scenario that Replog ships under that name, noted on stderr.

    Raises BadInput as `shipped_path` does.
    """
    path = path_of(text)
    if path.exists():
        return path
    from sim.files.shipped import shipped_path

    found = shipped_path(text)
    if found != path:
        complain(f"{text}: the one that comes with Replog, {found}")
    return found


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """The engine of many runs, and settings of Spark, as options.

    Attributes:
        engine: spark or process (default: of a sweep spark where it is installed, else process).
        master: Spark master URL.
        conf: A setting of Spark, as spark-submit takes it; may be given more than once.
    """

    engine: Annotated[str | None, Argument(metavar="NAME")] = None
    master: Annotated[str | None, Argument(metavar="URL")] = None
    conf: Annotated[list[str] | None, Argument(metavar="NAME=VALUE")] = None

    def settings(self, *, default: str) -> dict[str, str]:
        """The settings by name, where `default` is the engine if none is given.

        Raises:
            BadInput: One is no setting of Spark, or the engine is another one.
        """
        settings = {}
        for word in self.conf or ():
            name, equals, value = word.partition("=")
            if not (equals and name.startswith("spark.")):
                raise BadInput(f"--conf {word}: give NAME=VALUE, with a name of Spark's: spark.…")
            settings[name] = value
        if settings and (self.engine or default) != "spark":
            name = next(iter(settings))
            raise BadInput(f"--conf {name}: only Spark has settings: --engine spark")
        return settings


RunOf = Annotated[
    Path,
    Argument(
        shipped,
        help="A story or a scenario, or the id of a shipped one; or the folder of a sweep.",
    ),
]
"""A file, or the folder of a sweep, that has a run."""
RunId = Annotated[int | None, Argument(click.IntRange(0, RUN.most), "RUN_ID")]
Folder = Annotated[Path, Argument(metavar="DIR", help="A sweep's folder.")]
SeedOf = Annotated[
    int | None, Argument(click.IntRange(0, SEED.most), "N", help="Replace the scenario's seed.")
]
Seconds = Annotated[float, Argument(click.FloatRange(0, SECONDS.most), "SECONDS")]
Json = Annotated[bool, Argument(flags=("--json",), help="Print one JSON document.")]
GivenRules = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME=VALUE",
        flags=("--rule",),
        help="Replace a rule, or preset=NAME; may be given more than once.",
    ),
]
"""The option that `rule_values` reads."""
Explain = Annotated[
    str | None,
    Argument(
        metavar="INVARIANT",
        nargs="?",
        help="Explain why it was violated: the fact that decided, the committed records against "
        "those that replicas hold, and the events before. Without a name: the first violation.",
    ),
]
"""`--explain`: an invariant; empty for the first violation, None where it is not given."""
FailuresIn = Annotated[
    Path | None,
    Argument(
        metavar="DIR",
        help="Write a folder for each failure, with its run, trace and picture, below this folder.",
    ),
]
TraceOut = Annotated[
    Path | None,
    Argument(
        metavar="OUT",
        help="Write all events of the run to this file, a line of JSON each (replog-trace/1, see "
        "sim/protocol/events/FORMAT.md).",
    ),
]
Output = Annotated[Path | None, Argument(metavar="OUT", flags=("-o", "--output"))]


def rule_values(given: list[str] | None, *, option: str = "--rule") -> dict[str, str]:
    """The values of `--rule`, or of another option like it.

    Raises:
        BadInput: One is not `name=value`, or a rule is given two values.
    """
    values: dict[str, str] = {}
    for text in given or []:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadInput(f"{option} {text}: expected name=value")
        if values.get(name, value) != value:
            raise BadInput(f"{option} {text}: the same rule was given as {values[name]}")
        values[name] = value
    return values


def run_at(
    place: Path,
    run_id: int | None = None,
    *,
    seed: int | None = None,
    rule: list[str] | None = None,
) -> Run:
    """The run of a story, a timed scenario or a row of a sweep; it is simulated when needed.

    Raises:
        BadInput: There is no such run, or seed and rules do not fit it.
    """
    from sim.api.runs import Run
    from sim.api.scenarios import load, under

    rules = rule_values(rule)
    if not place.is_dir():
        if run_id is not None:
            raise BadInput(f"{place}: no such folder; only a run of a sweep has a number")
        return Run(under(load(place, seed=seed), rules, where="--rule"))
    if run_id is None:
        raise BadInput(f"{place}: is a folder; a run of a sweep is given as DIR RUN_ID")
    if seed is not None:
        raise BadInput(f"{place}: --seed: a run of a sweep has its own")
    from sim.api.sweeps import open_sweep

    found = open_sweep(place).run(run_id)
    return Run(under(found.scenario, rules, where="--rule")) if rules else found
