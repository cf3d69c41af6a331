"""A second oracle: judges a run by its trace, `replog-trace/1`, and by nothing else.

It shares no code with the replicas, the checks or the writer of traces. `logs.py` parses traces,
refuses bad ones and rebuilds logs, `laws.py` judges; README.md has the definitions.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

from sim.check.certify.laws import JUDGED, LAWS, Judge, Where
from sim.check.certify.logs import Refused, Row, Undecidable, parse

__all__ = ["JUDGED", "Certificate", "Refused", "Undecidable", "certify"]

OF_ANOTHER_KIND = "a field has a value of another kind than sim/protocol/events/FORMAT.md says"


class Certificate(NamedTuple):
    """The violations that the oracle found, and those of the run's verdict.

    Attributes:
        judged: The invariants that were judged; `found` and `reported` are of these.
        found: Time and place of the first violation by invariant.
        reported: First violation in the verdict of the run by invariant.
        left_at: Time at which the run left the durability contract, after which nothing is judged;
            None if it did not.
    """

    judged: list[str]
    found: dict[str, tuple[int, Where]]
    reported: dict[str, Row]
    left_at: int | None

    @property
    def differing(self) -> list[str]:
        """Invariants that this oracle finds violated and the run does not, or the reverse."""
        return [name for name in self.judged if (name in self.found) != (name in self.reported)]


def certify(text: bytes) -> Certificate:
    """Judges a trace; raises Refused, or Undecidable where a rule is not known."""
    found: dict[str, tuple[int, Where]] = {}
    left_at, row = None, dict[str, Any]()
    try:
        trace = parse(text)
        row = trace.header
        judge, rules = Judge(trace), trace.header["rules"]
        judged = [name for name in JUDGED if name not in not_judged(rules)]
        for row in trace.events:
            if trace.header["within_contract"] and judge.leaves_contract(row):
                left_at = row["at"]
                break
            _look(judge, row, found, before=True)
            judge.apply(row)
            _look(judge, row, found, before=False)
        reported = {one["invariant"]: one for one in reversed(trace.verdict["violations"])}
        first = {name: found[name] for name in judged if name in found}
        return Certificate(
            judged, first, {n: reported[n] for n in judged if n in reported}, left_at
        )
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        where = f"{row.get('event', 'the header')} at {row.get('at', 0)}"
        what = f"no {error}" if isinstance(error, KeyError) else OF_ANOTHER_KIND
        raise Refused(f"{where}: {what}") from error


def _look(judge: Judge, row: Row, found: dict[str, tuple[int, Where]], *, before: bool) -> None:
    replica = judge.replicas.get(row["replica"])  # before an election nothing can be broken at rest
    for name, law in LAWS.get((row["event"], before), ()):
        if replica is not None and name not in found:
            found.update(
                (name, (row["at"], where)) for where in islice(law(judge, replica, row), 1)
            )


def not_judged(rules: Row) -> set[str]:
    """The invariants that have no meaning under the rules of a run."""
    names = {"tombstone-safety"} if rules["lag_guard"] != "none" else set()
    deltas = {"materialized-state-equivalence", "snapshot-consistency"}
    return names | deltas if rules["state_machine"] != "keyed" else names
