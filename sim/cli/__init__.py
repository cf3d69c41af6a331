"""The `replog` command: parses arguments, calls the layers below, prints what they answer.

Results go to stdout, progress and problems to stderr. Exit status: 0 every expectation met,
1 one failed, 2 bad usage or input, 3 inconclusive, 130 interrupted. One module per group of
commands; each imports what it needs when it is called, so that `replog run` loads neither Spark nor
pandas nor matplotlib.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from sim import __version__
from sim.cli import about, logs, matrices, metadata, scenarios, sweeps, traces
from sim.cli.output import EXIT_BAD_INPUT, EXIT_FAILED, EXIT_INTERRUPTED, complain
from sim.errors import BadInput

app = typer.Typer(
    name="replog",
    help="A simulated testbed for compacted, replicated logs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _module in (scenarios, matrices, logs, metadata, sweeps, traces, about):
    _module.add_to(app)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"replog {__version__}")
        raise typer.Exit
    from sim.plugins import load_installed

    load_installed()


def main() -> None:
    """Run the command line; every expected problem is one line and an exit status."""
    try:
        status = app(prog_name="replog", standalone_mode=False)
        sys.stdout.flush()
    except BadInput as error:
        complain(str(error))
        status = EXIT_BAD_INPUT
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = EXIT_FAILED
    except OSError as error:
        if error.filename is None and error.strerror is None:
            raise
        complain(f"{error.filename or 'output'}: {error.strerror}")
        status = EXIT_BAD_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        status = _misused(error)
    if status == EXIT_INTERRUPTED:
        complain("interrupted")
    sys.exit(status or 0)


def _misused(error: Exception) -> int:
    """What Typer says about wrong arguments, as one line; a command without any gets its help."""
    message: str = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    if "\n" in message or context is None:
        print(message, file=sys.stderr)
    else:
        path = context.command_path
        complain(f"{message.rstrip('.')}; see {path} --help")
    return EXIT_BAD_INPUT
