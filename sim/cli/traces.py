"""`replog certify`: judges a run by its trace."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim.cli.arguments import Json
from sim.cli.output import EXIT_FAILED, EXIT_INCONCLUSIVE, complain, print_answer, tell
from sim.errors import BadInput

if TYPE_CHECKING:
    from sim.check.certify import Certificate


def certify(trace: Path, *, as_json: Json = False) -> int:
    """Judge a run by its trace alone, with other code, and compare with the run's own verdict.

    The oracle shares no code with the simulator and its checks. Exit status: 0 both agree, 1 they
    do not, 2 the trace is cut, edited or contradicts itself, 3 a rule of the run is not known.

    Args:
        trace: A trace, as --trace writes it.
    """
    from sim.check.certify import Refused, Undecidable
    from sim.check.certify import certify as judge
    from sim.check.checker import known_invariants
    from sim.files.limits import TRACE_BYTES
    from sim.files.reading import read_bytes

    try:
        made = judge(read_bytes(trace, limit=TRACE_BYTES.most))
    except Refused as error:
        raise BadInput(f"{trace}: {error}") from error
    except Undecidable as error:
        complain(f"{trace}: cannot decide: {error} is not known")
        return EXIT_INCONCLUSIVE
    not_judged = [name for name in known_invariants() if name not in made.judged]
    document = {
        "agrees": not made.differing,
        "differing": made.differing,
        "judged": made.judged,
        "not_judged": not_judged,
        "left_contract_at": made.left_at,
        "found": {
            name: {"at": at, "replica": replica, "offset": offset, "sentence": _law_of(name)}
            for name, (at, (replica, offset)) in made.found.items()
        },
        "reported": made.reported,
    }
    status = EXIT_FAILED if made.differing else 0
    return print_answer(as_json, document, partial(_show, made, not_judged), status=status)


def _law_of(name: str) -> str:
    from sim.check.certify import laws

    return " ".join((getattr(laws, name.replace("-", "_")).__doc__ or "").split())


def _show(made: Certificate, not_judged: Iterable[str]) -> None:
    for name in made.judged:
        ours, run = made.found.get(name), made.reported.get(name)
        places = None if run is None else (run["at"], (run["replica"], run["offset"]))
        if ours == places:
            continue
        tell(f"{name}: {'both' if ours and run else 'only one of the two'}")
        if ours:
            at, (replica, offset) = ours
            where = replica if offset is None else f"{replica}, offset {offset}"
            tell(f"  found at {at}: {where}; the law: {_law_of(name)}")
        if run:
            tell(f"  reported by the run at {run['at']}: {run['sentence']}")
    if made.left_at is not None:
        print(f"the run left the durability contract at {made.left_at}: judged until then")
    print("not judged: " + ", ".join(not_judged))
    both = sum(name in made.reported for name in made.found)
    verdict = f"disagree about {', '.join(made.differing)}" if made.differing else "agree"
    print(f"{verdict}: {len(made.judged)} invariants judged, {both} violated by both")
