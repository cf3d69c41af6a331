"""Command lines, read with argparse; an error is one line.

A command is a function: its signature declares the arguments, its docstring describes them. A
parameter is an argument; one behind the `*` is an option of its name. A default makes it optional,
`bool` a flag, a list an option that may be repeated, or any number of arguments. An `Argument` in
`Annotated` adds the rest. A parameter that is a dataclass stands for a group of options, one for
each of its fields.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn, get_args, get_origin

from sim.bounds import MEGABYTES, SECONDS, Bounds, Inconclusive, bounded, each_run_within
from sim.cli.arguments import EXPLAIN, Argument, Number, as_typed, path_of
from sim.cli.output import terminal_width
from sim.errors import BadInput, did_you_mean
from sim.files.attribute_docs import docs_of
from sim.files.limits import MEGABYTES as MOST_MEGABYTES
from sim.files.limits import SECONDS as MOST_SECONDS

_NAME = re.compile(r"[a-z]+(-[a-z]+)+")
"""The form of an invariant's name."""
_MISSING = "the following arguments are required: "
"""The beginning of argparse's message about missing arguments."""


@dataclass(frozen=True, kw_only=True)
class RunBounds:
    """Bounds of one run, as options.

    Attributes:
        max_seconds: A run that takes longer is inconclusive, status 3; 0 for no bound.
        max_memory_mb: A run that needs more memory is inconclusive, status 3; 0 for no bound.
    """

    max_seconds: Annotated[float, Argument(Number(0, whole=False, limit=MOST_SECONDS), "S")] = (
        SECONDS
    )
    max_memory_mb: Annotated[int, Argument(Number(0, limit=MOST_MEGABYTES), "MB")] = MEGABYTES


class Command(NamedTuple):
    """A command of the program.

    Attributes:
        place: Module of `sim.cli` and function in it, which returns the exit status. Its signature
            declares the arguments, its docstring is the help. Only this module is imported.
        is_one_run: True for a command that is bounded as one run; others bound each of their runs.
        has_bounds: True for a command with the options of `RunBounds`.
        has_plugins: True for a command with the option that imports a module.
    """

    place: str
    is_one_run: bool = False
    has_bounds: bool = True
    has_plugins: bool = True

    @property
    def function(self) -> Callable[..., int]:
        """The function that runs the command."""
        module, _, name = self.place.partition(".")
        found: Callable[..., int] = getattr(import_module(f"sim.cli.{module}"), name)
        return found

    @property
    def about(self) -> str:
        """The help, without the arguments."""
        return docs_of(self.function)[0]

    @property
    def summary(self) -> str:
        """The first paragraph of the help, in one line."""
        return " ".join(self.about.split("\n\n")[0].split())

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of the command to a parser."""
        declare(parser, self.function)
        if self.has_plugins:
            _take_plugins(parser)
        if self.has_bounds:
            declare(parser, RunBounds)

    def run(self, given: dict[str, Any]) -> int:
        """Runs the command with its arguments by name; each run is within the bounds among them.

        Raises:
            Inconclusive: A command that is bounded as one run hit a bound.
        """
        seconds = given.pop("max_seconds", SECONDS)
        megabytes = given.pop("max_memory_mb", MEGABYTES)
        with each_run_within(Bounds(seconds or None, megabytes or None)):
            if not self.is_one_run:
                return call(self.function, given)
            with bounded() as watch:
                return call(self.function, given)
        raise Inconclusive(f"{watch.reached}; --max-seconds and --max-memory-mb allow more")


class Parser(argparse.ArgumentParser):
    """The parser of one command; an error is a BadInput that names the command's help."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(
            prog=f"replog {command}".rstrip(),
            description=about,
            formatter_class=_HelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        for name in (None, "store"):
            self.register("action", name, _StoreOnce)
        self.register("type", Path, path_of)
        self._positionals.title = "Arguments"
        self._optionals.title = "Options"

    def error(self, message: str) -> NoReturn:
        """Raises BadInput with the message and the command that shows the help."""
        missing = message.removeprefix(_MISSING)
        if missing != message:
            message = f"missing {'option' if missing.startswith('-') else 'argument'} {missing}"
        else:
            message = message.removeprefix("argument ")
        raise BadInput(f"{message}; see {self.prog} --help")

    def values_of(self, words: Sequence[str]) -> dict[str, Any]:
        """The value of every argument by its name; options may stand anywhere.

        Prints the help and raises SystemExit when `words` ask for it.

        Raises:
            BadInput: An argument is missing, unknown or wrong.
        """
        self.add_argument("-h", "--help", action="help", help="Show this message and exit.")
        if any(EXPLAIN in one.option_strings and one.nargs == "?" for one in self._actions):
            words = _with_explain_apart(words)
        given, unknown = self.parse_known_intermixed_args(words)
        for word in unknown:
            if word.startswith("-"):
                known = [name for one in self._actions for name in one.option_strings]
                name = word.partition("=")[0]
                self.error(f"no such option: {as_typed(name)}{did_you_mean(name, known)}")
            self.error(f"unexpected argument: {as_typed(word)}")
        return vars(given)


def _with_explain_apart(words: Sequence[str]) -> list[str]:
    """The words of a command line in which `--explain` takes only an invariant as its value.

    A word is an invariant if it has the form of one and no file or folder has that name.
    """
    found: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=False):
        named = _NAME.fullmatch(following) and not Path(following).exists()
        found.append(f"{EXPLAIN}=" if word == EXPLAIN and not named else word)
    return found


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the paragraphs of a description; appends default, range, and `required`."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30, width=terminal_width() - 2)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Any,
        prefix: str | None = None,
    ) -> None:
        names = [str(one.metavar or one.dest) for one in actions if not one.option_strings]
        usage = " ".join((self._prog, "[OPTIONS]", *names))
        super().add_usage(usage, actions, groups, prefix or "Usage: ")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        import textwrap

        paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
        return "\n\n".join(
            textwrap.fill(part, width, initial_indent=indent, subsequent_indent=indent)
            for part in paragraphs
        )

    def _get_help_string(self, action: argparse.Action) -> str:
        notes = []
        if action.option_strings and action.required:
            notes.append("required")
        default = action.default
        if default is not None and default is not False and default is not argparse.SUPPRESS:
            notes.append("default: %(default)s")
        if isinstance(action.type, Number):
            notes.append(action.type.bounds)
        noted = "; ".join(filter(None, notes))
        return f"{action.help}  [{noted}]" if noted else f"{action.help}"


class _StoreOnce(argparse.Action):
    """Stores a value as argparse does, and refuses a second, different value of an option."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._given: Any = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Raises BadInput, through the parser, for a second value."""
        if option_string is not None:
            if self._given is not None and self._given != values:
                parser.error(f"{option_string}: given twice, {self._given} and {values}")
            self._given = values
        setattr(namespace, self.dest, values)


class _LoadPlugin(argparse.Action):
    """Imports a plugin at once, before other arguments are read."""

    def __call__(self, *arguments: Any) -> None:
        from sim.plugins import load_plugins

        load_plugins([arguments[2]])


def _take_plugins(parser: argparse.ArgumentParser) -> None:
    """Adds `--plugin`, which the command is not given: the module is imported when it is read."""
    parser.add_argument(
        "--plugin",
        action=_LoadPlugin,
        default=argparse.SUPPRESS,
        metavar="MODULE",
        help="Import this module, which registers strategies, fixes or tombstone removal rules; "
        "may be given more than once.",
    )


def declare(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Adds the parameters of a function, or the fields of a dataclass, to a parser."""
    _, docs = docs_of(function)
    for one in _parameters(function):
        if group := _group_of(one):
            declare(parser, group)
        else:
            _add(parser, one, docs.get(one.name, ""))


def call(function: Callable[..., int], given: dict[str, Any]) -> int:
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


@cache
def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(signature(function, eval_str=True).parameters.values())


def _add(parser: argparse.ArgumentParser, one: Parameter, docs: str) -> None:
    parts = set(_parts(one.annotation))
    said = next((part for part in parts if isinstance(part, Argument)), Argument())
    is_option = one.kind is Parameter.KEYWORD_ONLY
    settings: dict[str, Any] = {"help": said.help or docs}
    names = [one.name]
    if is_option:
        names = list(said.flags or [f"--{one.name.replace('_', '-')}"])
        settings["dest"] = one.name
    if bool in parts:
        parser.add_argument(*names, action="store_true", **settings)
        return
    settings |= {"type": said.read or (Path if Path in parts else None), "metavar": said.metavar}
    has_default = one.default is not Parameter.empty
    if has_default:
        settings["default"] = one.default
    if is_option:
        settings["required"] = not has_default
    nargs = said.nargs
    if list in parts and is_option:
        settings["action"] = "append"
    elif not is_option:
        nargs = nargs or ("*" if list in parts else "?" if has_default else None)
    if nargs is not None:
        settings |= {"nargs": nargs} | ({"const": ""} if is_option else {})
    parser.add_argument(*names, **settings)


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and its parts: of `list[str] | None` also `list` and `str`."""
    yield annotation
    yield get_origin(annotation)
    for part in get_args(annotation):
        yield from _parts(part)
