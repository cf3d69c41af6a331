"""`replog clean`, `replog eligible`: one cleaner on one log file, without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.arguments import (
    Argument,
    GivenRules,
    IntRange,
    Json,
    rule_values,
    shipped,
)
from sim.cli.output import EXIT_FAILED, print_answer, print_table, tell
from sim.cli.partitions import GivenSettings, Now, Preset, is_partition, print_due, print_fate
from sim.errors import BadInput
from sim.files.foreign import command_line, one_line
from sim.files.limits import LONG
from sim.plugins import as_options

LogPath = Annotated[
    Path,
    Argument(
        shipped,
        help="A log file, replog-log/1, JSON or YAML; a shipped one's id; or a partition: its "
        "folder, a broker's data directory, or a text of kafka-dump-log.",
    ),
]

if TYPE_CHECKING:
    from sim.files.document import Document
    from sim.simulate.logfile.eligible import Selection
    from sim.simulate.logfile.explain import KeyExplanation
    from sim.simulate.logfile.file import LogFile


def clean(
    logfile: LogPath,
    *,
    rule: GivenRules = None,
    explain: Annotated[str | None, Argument(metavar="KEY")] = None,
    offset: Annotated[int | None, Argument(IntRange(0, LONG), "N")] = None,
    settings: GivenSettings = None,
    preset: Preset = None,
    now_ms: Now = None,
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
    options = {"settings": settings, "preset": preset, "now_ms": now_ms}
    if is_partition(logfile, options):
        from sim.api.partitions import open_partition

        if explain is not None and offset is not None:
            raise BadInput("--explain and --offset: give one of them")
        partition = open_partition(logfile, rules=rule_values(rule), **options)
        if explain is not None or offset is not None:
            return print_fate(partition, explain, offset, as_json=as_json)
        from sim.simulate.logfile.answer import answer_to

        loaded = partition.log_file()
        document = answer_to(loaded) | {"notes": list(loaded.notes), "differences": []}
        show = partial(_show_steps, loaded, document)
        return _print("clean", None, rule, document, show, as_json=as_json)
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
    return _print("clean", read, rule, document, show, as_json=as_json)


def eligible(
    logfile: LogPath,
    *,
    rule: GivenRules = None,
    settings: GivenSettings = None,
    preset: Preset = None,
    now_ms: Now = None,
    as_json: Json = False,
) -> int:
    """Show which of the logs in a log file the cleaner would choose, and why.

    The choice is compared with what the file expects. Of a partition, or of all partitions of a
    broker's data directory, it shows when they are due, and what would change that.
    """
    options = {"settings": settings, "preset": preset, "now_ms": now_ms}
    if is_partition(logfile, options):
        return print_due(logfile, {**options, "rules": rule_values(rule)}, as_json=as_json)
    from sim.simulate.logfile.eligible import select_log
    from sim.simulate.logfile.eligible_file import eligible_file_in
    from sim.simulate.logfile.expect import differences_of_choice
    from sim.simulate.logfile.file import read_log_document

    read = read_log_document(logfile)
    file = eligible_file_in(read, rules=rule_values(rule))
    document, differences = differences_of_choice(file, read)
    document |= {"notes": list(file.notes), "differences": differences}

    show = partial(_show_selection, select_log(file.logs, now_ms=file.now_ms))
    return _print("eligible", read, rule, document, show, as_json=as_json)


def _explained(loaded: LogFile, file: Path, key: str) -> KeyExplanation:
    from sim.simulate.logfile.explain import explain_key

    try:
        return explain_key(loaded, key)
    except BadInput as error:
        raise BadInput(f"{file}: {error}") from None


def _print(
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
        options = [*(f"--rule={text}" for text in rule or []), *as_options()]
        print(f"reproduce: replog {name} {command_line([Path(read.name), *options])}")
    return status


def _show_explained(explained: KeyExplanation) -> None:
    for line in explained.lines():
        tell(line)


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
