"""`replog sweep merge`: one sweep out of several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim.cli.arguments import Command, Parser, plugin_arguments, take_json, take_plugins
from sim.cli.output import EXIT_INCONCLUSIVE, complain, print_json, print_table, tell
from sim.foreign import shell


def _takes(parser: Parser) -> None:
    parser.add_argument(
        "folders", type=Path, nargs="+", metavar="DIR", help="Folders of sweeps of one plan."
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="A new folder for all of them."
    )
    take_plugins(parser)
    take_json(parser)


def merge(folders: list[Path], *, out: Path, as_json: bool) -> int:
    """Make one sweep out of parts of an interrupted one, or of sweeps under different seeds.

    All have the same plan, rules, version and code; each is compared with its checksums first.
    Seeds follow one another in the order given, and runs are numbered anew. Status 3: parts were
    put together and some runs are in none of them; --resume of the sweep makes them.
    """
    from sim.sweeps.merge import merge as merged
    from sim.sweeps.segments import seeds_text

    found = merged(folders, out)
    sweep = found.sweep
    verdicts = {
        entry["label"]: {name: seen["runs"] for name, seen in entry["counts"]["verdict"].items()}
        for entry in (found.tallies or {"rule_sets": ()})["rule_sets"]
    }
    if as_json:
        document: dict[str, Any] = {"out": str(out), "cases": sweep.count, "runs": sweep.runs}
        document |= {"segments": [part._asdict() for part in sweep.parts]}
        print_json(document | {"missing": found.missing, "verdicts": verdicts})
    else:
        if verdicts:
            print_table([{"rule set": label, **_counted(of)} for label, of in verdicts.items()])
        tell(f"{sweep.runs:,} runs of {sweep.count:,} cases in {out}, {seeds_text(sweep.parts)}")
    if found.missing:
        complain(f"{out}: {found.missing:,} runs are in none of these; --resume makes them")
        return EXIT_INCONCLUSIVE
    if not as_json:
        print("next: replog report " + shell.command([out, *plugin_arguments()]))
    return 0


def _counted(verdicts: dict[str, int]) -> dict[str, str]:
    return {name: f"{runs:,}" for name, runs in verdicts.items()}


COMMANDS = {"sweep merge": Command(merge, _takes)}
