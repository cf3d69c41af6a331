"""`replog list`: what there is, each with its source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from sim.cli.arguments import Argument, Json, told
from sim.cli.output import print_answer, print_table
from sim.errors import BadInput


def list_(
    what: Annotated[str, Argument(metavar="TABLE")],
    *,
    folder: Annotated[Path | None, Argument(metavar="DIR", flags=("--in",))] = None,
    as_json: Json = False,
) -> int:
    """List what there is, from the code, each with its source.

    Args:
        what: rules, presets, invariants, reached, mixes, ops (steps of stories), faults, columns
            (of a sweep's tables), limits, scenarios or topics.
        folder: Where to look for scenarios (default: ./scenarios, else the shipped ones).
    """
    from sim.cli import listing

    if what in listing.FILE_TABLES:
        rows = listing.FILE_TABLES[what](_folder(folder))
    elif what in listing.TABLES:
        rows = listing.TABLES[what]()
    else:
        allowed = ", ".join((*listing.TABLES, *listing.FILE_TABLES))
        raise BadInput(f"list {told(what)}: allowed: {allowed}")
    plain = _rule_rows(rows) if what == "rules" else map(_plain, rows)
    return print_answer(as_json, rows, lambda: print_table(list(plain), texts=True))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: cell for name, cell in row.items() if not isinstance(cell, dict)}


def _folder(given: Path | None) -> Path:
    """Where scenarios are: as given, here, or where Replog has its own."""
    from sim.files.shipped import PREFIX, shipped_folder

    here = Path(PREFIX)
    return given or (here if here.is_dir() else shipped_folder())


def _rule_rows(rows: list[dict[str, Any]]) -> Iterator[dict[str, str]]:
    """A row for each rule, and one for each of its values below it."""
    for row in rows:
        least = f" from {row['minimum']}" if "minimum" in row else ""
        kind = "" if row["values"] else f"a {row['kind']}{least}, "
        means = f"{row['decides']} ({kind}default {row['default']})"
        yield {"rule": row["rule"], "means": means, "source": row["source"], "example": ""}
        for value in row["values"]:
            plugin = f" (plugin {value['plugin']})" if value["plugin"] else ""
            yield {
                "rule": f"  {value['value']}",
                "means": value["means"] or "(its module does not say what it means)",
                "source": f"{value['source']}{plugin}",
                "example": Path(value["example"]).stem,  # which `replog run` takes as well
            }
