"""`replog log`, `replog replicas`: partitions of brokers, by their folders or dumps of them.

`replog clean` and `replog eligible` take them, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sim.cli.arguments import Argument, Json, Number
from sim.cli.output import EXIT_FAILED, print_answer, print_table, tell
from sim.errors import BadInput
from sim.files.limits import LONG

if TYPE_CHECKING:
    from sim.simulate.logfile.file import LogFile
    from sim.simulate.partition.as_log import Question
    from sim.simulate.partition.partition import Partition
    from sim.simulate.partition.replicas import Comparison

Place = Annotated[
    Path, Argument(metavar="PLACE", help="A partition's folder, or a text of kafka-dump-log.")
]
GivenSettings = Annotated[
    Path | None,
    Argument(
        metavar="FILE",
        flags=("--settings",),
        help="Of a partition: settings of its topic, as kafka-configs --describe prints them, a "
        "server.properties, or JSON. Without it Kafka's defaults.",
    ),
]
Now = Annotated[
    int | None,
    Argument(Number(0, LONG), "MS", ("--now-ms",), help="Of a partition: the time (default: now)."),
]
Preset = Annotated[
    str | None,
    Argument(
        metavar="NAME",
        flags=("--preset",),
        help="Of a partition: the release whose rules count, as --rule preset=NAME.",
    ),
]


def log(
    place: Place,
    *,
    settings: GivenSettings = None,
    preset: Preset = None,
    now_ms: Now = None,
    output: Annotated[Path | None, Argument(metavar="OUT", flags=("-o", "--output"))] = None,
    anonymous: bool = False,
    as_json: Json = False,
) -> int:
    """Show what a partition holds, and what the next pass would remove.

    Keys, tombstones and markers by age, bytes that are superseded, keys that cost most, under each
    strategy and fix what goes. A broker's data directory lists its partitions. Files are only read;
    a broker may be using them.

    Args:
        output: Write the partition as a log file instead, with a pass that is done if it is due.
        anonymous: With -o: keys and values are hashes of the same size; equal ones stay equal.
    """
    from sim.simulate.partition.folder import partitions_in, summary

    found = partitions_in(place)
    if len(found) > 1 or found[0].place != place:
        rows = [summary(one) for one in found]
        return print_answer(as_json, rows, lambda: print_table(rows))
    question = PartitionOf(place, settings, preset, now_ms).question(found[0])
    if output is not None:
        from sim.simulate.partition.written import write_log

        write_log(found[0], question, output, anonymous=anonymous)
        tell(f"wrote {output}: replog clean {output}")
        return 0
    from sim.simulate.partition.contents import look_into

    contents = look_into(found[0], question)

    def show() -> None:
        for line in contents.lines():
            tell(line)
        print_table(contents.pass_rows())
        _tell_notes(found[0].notes)

    return print_answer(as_json, contents.as_json, show)


def replicas(
    places: Annotated[list[Path], Argument(metavar="PLACE", help="A folder or dump per replica.")],
    *,
    as_json: Json = False,
) -> int:
    """Compare the replicas of a partition: what would a failover change?

    Offset by offset: the same, cleaned on one replica and not on another, which is legal, or a
    violation, named by its invariant: a value whose tombstone is gone elsewhere, a marker that is
    missing below data, an offset with two records, a log end below what is committed. Exit status:
    0 safe, 1 not.
    """
    from sim.simulate.partition.folder import partitions_in
    from sim.simulate.partition.replicas import compare

    if len(places) < 2:
        raise BadInput("replicas: give the folders or dumps of two replicas or more")
    found = [one for place in places for one in partitions_in(place)]
    if len(found) != len(places):
        raise BadInput("replicas: a data directory has several partitions; give a folder in each")
    names = [one.name for one in found]
    if len(set(names)) > 1:
        raise BadInput(f"replicas: of different partitions: {', '.join(names)}")
    if len({one.topic_id for one in found} - {None}) > 1:
        raise BadInput("replicas: partition.metadata has different ids: the topic was made anew")
    compared = compare(found, [_replica_name(place, places) for place in places])
    status = EXIT_FAILED if compared.findings else 0
    return print_answer(as_json, compared.as_json, lambda: _show(compared), status=status)


def _replica_name(place: Path, places: list[Path]) -> str:
    """The shortest name that tells a replica from the others: a part of its path."""
    parts = [one.resolve().parts for one in places]
    own = place.resolve().parts
    for depth in range(1, len(own) + 1):
        if len({one[-depth] if depth <= len(one) else "" for one in parts}) == len(places):
            return own[-depth]
    return str(place)


def _show(compared: Comparison) -> None:
    print_table(compared.rows())
    for one in compared.findings:
        tell(f"{one.invariant}: {one.sentence}")
    _tell_notes(compared.notes)
    unsafe = len(compared.findings)
    tell("safe: every replica may be elected" if not unsafe else f"NOT safe: {unsafe} violations")


@dataclass(frozen=True)
class PartitionOf:
    """A partition, or a data directory, that a command was given in place of a log file.

    Attributes:
        place: The folder or dump.
        settings, preset, now_ms: As the options say.
        rules: Rules that replace those of the preset.
    """

    place: Path
    settings: Path | None
    preset: str | None
    now_ms: int | None
    rules: Mapping[str, object] = field(default_factory=dict)

    def question(self, partition: Partition) -> Question:
        """What a partition is looked at with. Raises BadInput."""
        from sim.simulate.partition.as_log import Question
        from sim.simulate.partition.settings import settings_of

        rules = dict(self.rules) | ({} if self.preset is None else {"preset": self.preset})
        now_ms = time.time_ns() // 1_000_000 if self.now_ms is None else self.now_ms
        return Question(now_ms, settings_of(self.settings, partition.topic), rules)

    def one(self) -> Partition:
        """The only partition of the place. Raises BadInput."""
        from sim.simulate.partition.folder import partitions_in

        found = partitions_in(self.place)
        if len(found) > 1:
            raise BadInput(f"{self.place}: has several partitions; give the folder of one")
        return found[0]

    def eligible(self, *, as_json: bool) -> int:
        """Says whether partitions are due for a pass, why not, and when they will be."""
        from sim.simulate.logfile.eligible import select_log
        from sim.simulate.partition.as_log import log_file_of
        from sim.simulate.partition.due import due
        from sim.simulate.partition.folder import partitions_in
        from sim.simulate.partition.segments import Detail

        found = {one.name: one for one in partitions_in(self.place)}
        questions = {name: self.question(one) for name, one in found.items()}
        first = next(iter(questions.values()))
        answers = {
            name: due(log_file_of(one, questions[name], Detail.HEADERS))
            for name, one in found.items()
        }
        logs = {name: one.decision.log for name, one in answers.items()}
        selected = select_log(logs, now_ms=first.now_ms).selected
        notes = [note for one in found.values() for note in one.notes]
        settings = {name: one.settings.sentence(one.preset) for name, one in questions.items()}
        document = {
            "now_ms": first.now_ms,
            "selected": selected,
            "logs": {
                name: {**one.as_json, "settings": settings[name]} for name, one in answers.items()
            },
            "notes": notes,
        }

        def show() -> None:
            for name, one in answers.items():
                tell(f"{name} at {first.now_ms} ms; {settings[name]}")
                for line in one.lines():
                    tell(f"{name}: {line}")
            _tell_notes(notes)
            tell(f"selected: {selected or 'none'}")

        return print_answer(as_json, document, show)

    def fate(self, key: str | None, offset: int | None, *, as_json: bool) -> int:
        """Says when each record of a key, or what lies at an offset, goes."""
        from sim.simulate.partition.ahead import ahead_of
        from sim.simulate.partition.as_log import log_file_of
        from sim.simulate.partition.segments import Detail

        partition = self.one()
        question = self.question(partition)
        ahead = ahead_of(log_file_of(partition, question, Detail.SIZES))
        lines = list(ahead.of_offset(offset or 0) if key is None else ahead.of_key(key))
        settings = question.settings.sentence(question.preset)
        document = {
            "now_ms": question.now_ms,
            "settings": settings,
            "passes": list(ahead.passes),
            "explanation": lines,
            "notes": list(partition.notes),
        }

        def show() -> None:
            for line in (f"at {question.now_ms} ms; {settings}", *ahead.passes, *lines):
                tell(line)
            _tell_notes(partition.notes)

        return print_answer(as_json, document, show)

    def log_file(self) -> LogFile:
        """The partition as a log file, with a pass now if one is due."""
        from sim.simulate.partition.as_log import log_file_of
        from sim.simulate.partition.segments import Detail

        partition = self.one()
        return log_file_of(partition, self.question(partition), Detail.WHOLE)


def partition_of(
    path: Path,
    settings: Path | None,
    preset: str | None,
    now_ms: int | None,
    rules: Mapping[str, object],
) -> PartitionOf | None:
    """The partition, data directory or dump that a path leads to; None = it is a log file.

    Raises:
        BadInput: Options of a partition are given with a log file.
    """
    if path.is_dir() or _is_dump(path):
        return PartitionOf(path, settings, preset, now_ms, rules)
    given = {"--settings": settings, "--preset": preset, "--now-ms": now_ms}
    for name, value in given.items():
        if value is not None:
            raise BadInput(f"{name}: {path} is no partition; a log file says it itself")
    return None


def _is_dump(path: Path) -> bool:
    """Whether a file begins as a text of kafka-dump-log does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(8) == b"Dumping "


def _tell_notes(notes: Iterable[str]) -> None:
    for note in notes:
        tell(f"note: {note}")
