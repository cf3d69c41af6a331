"""`replog run`: one scenario file, or one row of a sweep once more; `replog certify`: its trace."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import Argument, FailuresIn, GivenRules, Json, RunId, SeedOf, run_at, shipped
from sim.cli.output import (
    EXIT_FAILED,
    EXIT_INCONCLUSIVE,
    complain,
    explanation_in_json,
    print_answer,
    print_explanation,
    print_json,
    tell,
)
from sim.errors import BadInput
from sim.files.foreign import command_line

if TYPE_CHECKING:
    from sim.api.runs import Run
    from sim.check.certify import Certificate
    from sim.simulate.run import Run as Simulated


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Options for the output of a run.

    Attributes:
        explain: Explain why it was violated: the fact that decided, the committed records against
            those that replicas hold, and the events before. Without a name: the first violation.
        trace: Write all events of the run to this file, a line of JSON each (replog-trace/1, see
            sim/protocol/events/FORMAT.md).
    """

    explain: Annotated[str | None, Argument(metavar="INVARIANT", nargs="?")] = None
    trace: Annotated[Path | None, Argument(metavar="OUT")] = None
    failures: FailuresIn = None
    as_json: Json = False


def run(
    file: Annotated[Path, Argument(shipped, "FILE|DIR")],
    run_id: RunId = None,
    *,
    seed: SeedOf = None,
    rule: GivenRules = None,
    wanted: Wanted,
) -> int:
    """Run one scenario or story and compare it with what it expects; or repeat a run of a sweep.

    With --json each violation has the time at which it was found, `at_ms` or `step`, and the time
    `since` which it holds, in the same unit. A repeated run has to have the digest that is in
    the table of the sweep; without a table, `plan.json` is enough to run it.

    Args:
        file: A story or a timed scenario, YAML or JSON; the id of a shipped one; or the folder of
            a sweep.
        run_id: The number of a run, in the folder of a sweep.
    """
    if run_id is None and file.is_dir():
        command = command_line(["replog", "suite", file])
        again = "a run of a sweep is given as DIR RUN_ID"
        raise BadInput(f"{file}: is a folder; run what is in it with: {command}; {again}")
    if wanted.trace is not None:
        from sim.files.atomic import check_writable

        read = [file] if run_id is None else []
        check_writable(wanted.trace, what=f"--trace {wanted.trace}", read=read)
    started = time.perf_counter()
    made = run_at(file, run_id, seed=seed, rule=rule)
    found = made.recorded
    if run_id is not None:
        _print_again(made, run_id, wanted)
        return EXIT_INCONCLUSIVE if found.cut_off else 0
    took_ms = round((time.perf_counter() - started) * 1000)
    scenario = made.scenario
    _print(
        made,
        wanted,
        failed=found.exit_code != 0,
        document=_with_since(made) if wanted.as_json else {},
        head=[f"{scenario.id}: {scenario.title}" if scenario.title else scenario.id],
        tail=[
            *(f"  {line}" for line in found.notes),
            *(f"  not as expected: {line}" for line in found.differences),
            f"{_verdict(found)}; expectation {'NOT ' if found.exit_code else ''}met; {took_ms} ms",
            *([f"reproduce: {made.command}"] if found.exit_code else []),
        ],
    )
    return found.exit_code


def _print_again(made: Run, run_id: int, wanted: Wanted) -> None:
    """Prints a repeated run of a sweep, and whether its digest is known to be that of its row."""
    from sim.protocol.rules import shown

    found, row = made.recorded, made.row
    compared = row is not None and row.digest is not None and not found.cut_off
    nothing = "no table of runs here" if row else "the run in the table has other rules"
    if found.cut_off:
        nothing = "this run was cut off"
    changed = made.scenario.changed_rules.items()
    document = _with_since(made) if wanted.as_json else {}
    _print(
        made,
        wanted,
        failed=bool(found.violations),
        document={"run_id": run_id, **document, "digest_reproduced": compared or None},
        head=[
            f"run {run_id}: {found.id}",
            f"  rules: {', '.join(f'{name}={shown(value)}' for name, value in changed) or '-'}",
        ],
        tail=[
            f"{_verdict(found)}; digest "
            + ("reproduced" if compared else f"not compared: {nothing}")
        ],
    )


def _print(
    made: Run,
    wanted: Wanted,
    *,
    failed: bool,
    document: dict[str, Any],
    head: list[str],
    tail: list[str],
) -> None:
    """Writes the files that are wanted, and prints the run between `head` and `tail`."""
    found = made.recorded
    if wanted.trace is not None:
        made.save_trace(wanted.trace)
    reasons = None
    if wanted.explain is not None and (wanted.explain or found.violations):
        reasons = made.explain(wanted.explain or None)
    saved = made.save(wanted.failures) if wanted.failures is not None and failed else None
    if wanted.as_json:
        if wanted.failures is not None:
            document["failure"] = None if saved is None else str(saved)
        print_json(document if wanted.explain is None else document | explanation_in_json(reasons))
        return
    for line in head:
        tell(line)
    for violation in found.violations:
        tell(f"  {violation.invariant} ({found.when(violation)}): {violation.sentence}")
    _show_detail(found)
    if reasons:
        print_explanation(reasons, found.violations, found)
    for line in tail:
        tell(line)
    if saved is not None:
        tell(f"failure: {saved}")


def _show_detail(found: Simulated) -> None:
    for step, text in found.answers:
        tell(f"  step {step}: {text}")
    for name, view in found.replicas.items():
        tell(
            f"  replica {name} ({'up' if view.up else 'down'}): {' '.join(view.log) or 'empty'}"
            f"  [start {view.log_start_offset}, high watermark {view.high_watermark}, "
            f"log end {view.log_end_offset}]"
        )
    if found.unit == "ms":
        counted = [f"{name} {value:,}" for name, value in found.counters.items() if value]
        print("  " + (", ".join(counted) or "nothing happened"))
        if found.reached:
            print("  reached: " + ", ".join(found.reached))
        if found.settling:
            changed = [f"{name} {count:+,}" for name, count in found.settling.counters.items()]
            if found.settling.reached:
                changed.append(f"reached: {', '.join(found.settling.reached)}")
            after = f"while settling, after {found.settling.from_ms:,} ms"
            print(f"  {after}: {', '.join(changed) or 'nothing'}")
        if found.outside:
            print(f"  outside the durability contract: {found.outside}")
        print(f"  seed {found.content.seed}, digest {found.digest}")


def _with_since(made: Run) -> dict[str, Any]:
    """A run as JSON; each violation also has the time since which it holds."""
    from sim.diagnose.explain import so_since

    found = made.recorded
    document = found.as_json()
    for name, violations in (("violations", found.violations), ("not_judged", found.not_judged)):
        rows = zip(document[name], violations, strict=True)
        document[name] = [row | {"since": so_since(made.past, one)} for row, one in rows]
    return document


def _verdict(found: Simulated) -> str:
    return found.verdict + (f" ({found.reason})" if found.reason else "")


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
    return print_answer(
        as_json, document, partial(_show_certificate, made, not_judged), status=status
    )


def _law_of(name: str) -> str:
    from sim.check.certify import laws

    return " ".join((getattr(laws, name.replace("-", "_")).__doc__ or "").split())


def _show_certificate(made: Certificate, not_judged: Iterable[str]) -> None:
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
