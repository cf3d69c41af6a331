"""`replog list` and `replog doctor`: what there is, and what this machine can run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sim.cli.output import EXIT_FAILED, AsJson, print_json, print_table
from sim.errors import BadInput


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command("list")(list_)
    app.command()(doctor)


def list_(
    what: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="rules, presets, invariants, reached or scenarios."),
    ],
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where to look for scenarios.")
    ] = Path("scenarios"),
    as_json: AsJson = False,
) -> None:
    """List what there is, from the code, each with its source."""
    from sim import listing

    if what == "scenarios":
        rows = listing.scenarios(folder)
    elif what in listing.TABLES:
        rows = listing.TABLES[what]()
    else:
        raise BadInput(f"list {what}: allowed: {', '.join(listing.TABLES)}, scenarios")
    if as_json:
        print_json(rows)
    else:
        print_table(rows, texts=True)


def doctor(as_json: AsJson = False) -> None:
    """Say what this machine can run, and what is missing for the rest."""
    from sim.listing import capabilities

    found = capabilities()
    if as_json:
        print_json(
            [{"name": name, "ready": ready, "detail": detail} for name, ready, detail in found]
        )
    else:
        for name, ready, detail in found:
            print(f"{'ok     ' if ready else 'missing'} {name}: {detail}")
    raise typer.Exit(0 if all(ready for _, ready, _ in found) else EXIT_FAILED)
