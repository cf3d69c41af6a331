"""`replog list`, `capacity` and `doctor`: what there is, what fits, what this machine can run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sim.cli import output
from sim.cli.output import EXIT_FAILED, AsJson, PluginOption, print_json, print_table
from sim.errors import BadInput


def add_to(app: typer.Typer) -> None:
    """Add these commands to the program."""
    app.command("list")(list_)
    app.command()(capacity)
    app.command()(doctor)


def list_(
    what: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="rules, presets, invariants, reached or scenarios."),
    ],
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Where to look for scenarios.")
    ] = Path("scenarios"),
    plugin: PluginOption = None,
    as_json: AsJson = False,
) -> None:
    """List what there is, from the code, each with its source."""
    from sim.cli import listing

    if what == "rules":
        _list_rules(listing.rules(), as_json)
        return
    if what == "scenarios":
        rows = listing.scenarios(folder)
    elif what in listing.TABLES:
        rows = listing.TABLES[what]()
    else:
        allowed = ", ".join(("rules", *listing.TABLES, "scenarios"))
        raise BadInput(f"list {what}: allowed: {allowed}")
    if as_json:
        print_json(rows)
    else:
        print_table(rows, texts=True)


def _list_rules(rows: list[dict[str, Any]], as_json: bool) -> None:
    from sim.cli.rule_blocks import rule_lines

    if as_json:
        print_json(rows)
    else:
        print("\n".join(rule_lines(rows, output.width())))


def capacity(
    buffer_bytes: Annotated[
        int,
        typer.Option("--buffer", metavar="BYTES", min=1, help="log.cleaner.dedupe.buffer.size."),
    ] = 128 * 1024 * 1024,
    load_factor: Annotated[
        float,
        typer.Option(metavar="F", min=0, max=1, help="log.cleaner.io.buffer.load.factor."),
    ] = 0.9,
    keys: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Distinct dirty keys to be cleaned."),
    ] = None,
    plugin: PluginOption = None,
    as_json: AsJson = False,
) -> None:
    """Say how many keys the offset map of one cleaner holds, and how many rounds N keys take.

    A strategy that compares versions keeps one beside each offset: 8 more bytes a key (KIP-280).
    """
    from sim.compaction import STRATEGIES, entry_bytes, map_capacity, rounds_needed

    rows: list[dict[str, object]] = []
    for name, strategy in STRATEGIES.items():
        fitting = map_capacity(buffer_bytes, load_factor, strategy)
        if fitting < 1:
            raise BadInput(
                f"--buffer {buffer_bytes}: no key fits at load factor {load_factor:g}; strategy "
                f"{name} takes {entry_bytes(strategy)} bytes a key"
            )
        row: dict[str, object] = {
            "strategy": name,
            "bytes a key": entry_bytes(strategy),
            "keys": fitting,
        }
        rows.append(row if keys is None else row | {"rounds": rounds_needed(keys, fitting)})
    if as_json:
        print_json([{name.replace(" ", "_"): cell for name, cell in row.items()} for row in rows])
    else:
        print_table(rows)


def doctor(plugin: PluginOption = None, as_json: AsJson = False) -> None:
    """Say what this machine can run, and what is missing for the rest."""
    from sim.cli.listing import capabilities

    found = capabilities()
    if as_json:
        print_json(
            [{"name": name, "ready": ready, "detail": detail} for name, ready, detail in found]
        )
    else:
        for name, ready, detail in found:
            print(f"{'ok     ' if ready else 'missing'} {name}: {detail}")
    raise typer.Exit(0 if all(ready for _, ready, _ in found) else EXIT_FAILED)
