"""Sections of a report below its sentences, each written once for both pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sim.check.coverage import SITUATIONS
from sim.check.families import FAMILIES
from sim.check.registry import declared_family
from sim.files.foreign.documents import json_text
from sim.protocol.rules.rules import shown
from sim.study.causes import Causes
from sim.study.report.causes import pictures
from sim.study.report.comparison import short_table
from sim.study.report.conditions import exposure_of, hunts_text
from sim.study.report.costs import costs_of, price_of
from sim.study.report.pairs import (
    Paired,
    baselines_of,
    counted_in,
    counted_share,
    difference_of,
    paired,
    pairs_within,
    rate_of,
    share_of,
)
from sim.study.report.parts import Code, Heading, Note, Part, Picture, Section, Table
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.statistics import VERDICTS

PAIRED = (
    "Left minus right, in percentage points, with Fay and Lumbard's (2021) two-sided interval, not "
    "adjusted; it leaves out 0 exactly where McNemar's p is below 0.05 before any correction. p "
    "values are Holm's. Left out: cases in which one of the two runs was not judged."
)
COSTS = (
    "Over the runs that came to an end, violated or not: the mean, and against the baseline the "
    "ratio of the means and the mean difference on the same cases, with Student's two-sided 95 % "
    "interval (not adjusted; as many degrees of freedom as cases differ, less one)."
)
CAUSES = (
    "Failing runs are grouped by the cause of what they violate first: its family, and the facts "
    "that decided. An interval is of the share of judged runs, exact, two-sided, 95 %. A witness "
    "is the smallest run found with the same cause; nothing says that there is no smaller one. "
    "Commands are given from where {folder} is the folder of the sweep; its plan.json alone, in an "
    "empty folder, is enough for them."
)
EXPOSURE = (
    "The seeds are the same in every environment. A replica is away, or falls behind, for an "
    "outage; a tombstone lives as long as the time beside it. A send is late when it is not the "
    "newest of its key."
)


def summary_of(folder: SweepFolder) -> list[Part]:
    """The open part of a page: for each environment its violations and where rule sets stand."""
    plan, parts = folder.plan, list[Part]()
    other_weather = sum(pair["other_weather"] for pair in folder.statistics["pairs"])
    if other_weather:
        parts.append(
            Note(
                f"Workload or faults differ in {wording.counted(other_weather, 'pair')} of runs: "
                "the paired comparison does not hold for them."
            )
        )
    for one in folder.environments:
        short = short_table(one)
        parts += [
            Heading(hunts_text(one)),
            *([short] if short else []),
            standings_of(one, columns_of(folder)),
        ]
    baseline = "the same rules without a fix"
    if "fix" not in plan["rule_sets"][0]["swept"]:
        baseline = plan["rule_sets"][0]["label"]
    against = ""
    if len(plan["rule_sets"]) > 1:
        against = (
            f", and the difference to {baseline} on the same cases, with its 95 % interval "
            "(two-sided, not adjusted)"
        )
    size = wording.counted(len(plan["rule_sets"]), "rule set")
    return [
        *parts,
        Note(
            f"Cases that violated it, of those judged{against}. {folder.drawn}, drawn from "
            f"{plan['seed']}, {size}, {wording.count(plan['runs'])} runs; every rule set met the "
            "same writes and the same faults at the same times."
        ),
    ]


Columns = Sequence[tuple[int, str]]
"""Places of rule sets with their names, as a table shows them."""


def columns_of(folder: SweepFolder) -> Columns:
    """All rule sets by their labels."""
    return [(place, one["label"]) for place, one in enumerate(folder.plan["rule_sets"])]


def standings_of(one: SweepFolder, columns: Columns) -> Table:
    """Each rule set against its baseline."""
    rows, ranges, costs = [], [], costs_of(one)
    baselines = baselines_of(one.plan["rule_sets"])
    for place, label in columns:
        baseline = baselines[place] if baselines[place] in dict(columns) else columns[0][0]
        found = None if place == baseline else difference_of(one, place, baseline)
        against = "the baseline" if place == baseline else "-" if found is None else found.text
        share = counted_share(one, one.statistics["rule_sets"][place])
        rows.append((label, share.counted_text, against, price_of(costs, place)))
        ranges.append(found and (found.interval.low, found.value, found.interval.high))
    head = ("rule set", f"with {_about(one)}", "difference, 95 %", "costs that differ")
    return Table(head, rows, 4, ranges)


def _about(folder: SweepFolder) -> str:
    return f"any of: {', '.join(folder.about)}" if folder.about else "any violation"


def sections_of(folder: SweepFolder, causes: Causes, told: Mapping[str, Any]) -> Iterator[Section]:
    """The sections, in order; `told` is the result of `causes_content`."""
    entries, plan = folder.statistics["rule_sets"], folder.plan["plan"]
    labels = [entry["label"] for entry in entries]
    if plan.get("notes"):
        notes = list(zip(labels, plan["notes"], strict=False))
        yield Section("What is compared", [Table(("rule set", "what it promises"), notes, 2)])
    exposures = {one.environment: exposure_of(one) for one in folder.environments}
    rows = [(name, *one.values()) for name, one in exposures.items()]
    head = ("environment", *next(iter(exposures.values())))
    yield Section("What the cases are", [Table(head, rows), Note(EXPOSURE)])
    of_each: dict[str, Callable[[SweepFolder, Columns], Sequence[Part]]] = {
        "What is violated": violated_parts,
        "Rule sets against each other, on the same cases": _pairs,
        "What does each cost?": costs_parts,
    }
    for one in folder.environments:
        where = f" ({one.environment})" if len(folder.environments) > 1 else ""
        for title, make in of_each.items():
            parts = make(one, columns_of(folder))
            if parts:
                yield Section(title + where, parts)
    yield Section("Why runs fail", [*_causes(folder, told, pictures(causes))])
    yield Section("Did the interesting situations occur?", _reached(folder, labels))
    for measure, title in (("reason", "Inconclusive runs"), ("error", "Runs that failed")):
        seen = _seen(folder, measure)
        if seen:
            yield Section(title, [Table((title.lower(), *labels), seen)])
    rules = [
        (name, *(shown(one["rules"][name]) for one in folder.plan["rule_sets"]))
        for name in folder.plan["rule_sets"][0]["rules"]
    ]
    revision = f" ({folder.plan['revision']})" if folder.plan.get("revision") else ""
    yield Section(
        "How this was made",
        [
            Code(f"{folder.sweep_command}\n{folder.report_command}", "console"),
            Note(
                f"Replog {folder.plan['package_version']}{revision}. The table of runs is a "
                "function of plan, count and seed."
            ),
            Section("The plan", [Code(json_text(plan, indent=2), "json")]),
            Section("Every rule", [Table(("rule", *labels), rules, 1 + len(labels))]),
        ],
    )


def violated_parts(one: SweepFolder, columns: Columns) -> list[Table | Note]:
    """The verdicts of runs, and in how many of them each family and invariant was violated."""
    entries, labels = [one.statistics["rule_sets"][place] for place, _ in columns], dict(columns)
    verdicts = [
        (
            label,
            *(wording.count(entry["counts"]["verdict"][name]["runs"]) for name in VERDICTS),
            rate_of(entry).share_text,
        )
        for label, entry in zip(labels.values(), entries, strict=True)
    ]
    families = [
        (
            f"{name}: {meaning}",
            *("\n".join([share.text, *share.per_chance]) for share in shares),
        )
        for name, meaning in FAMILIES.items()
        for shares in ([share_of(entry, "family", name) for entry in entries],)
    ]
    names = sorted({name for entry in entries for name in entry["counts"]["invariant"]})
    invariants = [
        (name, declared_family(name), *(share_of(e, "invariant", name).text for e in entries))
        for name in names
    ]
    head = ("invariant", "family", *labels.values())
    return [
        Table(("rule set", "held", *VERDICTS[1:], "violated, of those judged"), verdicts),
        Table(("family", *labels.values()), families),
        *([Table(head, invariants, 2)] if invariants else []),
        Note(
            "Judged runs that violated it, and their share with its exact two-sided 95 % interval; "
            "of families also how many there are per chance. A run may violate several."
        ),
    ]


def _pairs(one: SweepFolder, columns: Columns) -> list[Part]:
    pairs, labels = pairs_within(one), dict(columns)
    if not pairs:
        return []
    numbers = ("both", "left only", "right only", "neither", "left out", "difference", "p")
    named = [f"{labels[pair['left']]} | {labels[pair['right']]}" for pair in pairs]
    rows = _compared([(pair, counted_in(one, pair)) for pair in pairs])
    folded = [
        Section(
            f"{labels[pair['left']]} and {labels[pair['right']]}, invariant by invariant",
            [
                Table(
                    ("cases violated by", *numbers),
                    [
                        (name, *row)
                        for name, row in zip(
                            pair["invariants"],
                            _compared([(pair, own) for own in pair["invariants"].values()]),
                            strict=True,
                        )
                    ],
                )
            ],
        )
        for pair in pairs
        if pair["invariants"]
    ]
    table = Table(
        ("left | right", *numbers), [(name, *row) for name, row in zip(named, rows, strict=True)]
    )
    return [table, Note(f"Cases with {_about(one)}. {PAIRED}"), *folded]


def _compared(
    counted: Sequence[tuple[Mapping[str, Any], Mapping[str, int]]],
) -> list[tuple[str, ...]]:
    """The numbers of comparisons that are looked at together, with Holm's p values."""
    found: list[Paired] = [paired(pair, own) for pair, own in counted]
    rows = []
    for (pair, _), one, p in zip(counted, found, stats.holm([one.p for one in found]), strict=True):
        sides = (one.both, one.only_left, one.only_right)
        left_out = pair["cases"] - one.judged
        difference = one.difference
        rows.append(
            (
                *map(wording.count, (*sides, one.judged - sum(sides), left_out)),
                "-" if difference is None else difference.text,
                wording.p_value(p),
            )
        )
    return rows


def costs_parts(one: SweepFolder, columns: Columns) -> list[Table | Note]:
    """Costs of a run, and how much more than under the baseline."""
    rows = []
    for cost in costs_of(one):
        own = [cost.rule_sets[place] for place, _ in columns]
        rows.append((cost.title, *(f"{one.mean_text}\n{one.paired_text}".strip() for one in own)))
    return [Table(("per run", *dict(columns).values()), rows), Note(COSTS)]


def _causes(
    folder: SweepFolder, causes: Mapping[str, Any], drawn: Mapping[str, str]
) -> Iterator[Part]:
    yield Note(f"{causes['text']}.")
    yield Note(CAUSES.format(folder=folder.name))
    for number, cause in enumerate(causes["causes"], 1):
        yield Heading(f"{number}. {cause['cause']}")
        first = [f"{name} {wording.count(runs)}" for name, runs in cause["invariants"].items()]
        yield Note(f"{', '.join(first)} violated first.")
        rows = [
            (
                share["label"],
                share["environment"],
                *(wording.count(share[name]) for name in ("runs", "judged")),
                share["text"],
            )
            for share in cause["shares"]
            if share["runs"]
        ]
        yield Table(("rule set", "environment", "runs", "of", "95 %"), rows, 2)
        story, witness, example = cause["story"], cause["witness"], cause["example"]
        known = "Not known: no story of the track record has this cause under these rules."
        if story:
            known = f"Known: {story['title']} ({story['path']}, {story['size']})."
        yield Note(known)
        if witness:
            cut_off = "; the tries ran out before it was as small as it gets"
            run = wording.counted(witness["run_events"], "event")
            yield Note(
                f"Witness: {witness['size']}, made of a run of {run}"
                f"{'' if witness['complete'] else cut_off}. {witness['sentence']}"
            )
            yield Picture(drawn[cause["cause"]], witness["strip"])
            yield Section(f"The {witness['kind']}", [Code(witness["text"], "yaml")])
            yield Code(witness["command"])
        yield Note(f"Earliest, after {wording.count(example['at_ms'])} ms: {example['sentence']}")
        yield Code(example["command"])


def _reached(folder: SweepFolder, labels: Sequence[str]) -> list[Part]:
    counts = [entry["counts"]["reached"] for entry in folder.statistics["rule_sets"]]
    never = [name for name in SITUATIONS if not any(name in one for one in counts)]
    told = f"{len(never)} of {len(SITUATIONS)} situations that are watched for never occurred"
    names = f"; this sweep says nothing about them: {', '.join(never)}" if never else ""
    return [
        Note(f"{told}{names}."),
        Table(("situation, runs in which it occurred", *labels), _seen(folder, "reached")),
    ]


def _seen(folder: SweepFolder, measure: str) -> list[tuple[str, ...]]:
    """In how many runs each name of a measure was seen, under each rule set; most runs first."""
    counts = [entry["counts"][measure] for entry in folder.statistics["rule_sets"]]
    runs = {
        name: [one.get(name, {"runs": 0})["runs"] for one in counts]
        for name in sorted({name for one in counts for name in one})
    }
    return [
        (name, *map(wording.count, runs[name]))
        for name in sorted(runs, key=lambda name: -sum(runs[name]))
    ]
