"""Command lines: what a command takes, read with argparse, and what is wrong in one line.

Nothing is imported here that a command might not need: reading the arguments is part of the start
of `replog run`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, NoReturn

from sim.cli.bounding import take_bounds
from sim.cli.explaining import EXPLAIN, with_explain_apart
from sim.cli.output import complain, terminal_width
from sim.cli.signatures import Argument, about, declare
from sim.cli.values import Number, StoreOnce, path_of, told
from sim.errors import BadInput, did_you_mean
from sim.limits import RUN, SECONDS, SEED

_MISSING = "the following arguments are required: "
"""How argparse begins to say so."""


class Command(NamedTuple):
    """One command of the program.

    Attributes:
        run: Does it and returns the exit status. Its signature says what it takes, its docstring
            is the help (`sim.cli.signatures`).
        is_one_run: It is one run, or little beside one, and bounded like one; others bound each of
            their runs alone.
        has_bounds: Whether it has the options that bound a run; the command need not know of them.
        has_plugins: The same of the option that imports a module.
    """

    run: Callable[..., int]
    is_one_run: bool = False
    has_bounds: bool = True
    has_plugins: bool = True

    @property
    def about(self) -> str:
        """Its help, without what it says of its arguments."""
        return about(self.run)

    @property
    def summary(self) -> str:
        """The first sentence of its help, in one line."""
        return " ".join(self.about.split("\n\n")[0].split())

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """Adds what it takes to a parser."""
        declare(parser, self.run)
        if self.has_plugins:
            _take_plugins(parser)
        if self.has_bounds:
            take_bounds(parser)


class Parser(argparse.ArgumentParser):
    """The arguments of one command; what is wrong with them is a BadInput that names its help."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(
            prog=f"replog {command}",
            description=about,
            formatter_class=_HelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        for name in (None, "store"):
            self.register("action", name, StoreOnce)
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
        """The value of every argument by its name; options may stand before, between and after.

        Prints the help and raises SystemExit when `words` ask for it.

        Raises:
            BadInput: An argument is missing, unknown or wrong.
        """
        self.add_argument("--help", action="help", help="Show this message and exit.")
        if any(EXPLAIN in one.option_strings and one.nargs == "?" for one in self._actions):
            words = with_explain_apart(words)
        given, unknown = self.parse_known_intermixed_args(words)
        for word in unknown:
            if word.startswith("-"):
                known = [name for one in self._actions for name in one.option_strings]
                name = word.partition("=")[0]
                self.error(f"no such option: {told(name)}{did_you_mean(name, known)}")
            self.error(f"unexpected argument: {told(word)}")
        return vars(given)


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the paragraphs of a description; says what is required, a default, a bound."""

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


def shipped(text: str) -> Path:
    """A file or a folder, or what Replog ships under that name, which is then said on stderr.

    Raises BadInput as `shipped_path` does.
    """
    path = path_of(text)
    if path.exists():
        return path  # the usual case, and at no cost
    from sim.files.shipped import shipped_path

    found = shipped_path(text)
    if found != path:
        complain(f"{text}: the one that comes with Replog, {found}")
    return found


def place(text: str) -> Path | str:
    """A folder as a path, or the address of one on another file system, as it is."""
    if "://" not in text:
        return path_of(text)
    from sim.sweeps.storage import place as of

    return of(text)


class _LoadPlugin(argparse.Action):
    """Imports a plugin at once, before other arguments are looked at."""

    def __call__(self, *arguments: Any) -> None:
        from sim.plugins import load_plugins

        load_plugins([arguments[2]])


def _take_plugins(parser: argparse.ArgumentParser) -> None:
    """`--plugin`, which a command need not know of: the module is imported when it is read."""
    parser.add_argument(
        "--plugin",
        action=_LoadPlugin,
        default=argparse.SUPPRESS,
        metavar="MODULE",
        help="Import this module, which registers strategies, fixes or tombstone removal rules; "
        "may be given more than once.",
    )


RunOf = Annotated[
    Path,
    Argument(
        shipped,
        help="A story or a scenario, or the id of a shipped one; or the folder of a sweep.",
    ),
]
"""What has a run to look into."""
RunId = Annotated[int | None, Argument(Number(0, limit=RUN), "RUN_ID")]
Folder = Annotated[Path, Argument(metavar="DIR", help="A sweep's folder.")]
SeedOf = Annotated[
    int | None, Argument(Number(0, SEED.most), "N", help="Replace the scenario's seed.")
]
Seconds = Annotated[float, Argument(Number(0, whole=False, limit=SECONDS), "SECONDS")]
Json = Annotated[bool, Argument(flags=("--json",), help="Print one JSON document.")]
GivenRules = Annotated[
    list[str] | None,
    Argument(
        metavar="NAME=VALUE",
        flags=("--rule",),
        help="Replace a rule, or preset=NAME; may be given more than once.",
    ),
]
"""What `rule_values` reads."""
FailuresIn = Annotated[
    Path | None,
    Argument(
        metavar="DIR",
        help="Of a failure, write a folder with all there is about it below this folder.",
    ),
]
TraceOut = Annotated[
    Path | None,
    Argument(
        metavar="OUT",
        help="Write everything that happened to this file, a line of JSON each (replog-trace/1, "
        "described in sim/trace/FORMAT.md).",
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
            raise BadInput(f"{option} {told(text)}: expected name=value")
        if values.get(name, value) != value:
            before = told(values[name])
            raise BadInput(f"{option} {told(text)}: the same rule was given as {before}")
        values[name] = value
    return values


def plugin_arguments() -> list[str]:
    """What a command that reproduces a run needs for the plugins that were named in this one."""
    from sim.plugins import as_options

    return as_options()
