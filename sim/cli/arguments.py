"""Arguments of commands: how a function declares them to Click, and those that several share.

A command is a function: its signature declares the arguments, its docstring describes them. A
parameter is an argument; one behind the `*` is an option of its name. A default makes it optional,
`bool` a flag, a list an option that may be repeated, or any number of arguments. An `Argument` in
`Annotated` adds the rest. A parameter that is a dataclass stands for a group of options, one for
each of its fields.

Only what every command needs is imported here: reading the arguments is part of the start of
`replog run`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from importlib import import_module
from inspect import Parameter, signature
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin

import click

from sim.bounds import MEGABYTES, SECONDS, Bounds, Inconclusive, bounded, each_run_within
from sim.cli.output import complain
from sim.errors import BadInput
from sim.files.attribute_docs import docs_of
from sim.files.limits import MEGABYTES as MOST_MEGABYTES
from sim.files.limits import RUN, SEED
from sim.files.limits import SECONDS as MOST_SECONDS

if TYPE_CHECKING:
    from sim.api.runs import Run

_NAME = re.compile("(-.*|[a-z][a-z0-9-]*)?")
"""Another option, or the name of an invariant: files and most ids of scenarios have other
characters, too."""


class IntRange(click.IntRange):
    """A whole number within limits."""

    name = "whole number"


class FloatRange(click.FloatRange):
    """A number within limits."""

    name = "number"


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
    """The file or folder at `text`, else the shipped one of that name, which is noted on stderr.

    Raises BadParameter for an empty text, and BadInput as `shipped_path` does.
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
class RunBounds:
    """Bounds of one run, as options.

    Attributes:
        max_seconds: A run that takes longer is inconclusive, status 3; 0 for no bound.
        max_memory_mb: A run that needs more memory is inconclusive, status 3; 0 for no bound.
    """

    max_seconds: Annotated[float, Argument(FloatRange(0, MOST_SECONDS.most), "S")] = SECONDS
    max_memory_mb: Annotated[int, Argument(IntRange(0, MOST_MEGABYTES.most), "MB")] = MEGABYTES


class Command(NamedTuple):
    """A command of the program.

    Attributes:
        place: Module of `sim.cli`, a dot, and a function in it, which returns the exit status. Its
            signature declares the arguments, its docstring is the help. Only this module is
            imported.
        is_one_run: True for a command that is bounded as one run; others bound each of their runs.
        has_bounds: True for a command with the options of `RunBounds`.
        has_plugins: True for a command with the option that imports a module.
    """

    place: str
    is_one_run: bool = False
    has_bounds: bool = True
    has_plugins: bool = True

    def declared(self, name: str) -> click.Command:
        """Imports the command's module, and declares its arguments to Click."""
        module, _, attribute = self.place.partition(".")
        function = getattr(import_module(f"sim.cli.{module}"), attribute)
        about, _ = docs_of(function)
        arguments = [*_declared(function)]
        if self.has_plugins:
            arguments.append(_plugins())
        if self.has_bounds:
            arguments += _declared(RunBounds)
        return WordsCommand(
            name,
            params=arguments,
            callback=partial(self._run, function),
            help=about,
            short_help=" ".join(about.split("\n\n")[0].split()),
            context_settings={"show_default": True},
        )

    def _run(self, function: Callable[..., int], **given: Any) -> int:
        """Runs the command; each run is within the bounds among the arguments.

        Raises:
            Inconclusive: A command that is bounded as one run hit a bound.
        """
        seconds = given.pop("max_seconds", SECONDS)
        megabytes = given.pop("max_memory_mb", MEGABYTES)
        with each_run_within(Bounds(seconds or None, megabytes or None)):
            if not self.is_one_run:
                return _call(function, given)
            with bounded() as watch:
                return _call(function, given)
        raise Inconclusive(f"{watch.reached}; --max-seconds and --max-memory-mb allow more")


class WordsCommand(click.Command):
    """A command whose file may stand behind an option that needs no value: `--explain FILE`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the words; a file behind such an option is no value of it. Raises UsageError."""
        needless = [one for one in self.params if getattr(one, "flag_value", None) == ""]
        names = {name for one in needless for name in one.opts}
        for at, (word, following) in enumerate(pairwise(args)):
            if word in names and (Path(following).exists() or not _NAME.fullmatch(following)):
                args[at] = f"{word}="
        return super().parse_args(ctx, args)


def _plugins() -> click.Option:
    """The option `--plugin`: modules are imported before other arguments are read."""

    def load(_context: click.Context, _option: click.Parameter, modules: tuple[str, ...]) -> None:
        from sim.plugins import load_plugins

        load_plugins(modules)

    return click.Option(
        ["--plugin"],
        multiple=True,
        is_eager=True,
        expose_value=False,
        callback=load,
        metavar="MODULE",
        help="Import this module, which registers strategies, fixes, tombstone removal rules, "
        "invariants or observers; may be given more than once.",
    )


def _declared(function: Callable[..., Any]) -> Iterator[click.Parameter]:
    """The arguments that the parameters of a function, or the fields of a dataclass, declare."""
    _, docs = docs_of(function)
    for one in _parameters(function):
        if group := _group_of(one):
            yield from _declared(group)
        else:
            yield _argument(one, docs.get(one.name, ""))


def _call(function: Callable[..., int], given: dict[str, Any]) -> int:
    """Calls a function with the values of its arguments by name; groups become dataclasses."""
    for one in _parameters(function):
        if group := _group_of(one):
            given[one.name] = group(
                **{field.name: given.pop(field.name) for field in fields(group)}
            )
    return function(**given)


def _group_of(one: Parameter) -> type[Any] | None:
    """The dataclass that a parameter is annotated with; None for a single argument."""
    kind = one.annotation
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(signature(function, eval_str=True).parameters.values())


def _argument(one: Parameter, docs: str) -> click.Parameter:
    """The argument or the option that a parameter declares."""
    parts = set(_parts(one.annotation))
    said = next((part for part in parts if isinstance(part, Argument)), Argument())
    settings: dict[str, Any] = {
        "type": said.read or (path_of if Path in parts else str),
        "metavar": said.metavar,
        "help": said.help or docs,
        "required": one.default is Parameter.empty,
    }
    if Path in parts:
        settings["shell_complete"] = click.Path().shell_complete
    if list in parts:
        settings["callback"] = lambda _context, _argument, given: list(given)
    if one.kind is not Parameter.KEYWORD_ONLY:
        if list in parts:
            settings |= {"nargs": -1, "required": said.nargs == "+"}
        elif said.metavar and not settings["required"]:
            settings["metavar"] = f"[{said.metavar}]"
        return click.Argument([one.name], **settings)
    names = [*(said.flags or [f"--{one.name.replace('_', '-')}"]), one.name]
    if bool in parts:
        return click.Option(names, is_flag=True, help=settings["help"])
    if one.default is not Parameter.empty:
        settings["default"] = one.default
    if said.nargs == "?":
        settings |= {"is_flag": False, "flag_value": ""}
    return click.Option(names, multiple=list in parts, **settings)


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and its parts: of `list[str] | None` also `list` and `str`."""
    yield annotation
    yield get_origin(annotation)
    for part in get_args(annotation):
        yield from _parts(part)


@dataclass(frozen=True, kw_only=True)
class SparkOptions:
    """The engine of many runs, and settings of Spark, as options.

    Attributes:
        engine: spark or process (default: process; of a sweep spark where it is installed).
        master: Spark master URL.
        conf: A setting of Spark, as spark-submit takes it; may be given more than once.
    """

    engine: Annotated[str | None, Argument(metavar="NAME")] = None
    master: Annotated[str | None, Argument(metavar="URL")] = None
    conf: Annotated[list[str] | None, Argument(metavar="NAME=VALUE")] = None

    def settings(self, *, default: str) -> dict[str, str]:
        """The settings by name, where `default` is the engine if none is given.

        Raises:
            BadInput: One is no setting of Spark, or the engine is not Spark.
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
"""A file with one run, or the folder of a sweep with many."""
RunId = Annotated[int | None, Argument(IntRange(0, RUN.most), "RUN_ID")]
Folder = Annotated[Path, Argument(metavar="DIR", help="A sweep's folder.")]
SeedOf = Annotated[
    int | None, Argument(IntRange(0, SEED.most), "N", help="Replace the scenario's seed.")
]
Seconds = Annotated[float, Argument(FloatRange(0, MOST_SECONDS.most), "SECONDS")]
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
FailuresIn = Annotated[
    Path | None,
    Argument(
        metavar="DIR",
        help="Write a folder for each failure, with its run, trace and picture, below this folder.",
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
