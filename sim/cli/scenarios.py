"""`replog run`: one scenario file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import (
    Command,
    FailuresIn,
    GivenRules,
    Json,
    SeedOf,
    TraceOut,
    plugin_arguments,
    rule_values,
    shipped,
)
from sim.cli.explaining import Explain, explained, in_json, print_explanation
from sim.cli.output import (
    print_counters,
    print_json,
    print_violations,
    tell,
)
from sim.cli.signatures import Argument
from sim.foreign import shell

if TYPE_CHECKING:
    from sim.explain import Explanation
    from sim.suite.result import CaseResult


def run(
    file: Annotated[Path, Argument(shipped)],
    *,
    seed: SeedOf = None,
    rule: GivenRules = None,
    explain: Explain = None,
    trace: TraceOut = None,
    failures: FailuresIn = None,
    as_json: Json = False,
) -> int:
    """Run one scenario or story and compare it with what it expects.

    With --json each violation tells when it was judged, `at_ms` or `step`, and `since` when it was
    so, in the same unit.

    Args:
        file: A story or a timed scenario, YAML or JSON; or the id of a shipped one.
    """
    from sim.suite.running import run_file

    if trace is not None:
        from sim.files.atomic import check_writable

        check_writable(trace, what=f"--trace {trace}", read=[file])
    traced = trace is not None
    result = run_file(
        file,
        seed=seed,
        rules=rule_values(rule),
        keep_events=explain is not None or traced or as_json,
        describe=traced,
    )
    if trace is not None:
        _write_trace(trace, result)
    explanation = None if explain is None else _explanation(result, explain)
    saved = None
    if failures is not None and not result.expectation_met:
        from sim.cli.failures import save_file

        saved = save_file(file, failures, seed=seed, rules=rule_values(rule))
    if as_json:
        document = _document(result)
        if failures is not None:
            document["failure"] = None if saved is None else str(saved)
        if explain is not None:
            document |= in_json(explanation)
        print_json(document)
    else:
        arguments: list[object] = [file, *(f"--rule={text}" for text in rule or [])]
        arguments += plugin_arguments()
        arguments += [] if seed is None else [f"--seed={seed}"]
        _show(result, explanation, f"replog run {shell.command(arguments)}")
        if saved is not None:
            tell(f"failure: {saved}")
    return result.exit_code


def _write_trace(path: Path, result: CaseResult) -> None:
    from sim.files.trace_file import TraceVerdict, write_trace
    from sim.trace.digest import digest_of

    assert result.trace_header is not None
    violations = tuple(violation.as_row(when="at") for violation in result.seen)
    digest = digest_of(result.events)
    verdict = TraceVerdict(result.verdict, result.reason, violations, digest)
    write_trace(path, result.trace_header, result.events, verdict)


def _document(result: CaseResult) -> dict[str, Any]:
    """The result as JSON; each violation also tells since when it was so."""
    from sim.explain.since import all_since

    document = result.as_json()
    if result.judged_by is not None:
        for name, found in (("violations", result.violations), ("not_judged", result.not_judged)):
            since = all_since(result.events, found, result.judged_by)
            rows = zip(document[name], since, strict=True)
            document[name] = [row | {"since": began} for row, began in rows]
    return document


def _explanation(result: CaseResult, wanted: str) -> Explanation | None:
    seen = result.seen if wanted else result.violations
    return explained(result.events, seen, wanted, rules=result.judged_by, skews=result.skews)


def _show(result: CaseResult, explanation: Explanation | None, command: str) -> None:
    tell(f"{result.id}: {result.title}" if result.title else result.id)
    unit = "step" if result.is_story else "ms"
    print_violations(result.violations, unit=unit)
    for name, view in result.detail.get("replicas", {}).items():
        tell(_replica_line(name, view))
    if not result.is_story:
        print_counters(result.detail["counters"])
        if result.detail["reached"]:
            print("  reached: " + ", ".join(result.detail["reached"]))
        if result.detail["outside"]:
            print(f"  outside the durability contract: {result.detail['outside']}")
        print(f"  seed {result.detail['seed']}, digest {result.detail['digest']}")
    if explanation:
        print_explanation(explanation, result.violations, unit=unit)
    for line in result.notes:
        tell(f"  {line}")
    for line in result.differences:
        tell(f"  not as expected: {line}")
    verdict = result.verdict + (f" ({result.reason})" if result.reason else "")
    met = "expectation met" if result.expectation_met else "expectation NOT met"
    tell(f"{verdict}; {met}; {result.wall_ms} ms")
    if not result.expectation_met:
        print(f"reproduce: {command}")


def _replica_line(name: str, view: dict[str, Any]) -> str:
    state = "up" if view["up"] else "down"
    return (
        f"  replica {name} ({state}): {' '.join(view['log']) or 'empty'}"
        f"  [start {view['start']}, high watermark {view['hw']}, log end {view['leo']}]"
    )


COMMANDS = {"run": Command(run, is_one_run=True)}
