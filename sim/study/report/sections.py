"""The sections of a report below its verdict, each written once for both pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sim.files.foreign.documents import json_text
from sim.protocol.rules.rules import shown
from sim.study.report.comparison import against_text
from sim.study.report.figures import EnvironmentFigures
from sim.study.report.parts import Code, Heading, Note, Part, Picture, Section, Table
from sim.study.sweep import wording
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


def sections_of(
    content: Mapping[str, Any], drawn: Sequence[EnvironmentFigures], pictures: Mapping[str, str]
) -> Iterator[Section]:
    """The sections, in order.

    Args:
        content: What `report.json` is made of.
        drawn: The figures of each environment.
        pictures: Cause -> the picture of its witness, where there is one.
    """
    if content["notes"]:
        yield Section(
            "What is compared", [Table(("rule set", "what it promises"), content["notes"], 2)]
        )
    yield Section("What the cases are", _cases(content))
    labels = [one["label"] for one in content["rule_sets"]]
    of_each: dict[str, Callable[..., list[Part]]] = {
        "Where each rule set stands": _standings,
        "Which family of invariants?": _families,
        "How often was an invariant violated?": _rates,
        "Rule sets against each other, on the same cases": _pairs,
        "What does each cost?": _costs,
        "Which invariants?": _invariants,
    }
    for one, figures in zip(content["environments"], drawn, strict=True):
        where = f" ({one['name']})" if len(content["environments"]) > 1 else ""
        for title, make in of_each.items():
            parts = make(content, one, figures, labels)
            if parts:
                yield Section(title + where, parts)
    yield Section("Why runs fail", [*_causes(content, pictures)])
    yield Section("Did the interesting situations occur?", _reached(content["reached"], labels))
    yield Section("Runs without a verdict", [*_without_verdict(content, labels)])
    yield Section("How this was made", _made(content, labels))


def _cases(content: Mapping[str, Any]) -> list[Part]:
    conditions = [one["conditions"] for one in content["environments"]]
    head = [
        "environment",
        "seeds",
        "with a scripted hunt",
        f"not as in {conditions[0].environment}",
    ]
    head += ["outages per case", "longer than the retention", "sends late", "forced rolls per case"]
    rows = [
        (
            one.environment,
            wording.count(one.cases),
            wording.share(one.hunted),
            one.changed_text or "-",
            wording.number(one.outages),
            one.beyond_text,
            one.late_text,
            wording.number(one.rolls),
        )
        for one in conditions
    ]
    again = (
        "The seeds are the same in every environment; a run that is as in "
        f"{conditions[0].environment}, event by event, says nothing new. "
    )
    return [
        Table(head, rows),
        Note(
            f"{again if len(rows) > 1 else ''}A replica is away, or falls behind, for an outage; "
            "the retention is how long a tombstone lives. A send is late when it is not the newest "
            "of its key."
        ),
    ]


def _about(content: Mapping[str, Any]) -> str:
    return f"any of: {', '.join(content['about'])}" if content["about"] else "any violation"


def _standings(
    content: Mapping[str, Any], one: Mapping[str, Any], _figures: object, _labels: object
) -> list[Part]:
    head = ("rule set", f"with {_about(content)}", "difference on the same cases, 95 %")
    rows = [
        (own["label"], own["share"].counted_text, against_text(own), own["price"])
        for own in one["standings"]
    ]
    return [Table((*head, "costs that differ"), rows, 4)]


def _families(
    _content: object, one: Mapping[str, Any], _figures: object, labels: Sequence[str]
) -> list[Part]:
    rows = [
        (
            f"{family['name']}: {family['meaning']}",
            *("\n".join([share.text, *share.per_chance]) for share in family["shares"]),
        )
        for family in one["families"]
    ]
    note = (
        "Judged runs, their share with its exact 95 % interval, and how many there are per chance."
    )
    return [Table(("family", *labels), rows), Note(f"{note} A run may be in several families.")]


def _rates(
    _content: object, one: Mapping[str, Any], _figures: object, _labels: object
) -> list[Part]:
    rows = [
        (
            rate["label"],
            wording.count(sum(rate["verdicts"].values())),
            *(wording.count(rate["verdicts"][verdict]) for verdict in VERDICTS),
            rate["text"],
        )
        for rate in one["rates"]
    ]
    head = ("rule set", "runs", "held", *VERDICTS[1:], "rate, exact two-sided 95 % interval")
    return [Table(head, rows), Note("The rate is out of the runs that held or violated something.")]


def _pairs(
    content: Mapping[str, Any], one: Mapping[str, Any], _figures: object, _labels: object
) -> list[Part]:
    sides = ("both", "left only", "right only")
    behind = ("difference, 95 %", "McNemar, Holm")
    rows = [
        (
            pair["left"],
            pair["right"],
            *(wording.count(pair[side]) for side in (*_SIDES, "neither", "left_out")),
            *_difference(pair),
        )
        for pair in one["pairs"]
    ]
    folded = [
        Section(
            f"{pair['left']} and {pair['right']}, invariant by invariant",
            [
                Table(
                    ("cases violated by", *sides, *behind),
                    [
                        (
                            each["invariant"],
                            *(wording.count(each[side]) for side in _SIDES),
                            *_difference(each),
                        )
                        for each in pair["invariants"]
                    ],
                )
            ],
        )
        for pair in one["pairs"]
        if pair["invariants"]
    ]
    if not rows:
        return []
    head = ("left", "right", *sides, "neither", "left out", *behind)
    return [Table(head, rows, 2), Note(f"Cases with {_about(content)}. {PAIRED}"), *folded]


_SIDES = ("both", "only_left", "only_right")


def _difference(one: Mapping[str, Any]) -> tuple[str, str]:
    if one["difference"] is None:
        return "no case was judged under both", ""
    points = wording.points(one["difference"])
    return f"{points} ({wording.bare_points(one['interval'])})", wording.p_value(one["adjusted_p"])


def _costs(
    _content: object, one: Mapping[str, Any], figures: EnvironmentFigures, labels: Sequence[str]
) -> list[Part]:
    rows = [
        (
            cost.title,
            *("\n".join(filter(None, [own.mean_text, own.paired_text])) for own in cost.rule_sets),
        )
        for cost in one["costs"]
    ]
    pictures = [Picture(svg, title) for title, svg in figures.costs]
    return [*pictures, Table(("per run", *labels), rows), Note(COSTS)]


def _invariants(
    _content: object, one: Mapping[str, Any], _figures: object, labels: Sequence[str]
) -> list[Part]:
    rows = [
        (row["name"], row["family"], *(rate["text"] for rate in row["rates"]))
        for row in one["invariants"]
    ]
    if not rows:
        return [Note("No run violated an invariant.")]
    note = (
        "Runs that violated it, and their share of all judged runs: exact two-sided 95 % interval"
    )
    return [
        Table(("invariant", "family", *labels), rows, 2),
        Note(f"{note}; a run may violate several."),
    ]


def _causes(content: Mapping[str, Any], pictures: Mapping[str, str]) -> Iterator[Part]:
    causes = content["causes"]
    yield Note(f"{causes['text']}.")
    yield Note(CAUSES.format(folder=content["folder"]))
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
        yield Note(_story(cause["story"]))
        if cause["witness"]:
            yield from _witness(cause["witness"], pictures[cause["cause"]])
        example = cause["example"]
        yield Note(f"Earliest, after {wording.count(example['at_ms'])} ms: {example['sentence']}")
        yield Code(example["command"])


def _story(story: Mapping[str, Any] | None) -> str:
    if story is None:
        return "Not known: no story of the track record has this cause under these rules."
    return f"Known: {story['title']} ({story['path']}, {story['size']})."


def _witness(witness: Mapping[str, Any], picture: str) -> Iterator[Part]:
    cut_off = "" if witness["complete"] else "; the tries ran out before it was as small as it gets"
    run = wording.counted(witness["run_events"], "event")
    yield Note(
        f"Witness: {witness['size']}, made of a run of {run}{cut_off}. {witness['sentence']}"
    )
    yield Picture(picture, text=witness["strip"])
    yield Section(f"The {witness['kind']}", [Code(witness["text"], "yaml")])
    yield Code(witness["command"])


def _reached(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> list[Part]:
    never = [row["name"] for row in rows if row["example"] is None]
    of_all = f"{len(never)} of {len(rows)} situations that are watched for never occurred"
    told = f"All {len(rows)} situations that are watched for did."
    if never:
        told = f"{of_all}; this sweep says nothing about them: {', '.join(never)}."
    seen = [(f"{row['name']}: {row['meaning']}", *map(wording.count, row["runs"])) for row in rows]
    return [Note(told), Table(("situation, runs in which it occurred", *labels), seen)]


def _without_verdict(content: Mapping[str, Any], labels: Sequence[str]) -> Iterator[Part]:
    for title in ("inconclusive", "errors"):
        rows = [
            (row["name"], *map(wording.count, row["runs"]), f"run {row['example']}")
            for row in content[title]
        ]
        if rows:
            yield Table((title, *labels, "for example"), rows)
        else:
            yield Note(f"{title.capitalize()}: none.")


def _made(content: Mapping[str, Any], labels: Sequence[str]) -> list[Part]:
    version = f"{content['package_version']}"
    version += f" ({content['revision']})" if content["revision"] else ""
    rules = [
        (name, *(shown(one["rules"][name]) for one in content["rule_sets"]))
        for name in content["rule_sets"][0]["rules"]
    ]
    return [
        Code(f"{content['command']}\n{content['report_command']}", "console"),
        Note(
            f"Replog {version}; plan {content['plan_file']}, seed {content['seed']}. The table of "
            "runs is a function of plan, count and seed."
        ),
        Section("The plan", [Code(json_text(content["plan"], indent=2), "json")]),
        Section("Every rule of every rule set", [Table(("rule", *labels), rules, 1 + len(labels))]),
    ]
