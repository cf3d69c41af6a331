"""The `replog` command: parses arguments, calls the layers below, prints what they answer.

Results go to stdout, progress and problems to stderr. Exit status: 0 every expectation met,
1 one failed, 2 bad usage or input, 3 inconclusive, 130 interrupted. One module per group of
commands: only that of the command in question is imported, and it imports what it needs when it
runs, so that `replog run` loads neither Spark nor pandas nor matplotlib.
"""

from __future__ import annotations

import atexit
import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from sim.bounds import BoundReached, Inconclusive
from sim.cli.arguments import Command
from sim.cli.output import (
    EXIT_BAD_INPUT,
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    EXIT_INTERRUPTED,
    complain,
    shown_streams,
    write_no_more,
)
from sim.errors import BadInput
from sim.files.foreign import one_line
from sim.version import __version__

COLLECT_AFTER = 100_000
"""Number of new objects after which Python looks for cycles: a start makes thousands that stay."""
COMPLETE = "_REPLOG_COMPLETE"
"""Environment variable with which a shell asks for completions: `bash_source`, `zsh_source`, …."""
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
    "log": Command("logs.log", has_bounds=False, has_plugins=False),
    "replicas": Command("logs.replicas", has_bounds=False, has_plugins=False),
    "certify": Command("runs.certify", is_one_run=True, has_plugins=False),
    "sweep": Command("sweeps.sweep", has_bounds=False),
    "report": Command("sweeps.report", has_bounds=False),
    "causes": Command("studies.causes", has_bounds=False),
    "gate": Command("sweeps.gate", has_bounds=False),
    "new": Command("new.new", has_bounds=False, has_plugins=False),
    "list": Command("listing.list_", has_bounds=False),
}
"""Commands in order of the help."""


def main() -> None:
    """Runs the command line; expected problems become lines on stderr and an exit status."""
    gc.set_threshold(COLLECT_AFTER)
    atexit.register(gc.freeze)  # what is left then goes with the process, cycles or not
    with shown_streams(), _terminated_as_interrupted():
        status = _status(sys.argv[1:])
    sys.exit(status)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Makes SIGTERM, which systems, containers and schedulers send first, do what Ctrl-C does."""
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
    """Runs the command line; returns its exit status when all output was written."""
    status: object
    try:
        status = _run(words)
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
        if error.filename is None:  # stdout itself, it may be
            write_no_more()
        status = EXIT_BAD_INPUT
    return status if isinstance(status, int) else EXIT_FAILED


def _refused_by_system(error: OSError) -> str:
    """The operation that the system refused, in one line."""
    if error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if error.errno == errno.ENOENT:  # nothing else fails so without a name
        return "the current folder does not exist any more"
    return f"output: {error.strerror}"


class Program(click.Group):
    """The commands, each imported when it is called, or when the help of all is printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        """The command of that name. Raises NoSuchCommand."""
        if name not in COMMANDS:
            raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=ctx)
        return COMMANDS[name].declared(name)


PROGRAM = click.version_option(__version__, message="%(prog)s %(version)s")(
    Program(
        help="A simulated testbed for compacted, replicated logs.",
        epilog="What a command takes: replog COMMAND --help",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
)


def _run(words: Sequence[str]) -> object:
    """Runs the command that the first word names, or answers a shell that completes words.

    Returns:
        The exit status.

    Raises:
        BadInput: The words name no command, or do not fit its arguments.
    """
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(PROGRAM, {}, "replog", COMPLETE, instruction)
    try:
        with PROGRAM.make_context("replog", list(words)) as context:
            from sim.plugins import load_installed

            load_installed()
            return PROGRAM.invoke(context)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return EXIT_BAD_INPUT
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        # Of an option without its value Click does not say the command.
        path = " ".join(["replog", *words[:1]]) if error.ctx is None else error.ctx.command_path
        text = error.format_message()
        stop = "" if text.endswith((".", "?", "?)")) else "."
        raise BadInput(f"{text}{stop} See {path} --help") from None
