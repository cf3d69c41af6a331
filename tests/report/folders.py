"""Folders of sweeps with chosen results, written down instead of simulated."""

import json
from pathlib import Path
from typing import Any

from sim.check.counters import COSTS, COUNTERS
from sim.protocol.rules.rules import Rules
from sim.study.sweep.shapes import MEASURES, VERDICTS

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
        "earliest": [
            {"invariant": run["first_invariant"], "at_ms": 1, "run_id": 36, "sentence": "so early"}
            for run in shortest or []
        ],
    }


def pair(left: int, right: int, verdicts: Verdicts, **more: Any) -> dict[str, Any]:
    return {
        "left": left,
        "right": right,
        "verdicts": verdicts,
        "other_weather": 0,
        "ended": sum(verdicts.values()),
        "invariants": {},
        "about": {"both": 0, "only_left": 0, "only_right": 0},
        **more,
        "differences": dict.fromkeys(COSTS, 0) | more.get("differences", {}),
        "squares": dict.fromkeys(COSTS, 0) | more.get("squares", {}),
        "differing": dict.fromkeys(COSTS, 0) | more.get("differing", {}),
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


def write_folder(
    out: Path,
    rule_sets: list[dict[str, Any]],
    entries: list[dict[str, Any]],
    pairs: list[Any],
    *,
    environments: dict[str, tuple[list[dict[str, Any]], list[Any]]] | None = None,
    plan: dict[str, Any] | None = None,
    seed: int = 280,
) -> Path:
    """A sweep; without `environments` (entries and pairs of each) all cases are `plain` ones."""
    parts = environments or {"plain": (entries, pairs)}
    cases = sum(own[0]["runs"] for own, _ in parts.values())
    document = {
        "format": "replog-sweep-output/4",
        "package_version": "1.2.3",
        "plan_file": "scenarios/sweeps/a plan.yaml",
        "count": cases,
        "seed": seed,
        "runs": cases * len(entries),
        "environments": [{"name": name} for name in parts],
        "rule_sets": rule_sets,
        "plan": {"title": "One <fix> & another", "source": "KIP-280", "rule_sets": []}
        | (plan or {}),
    }
    tallies = {
        "format": "replog-tallies/2",
        "cases": cases,
        "rule_sets": entries,
        "pairs": pairs,
        "environments": [
            {"name": name, "cases": own[0]["runs"], "rule_sets": own, "pairs": of_pairs}
            for name, (own, of_pairs) in parts.items()
        ],
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(document))
    (out / "tallies.json").write_text(json.dumps(tallies))
    return out


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


def both_fixes(out: Path) -> Path:
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
    return write_folder(
        out,
        [rule_set(index, fix) for index, fix in enumerate(fixes)],
        entries,
        _pairs_of_both_fixes(),
    )
