"""Sweeps with chosen statistics, in memory."""

from pathlib import Path
from typing import Any

from sim.check.counters import COSTS, COUNTERS
from sim.protocol.rules.rules import Rules
from sim.study.report.grid import grids_of
from sim.study.report.hazards import NO_HAZARDS, Hazards, Met
from sim.study.report.output import files_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep.statistics import MEASURES, VERDICTS

Verdicts = dict[str, int]


def rule_set(index: int, fix: str, strategy: str = "offset") -> dict[str, Any]:
    rules = Rules().with_values({"fix": fix, "strategy": strategy})
    return {"index": index, "label": fix, "swept": {"fix": fix}, "rules": rules.as_dict()}


def entry(
    index: int,
    label: str,
    verdicts: Verdicts,
    *,
    totals: dict[str, int] | None = None,
    counts: dict[str, dict[str, int]] | None = None,
    shortest: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    named: dict[str, dict[str, int]] = {measure: {} for measure in MEASURES} | (counts or {})
    everything = dict.fromkeys(VERDICTS, 0) | verdicts
    cases = sum(everything.values())
    first = min(4, cases - 1)
    return {
        "index": index,
        "label": label,
        "runs": cases,
        "counts": {
            measure: {name: {"runs": runs, "first_run": first} for name, runs in names.items()}
            for measure, names in (named | {"verdict": everything}).items()
        },
        "ended": cases - everything["error"],
        "totals": dict.fromkeys(COUNTERS, 0) | (totals or {}),
        "shortest": shortest or [],
        "twins": 0,
        "changed": 0,
    }


def pair(left: int, right: int, verdicts: Verdicts, **more: Any) -> dict[str, Any]:
    """`verdicts`: of how many cases both runs ended as in `violated/holds`."""
    sides = ("violated/violated", "violated/holds", "holds/violated")
    both, only_left, only_right = (verdicts.get(name, 0) for name in sides)
    return {
        "left": left,
        "right": right,
        "cases": sum(verdicts.values()),
        "judged": both + only_left + only_right + verdicts.get("holds/holds", 0),
        "other_weather": 0,
        "ended": sum(verdicts.values()),
        "any": {"both": both, "only_left": only_left, "only_right": only_right},
        "about": {"both": 0, "only_left": 0, "only_right": 0},
        "invariants": {},
        **more,
        **{
            name: dict.fromkeys(COSTS, 0) | more.get(name, {})
            for name in ("differences", "squares", "differing")
        },
    }


def violating_run(run_id: int, sentence: str) -> dict[str, Any]:
    return {
        "rule_set": 0,
        "run_id": run_id,
        "case_id": run_id // 3,
        "seed": 5,
        "first_invariant": "no-offset-reuse",
        "first_violation_ms": 1_234,
        "events": 99,
        "violation_count": 2,
        "sentence": sentence,
    }


def folder_of(
    rule_sets: list[dict[str, Any]],
    entries: list[dict[str, Any]],
    pairs: list[Any],
    *,
    path: Path = Path("a sweep"),
    environments: dict[str, tuple[list[dict[str, Any]], list[Any]]] | None = None,
    plan: dict[str, Any] | None = None,
    hazards: Hazards | None = None,
) -> SweepFolder:
    """A sweep; without `environments` (entries and pairs of each) all cases are `plain` ones."""
    parts = environments or {"plain": (entries, pairs)}
    cases = sum(own[0]["runs"] for own, _ in parts.values())
    document = {
        "package_version": "1.2.3",
        "plan_file": "scenarios/sweeps/a plan.yaml",
        "count": cases,
        "seed": 280,
        "runs": cases * len(entries),
        "environments": [{"name": name} for name in parts],
        "rule_sets": rule_sets,
        "plan": {"title": "One <fix> & another", "source": "KIP-280"} | (plan or {}),
    }
    tables = [
        {"name": name, "rule_sets": own, "pairs": of_pairs}
        for name, (own, of_pairs) in parts.items()
    ]
    statistics = {"rule_sets": entries, "pairs": pairs, "environments": tables}
    return SweepFolder(path, path.as_posix(), document, statistics, hazards or NO_HAZARDS)


def pages_of(folder: SweepFolder) -> dict[str, str]:
    """The files of its report."""
    return files_of(folder, grids_of(folder))


def _pairs_of_both_fixes() -> list[dict[str, Any]]:
    return [
        pair(
            0,
            1,
            {"holds/holds": 876, "violated/holds": 120, "error/holds": 2, "holds/inconclusive": 2},
            ended=998,
            differences={"bytes_retained": 99_800, "empty_batches": 499},
            squares={"bytes_retained": 99_800_00, "empty_batches": 499},
            differing={"bytes_retained": 998, "empty_batches": 499},
        ),
        pair(
            0,
            2,
            {
                "holds/holds": 875,
                "violated/holds": 116,
                "violated/violated": 4,
                "holds/violated": 3,
                "error/holds": 2,
            },
        ),
        pair(
            1,
            2,
            {"holds/holds": 991, "holds/violated": 7, "inconclusive/holds": 2},
            invariants={
                "log-matching": {"both": 0, "only_left": 0, "only_right": 1},
                "no-offset-reuse": {"both": 0, "only_left": 0, "only_right": 7},
            },
        ),
    ]


def both_fixes(path: Path = Path("a sweep")) -> SweepFolder:
    """1,000 cases: no fix violates in 120, one fix in 7, the other never."""
    sentence = "r1 gave offset 3 to k1=<d>, committed as k1=e"
    fixes = ["none", "empty_batch", "leo_retention"]
    entries = [
        entry(
            0,
            "none",
            {"holds": 878, "violated": 120, "error": 2},
            totals={"bytes_retained": 998_000, "stale_reads_last": 0},
            counts={
                "invariant": {"no-offset-reuse": 120, "state-machine-safety": 80},
                "first_invariant": {"no-offset-reuse": 120},
                "error": {"KeyError: 'k7'": 2},
                "reached": {"tail-removed": 500},
            },
            shortest=[violating_run(33, sentence)],
        ),
        entry(
            1,
            "empty_batch",
            {"holds": 998, "inconclusive": 2},
            totals={"bytes_retained": 1_200_000, "empty_batches": 500},
            counts={"reason": {"max_events: 100000": 2}},
        ),
        entry(
            2,
            "leo_retention",
            {"holds": 993, "violated": 7},
            totals={"bytes_retained": 1_100_000, "stale_reads_last": 100},
            counts={
                "invariant": {"no-offset-reuse": 7},
                "first_invariant": {"no-offset-reuse": 7},
            },
        ),
    ]
    rule_sets = [rule_set(index, fix) for index, fix in enumerate(fixes)]
    twice = "offset given twice"
    hazards = Hazards(
        {(0, 0, twice): Met(120, 33), (0, 2, twice): Met(7, 14)},
        {(0, 0, 1, twice): 120, (0, 0, 2, twice): 116, (0, 2, 0, twice): 3, (0, 2, 1, twice): 7},
    )
    return folder_of(rule_sets, entries, _pairs_of_both_fixes(), path=path, hazards=hazards)
