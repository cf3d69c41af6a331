"""`replog clean`, `eligible`, `log` and `replicas`: one cleaner on logs, without a cluster.

A log is a log file, or a partition of a broker, by its folder or a dump of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from sim.cli.arguments import Argument, GivenRules, IntRange, Json, Output, rule_values, shipped
from sim.cli.output import EXIT_FAILED, print_answer, print_table, tell
from sim.errors import BadInput
from sim.files.foreign import one_line
from sim.files.limits import LONG
from sim.files.reading import head_of
from sim.plugins import command_of

if TYPE_CHECKING:
    from sim.api.partitions import OpenedPartition, OpenedReplicas
    from sim.files.document import Document
    from sim.simulate.logfile.eligible import Selection
    from sim.simulate.logfile.explain import KeyExplanation
    from sim.simulate.logfile.file import LogFile

LogPath = Annotated[
    Path,
    Argument(
        shipped,
        help="A log file, replog-log/1, JSON or YAML; a shipped one's id; or a partition: its "
        "folder, a broker's data directory, or a text of kafka-dump-log.",
    ),
]
Places = Annotated[
    list[Path],
    Argument(
        shipped,
        metavar="PLACE...",
        nargs="+",
        help="A partition's folder, a broker's data directory, or a text of kafka-dump-log; of "
        "several replicas one for each.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class AskedAt:
    """Options for what a partition does not say itself.

    Attributes:
        settings: Of a partition: a file with the settings of its topic, as kafka-configs or
            kafka-topics --describe prints them, a server.properties, or JSON (default: Kafka's).
        preset: Of a partition: the preset of the release whose rules count (default: kafka-4.0).
        now_ms: Of a partition: the time (default: now).
    """

    settings: Annotated[Path | None, Argument(metavar="FILE")] = None
    preset: Annotated[str | None, Argument(metavar="NAME")] = None
    now_ms: Annotated[int | None, Argument(IntRange(0, LONG), "MS")] = None


_DUMPED: Final = re.compile(rb"^(?:\xef\xbb\xbf)?Dumping .*\d{20}\.\w+\r?$", re.MULTILINE)
_TIME: Final = re.compile(r"\b(1[0-9]{12})\b(?: ms)?")
"""A time in ms between 2001 and 2033."""


def clean(
    logfile: LogPath,
    *,
    rule: GivenRules = None,
    explain: Annotated[str | None, Argument(metavar="KEY")] = None,
    offset: Annotated[int | None, Argument(IntRange(0, LONG), "N")] = None,
    asked: AskedAt,
    as_json: Json = False,
) -> int:
    """Run the steps of a log file; show which records the cleaner keeps and removes, and why.

    The result is compared with what the file expects. Of a partition, by its folder or a text of
    kafka-dump-log, it shows what a pass now would do.

    Args:
        explain: Explain why the value or the tombstone of this key is still there, or is gone; of a
            partition, when each of its records goes.
        offset: Of a partition: the same for the record, or the marker, at this offset.
    """
    if _is_partition(logfile, asked):
        from sim.api.partitions import open_partition

        if explain is not None and offset is not None:
            raise BadInput("--explain and --offset: give one of them")
        partition = open_partition(logfile, rules=rule_values(rule), **vars(asked))
        if explain is not None or offset is not None:
            return _print_fate(partition, explain, offset, as_json=as_json)
        from sim.simulate.logfile.answer import answer_to

        loaded = partition.log_file()
        document = answer_to(loaded) | {"notes": list(loaded.notes), "differences": []}
        show = partial(_show_steps, loaded, document)
        return _print_checked("clean", None, rule, document, show, as_json=as_json)
    if offset is not None:
        raise BadInput(f"--offset: only for a partition; {logfile} is a log file: --explain KEY")
    from sim.simulate.logfile.expect import differences_of_steps
    from sim.simulate.logfile.file import log_file_in, read_log_document

    read = read_log_document(logfile)
    loaded = log_file_in(read, rules=rule_values(rule))
    explained = None if explain is None else _explained(loaded, logfile, explain)
    document, differences = differences_of_steps(loaded, read)
    show = partial(_show_steps, loaded, document)
    if explained is not None:
        names = ("offset", "kind", "fate", "sentence")
        rows = [{name: getattr(one, name) for name in names} for one in explained.records]
        document |= {"explanation": rows, "explanation_left_out": explained.left_out}
        show = partial(_show_explained, explained)
    document |= {"notes": list(loaded.notes), "differences": differences}
    return _print_checked("clean", read, rule, document, show, as_json=as_json)


def _explained(loaded: LogFile, file: Path, key: str) -> KeyExplanation:
    from sim.simulate.logfile.explain import explain_key

    try:
        return explain_key(loaded, key)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None


def _show_steps(file: LogFile, answer: dict[str, Any]) -> None:
    from sim.simulate.logfile.answer import heading, log_lines, rows_of

    tell(f"rules: {heading(file)}")
    for number, (step, answered) in enumerate(
        zip(file.steps, answer["steps"], strict=True), start=1
    ):
        print()
        for line in log_lines(number, step, answered):
            tell(line)
        print_table(rows_of(answered))


def _show_explained(explained: KeyExplanation) -> None:
    for line in explained.lines():
        tell(line)


def eligible(
    logfile: LogPath,
    *,
    rule: GivenRules = None,
    asked: AskedAt,
    as_json: Json = False,
) -> int:
    """Show which of the logs in a log file the cleaner would choose, and why.

    The choice is compared with what the file expects. Of a partition, or of all partitions of a
    broker's data directory, it shows when they are due, and what would change that.
    """
    if _is_partition(logfile, asked):
        return _print_due(logfile, {**vars(asked), "rules": rule_values(rule)}, as_json=as_json)
    from sim.simulate.logfile.eligible import select_log
    from sim.simulate.logfile.eligible_file import eligible_file_in
    from sim.simulate.logfile.expect import differences_of_choice
    from sim.simulate.logfile.file import read_log_document

    read = read_log_document(logfile)
    file = eligible_file_in(read, rules=rule_values(rule))
    document, differences = differences_of_choice(file, read)
    document |= {"notes": list(file.notes), "differences": differences}

    show = partial(_show_selection, select_log(file.logs, now_ms=file.now_ms))
    return _print_checked("eligible", read, rule, document, show, as_json=as_json)


def _show_selection(selection: Selection) -> None:
    from sim.simulate.logfile.eligible import eligible_answer

    rows = [
        {
            "log": name,
            "first dirty": one["first_dirty_offset"],
            "uncleanable from": one["first_uncleanable_offset"],
            "bound": one["effective_upper_bound"],
            "clean": one["clean_bytes"],
            "cleanable": one["cleanable_bytes"],
            "ratio": "-" if one["cleanable_ratio"] is None else f"{one['cleanable_ratio']:.4f}",
            "delay ms": one["compaction_delay_ms"],
            "eligible": "yes" if one["eligible"] else "no",
        }
        for name, one in eligible_answer(selection)["logs"].items()
    ]
    print_table(rows)
    for log, judged in selection.logs.items():
        name = one_line(log)
        tell(f"{name}: {judged.why}")
        if judged.outlook is not None:
            tell(f"{name}: {judged.outlook}")
        if judged.dirty.force_update:
            print(
                f"{name}: the checkpoint {judged.log.checkpoint} is no offset of the log, "
                f"{judged.log.log_start_offset} to {judged.log.log_end_offset}; it is rewritten"
            )
    print(f"selected: {one_line(selection.selected or 'none')}")
    if selection.selected is not None:
        print(f"max-compaction-delay-secs: {selection.delay_secs}")


def _print_checked(
    name: str,
    read: Document | None,
    rule: list[str] | None,
    document: dict[str, Any],
    show: Callable[[], None],
    *,
    as_json: bool,
) -> int:
    """Prints the result, its notes, and its differences from what the file expects.

    `read` is the file; None for a partition, which expects nothing.
    """
    differences = document["differences"]
    status = EXIT_FAILED if differences else 0
    print_answer(as_json, document, show)
    if as_json:
        return status
    for line in document["notes"]:
        tell(f"note: {line}")
    if read is None:
        return status
    for line in differences:
        tell(f"not as expected: {line}")
    if read.data.get("expect") is not None:
        print("expectation NOT met" if differences else "expectation met")
    if differences:
        options = (f"--rule={text}" for text in rule or [])
        print(f"reproduce: {command_of(name, Path(read.name), *options)}")
    return status


def _is_partition(path: Path, asked: AskedAt) -> bool:
    """Checks whether a path leads to a partition, a data directory or a dump, not to a log file.

    Raises:
        BadInput: Options of a partition are given with a log file.
    """
    if path.is_dir() or (path.is_file() and _DUMPED.search(head_of(path, 1 << 16))):
        return True
    for name, value in vars(asked).items():
        if value is not None:
            text = f"only for a partition; {path} is a log file, which has its own"
            raise BadInput(f"--{name.replace('_', '-')}: {text}")
    return False


def _print_fate(
    opened: OpenedPartition, key: str | None, offset: int | None, *, as_json: bool
) -> int:
    """Prints when each record of a key, or what lies at an offset, goes."""
    lines, notes = list(opened.fate(key, offset=offset)), opened.partition.notes
    document = {"now_ms": opened.now_ms, "settings": opened.settings}
    document |= {"explanation": lines, "notes": list(notes)}
    return _print_sections(as_json, document, opened.heading, *lines, *_noted(notes))


def _print_due(place: Path, options: dict[str, Any], *, as_json: bool) -> int:
    """Prints whether partitions are due for a pass, why not, and when they will be."""
    from sim.api.partitions import compacted, open_partitions
    from sim.simulate.logfile.eligible import select_log

    chosen, notes = compacted(open_partitions(place, **options))
    now_ms, lines, described, logs = chosen[0].now_ms, list[str](), {}, {}
    for one in chosen:
        name, due = one.partition.name, one.due()
        logs[name], described[name] = due.decision.log, {**due.as_json, "settings": one.settings}
        lines += [one.heading, *(f"{name}: {line}" for line in due.lines())]
        notes += one.partition.notes
    selected = select_log(logs, now_ms=now_ms).selected
    document = {"now_ms": now_ms, "selected": selected, "logs": described, "notes": notes}
    return _print_sections(
        as_json, document, *lines, *_noted(notes), f"selected: {selected or 'none'}"
    )


def log(
    place: Places,
    *,
    asked: AskedAt,
    output: Output = None,
    story: bool = False,
    anonymous: bool = False,
    as_json: Json = False,
) -> int:
    """Show what a partition holds, and what the next pass would remove.

    It counts records and keys, tombstones and markers by their age, and the bytes of superseded
    records; it names the keys that take the most bytes. A table has the records that the next pass
    would remove under each strategy and fix. For a broker's data directory it lists the compacted
    partitions. Files are only read; a broker may be using them.

    Args:
        output: Write the partition as a log file, whose last step is a pass at the time of
            --now-ms if one is due then.
        story: With -o: write a story that begins with the replicas at these places.
        anonymous: With -o: replace keys, values and values of headers by hashes of the same size;
            names of headers stay.
    """
    from sim.api.partitions import open_partition, open_partitions, open_replicas

    if output is None and (story or anonymous):
        raise BadInput("--story and --anonymous: -o FILE is missing, the file to write")
    if output is not None and as_json:
        raise BadInput("--json: not with -o FILE, which writes a file instead of an answer")
    if len(place) > 1 and not story:
        raise BadInput("log: several places are replicas: give --story, or use replog replicas")
    if output is None:
        return _show_partition(place[0], open_partitions(place[0], **vars(asked)), as_json=as_json)
    if story:
        _write_story(open_replicas(place, **vars(asked)), output, anonymous=anonymous)
    else:
        open_partition(place[0], **vars(asked)).save(output, anonymous=anonymous)
        tell(f"wrote {output}: replog clean {output}")
    return 0


def _show_partition(place: Path, found: list[OpenedPartition], *, as_json: bool) -> int:
    """Shows what a partition holds, or lists the compacted ones of a data directory."""
    from sim.api.partitions import compacted

    opened = found[0]
    if opened.partition.place != place:
        chosen, left_out = compacted(found)
        rows = [one.partition.summary for one in chosen]
        return _print_sections(as_json, rows, rows, *_noted(left_out))
    contents, name = opened.contents(), opened.partition.name
    cells = [{"": n.replace("_", " "), name: _cell(of)} for n, of in contents.numbers.items()]
    return _print_sections(
        as_json,
        contents.as_json,
        opened.heading,
        cells,
        contents.due.decision.why,
        contents.costly_keys,
        contents.passes,
        *_noted(contents.notes),
    )


def _cell(value: Any) -> str:
    """A number, or a number for each of several classes, as a table has it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items()) or "none"
    return f"{value:,}"


def _write_story(opened: OpenedReplicas, output: Path, *, anonymous: bool) -> None:
    from sim.diagnose.shrink.writing import story_text
    from sim.files.atomic import check_writable, replace_text
    from sim.simulate.run.stories import run_story

    check_writable(output)
    beginning = opened.story(anonymous=anonymous)
    violated = run_story(beginning.story).violated
    replace_text(output, story_text(beginning.story, violated=violated))
    tell(f"wrote {output}: replog run {output}; replog draw {output}")
    for line in _noted(beginning.notes):
        tell(line)


def replicas(places: Places, *, output: Output = None, as_json: Json = False) -> int:
    """Compare the replicas of a partition: what would a failover change?

    Offset by offset: the same, cleaned on one replica and not on another, which is legal, or a
    violation, named by its invariant: a value whose tombstone is gone elsewhere, a marker that is
    missing below data, an offset with two records, a log end below what is committed. Exit status:
    0 safe, 1 not.

    Args:
        output: Draw the replicas: the name of an .svg or .png file to write.
    """
    from sim.api.partitions import open_replicas

    if len(places) < 2:
        raise BadInput("replicas: at least two places are needed, a folder or a dump for each")
    opened = open_replicas(places)
    compared = opened.compared
    if output is not None:
        _draw(opened, output)
    unsafe, same = len(compared.findings), f"{compared.same} offsets hold the same"
    return _print_sections(
        as_json,
        compared.as_json,
        compared.rows(),
        f"below {compared.below}, committed on all, {same} on every replica that reaches over them",
        *(f"{one.invariant}: {one.sentence}" for one in compared.findings),
        *_noted(compared.notes()),
        f"NOT safe: {unsafe} violations" if unsafe else "safe: every replica may be elected",
        status=EXIT_FAILED if unsafe else 0,
    )


def _draw(opened: OpenedReplicas, output: Path) -> None:
    """Draws the replicas as they are, and after a failover to the first that is not safe."""
    from sim.api.runs import Run
    from sim.api.scenarios import Scenario

    story = opened.story().story
    start = next(step.number for step in story.steps if step.op == "moment")
    moments = {start: "as on the disks"}
    for finding in opened.compared.findings[:1]:
        moments[len(story.steps)] = f"after a failover to {finding.replica}"
    replace(Run(Scenario(story)).timeline(), title="", moments=moments).save(output)


def _print_sections(
    as_json: bool, document: object, *sections: str | list[dict[str, Any]], status: int = 0
) -> int:
    """Prints an answer as JSON, or in sections: a sentence, with the date of times, or a table."""

    def show() -> None:
        for one in sections:
            if isinstance(one, str):
                tell(_TIME.sub(_dated, one))
            else:
                print_table([{n: "-" if v is None else v for n, v in r.items()} for r in one])

    return print_answer(as_json, document, show, status=status)


def _noted(notes: Iterable[str]) -> Iterator[str]:
    """A line of output for each note."""
    return (f"note: {note}" for note in notes)


def _dated(time_ms: re.Match[str]) -> str:
    at = datetime.fromtimestamp(int(time_ms[1]) // 1000, UTC)
    return f"{time_ms[0]} ({at:%Y-%m-%d %H:%M:%S} UTC)"
