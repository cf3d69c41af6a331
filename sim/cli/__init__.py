"""The `replog` command: parses arguments, calls the layers below, prints what they answer.

Results go to stdout, progress and problems to stderr. Exit status: 0 every expectation met,
1 one failed, 2 bad usage or input, 3 inconclusive, 130 interrupted. One module per group of
commands: only that of the command in question is imported, and it imports what it needs when it
runs, so that `replog run` loads neither Spark nor pandas nor matplotlib.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sim.bounds import BoundReached, Inconclusive
from sim.cli.arguments import as_typed
from sim.cli.output import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    complain,
    shown_streams,
    write_no_more,
)
from sim.cli.parser import Command, Parser
from sim.errors import BadInput, did_you_mean
from sim.files.foreign import one_line
from sim.files.reading import keep_pipes
from sim.version import __version__

COLLECT_AFTER = 100_000
"""How many new objects set off Python's collector of cycles: a start makes thousands that stay."""
ABOUT = "A simulated testbed for compacted, replicated logs."
GROUPS: dict[str, str] = {}
"""First words of commands that have two, and what these commands are about."""
COMMANDS = {
    "run": Command("runs.run", is_one_run=True),
    "suite": Command("suites.suite"),
    "draw": Command("diagnosing.draw", is_one_run=True),
    "explain": Command("diagnosing.explain"),
    "shrink": Command("diagnosing.shrink"),
    "matrix": Command("studies.matrix", is_one_run=True),
    "explore": Command("studies.explore", has_bounds=False),
    "clean": Command("logs.clean", is_one_run=True),
    "eligible": Command("logs.eligible", is_one_run=True),
    "log": Command("partitions.log", is_one_run=True, has_plugins=False),
    "replicas": Command("partitions.replicas", is_one_run=True, has_plugins=False),
    "certify": Command("traces.certify", is_one_run=True, has_plugins=False),
    "sweep": Command("sweeps.sweep", has_bounds=False),
    "report": Command("sweeps.report", has_bounds=False),
    "causes": Command("studies.causes", has_bounds=False),
    "gate": Command("sweeps.gate", has_bounds=False),
    "new": Command("new.new", has_bounds=False, has_plugins=False),
    "list": Command("listing.list_", has_bounds=False),
}
"""Commands in order of the help."""


def main() -> None:
    """Run the command line; every expected problem is one line and an exit status."""
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # what is left then goes with the process, cycles or not
    with shown_streams(), _terminated_as_interrupted():
        status = _status(sys.argv[1:])
    if status == EXIT_INTERRUPTED:
        # An interrupt that came while Python evaluated text, as it does to make a named tuple, is
        # remembered although it was caught: `python -m` would end by a signal. This forgets it.
        eval("None")  # noqa: S307 - nothing is evaluated
    sys.exit(status)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which systems, containers and schedulers send first, does what Ctrl-C does."""
    handled = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL  # who started us may ignore it
    )
    if handled:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        if handled:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _status(words: Sequence[str]) -> int:
    """Run the command line; its exit status, once all that it printed was taken."""
    status: object
    try:
        try:
            status = _run(words)
        except SystemExit as ended:  # argparse has printed the help
            status = ended.code
        sys.stdout.flush()
    except BadInput as error:
        complain(str(error))
        status = EXIT_BAD_INPUT
    except (Inconclusive, BoundReached) as error:
        complain(f"inconclusive: {error}")
        status = EXIT_INCONCLUSIVE
    except MemoryError:
        complain("inconclusive: memory: none is left")
        status = EXIT_INCONCLUSIVE
    except KeyboardInterrupt:
        complain("interrupted")
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        write_no_more()
        status = EXIT_FAILED
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        complain(one_line(_refused_by_system(error)))
        write_no_more()
        status = EXIT_BAD_INPUT
    return status if isinstance(status, int) else EXIT_FAILED


def _refused_by_system(error: OSError) -> str:
    """The operation that the system refused, in one line."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno == errno.ENOENT:  # nothing else fails so without a name
        return "the current folder does not exist any more"
    return f"output: {'is closed' if error.errno == errno.EBADF else error.strerror}"


def _run(words: Sequence[str]) -> int:
    """Run the command that the first words name; print the help when they name none."""
    if words[:1] == ["--version"]:
        print(f"replog {__version__}")
        return 0
    keep_pipes()
    name = words[0] if words else ""
    if len(words) > 1 and name in GROUPS:
        name = f"{name} {words[1]}"
    group, _, last = name.rpartition(" ")
    asked = last in ("-h", "--help")
    if asked or not name or name in GROUPS:
        print(_help(group if asked else name), file=sys.stdout if asked else sys.stderr)
        return 0 if asked else EXIT_BAD_INPUT
    if name not in COMMANDS:
        program = f"replog {group}".rstrip()
        what = "option" if last.startswith("-") else "command"
        hint = did_you_mean(last, [one.rpartition(" ")[2] for one in _names(group)])
        raise BadInput(f"no such {what}: {as_typed(last)}{hint}; see {program} --help")
    from sim.plugins import load_installed

    load_installed()
    command = COMMANDS[name]
    parser = Parser(name, command.about)
    command.declare(parser)
    return command.run(parser.values_of(words[1 + name.count(" ") :]))


def _names(group: str) -> list[str]:
    """Of the commands whose first word is `group`; without one, also the first words of groups."""
    if group:
        return [name for name in COMMANDS if name.startswith(f"{group} ")]
    return list(dict.fromkeys(name.partition(" ")[0] for name in COMMANDS))


def _help(group: str) -> str:
    """The commands of a group, or all, each with its summary."""
    parser = Parser(group, GROUPS.get(group, ABOUT))
    parser.epilog = f"What a command takes: {parser.prog} COMMAND --help"
    plain = argparse.ArgumentParser  # what each takes is in its own help
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", parser_class=plain)
    for name in _names(group):
        summary = GROUPS[name] if name in GROUPS else COMMANDS[name].summary
        commands.add_parser(name.rpartition(" ")[2], help=summary, add_help=False)
    parser.add_argument("-h", "--help", action="help", help="Show this message and exit.")
    if not group:
        parser.add_argument("--version", action="store_true", help="Print the version.")
    return parser.format_help().rstrip()
