"""Partitions of brokers: what they hold, when they are compacted, whether their replicas agree."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sim.errors import BadInput
from sim.files.shipped import shipped_path
from sim.simulate.partition import ahead, as_log, as_story, contents, partitions_in
from sim.simulate.partition.dump import partition_of_dump
from sim.simulate.partition.replicas import Comparison, compare
from sim.simulate.partition.segments import Detail
from sim.simulate.partition.settings import settings_of

if TYPE_CHECKING:
    import pandas as pd

Place = str | PathLike[str]
COMPACTED: Final = ("__consumer_offsets", "__transaction_state")
"""Topics that are always compacted."""


@dataclass(frozen=True, repr=False)
class OpenedPartition(as_log.AskedPartition):
    """A partition of a broker with the settings and the time that it is looked at with."""

    def __repr__(self) -> str:
        """Name, place and size."""
        one = self.partition
        return f"OpenedPartition({one.name} in {one.place}, {one.size_bytes:,} bytes)"

    @property
    def heading(self) -> str:
        """Name, time and settings in a line."""
        return f"{self.partition.name} at {self.now_ms} ms; {self.settings}"

    @property
    def is_compacted(self) -> bool:
        """True if its topic is compacted: by settings, else by the cleaner's checkpoint or name."""
        if "cleanup.policy" in self.given.given:
            return "compact" in str(self.given.topic["cleanup.policy"])
        return self.partition.checkpoint is not None or self.partition.topic in COMPACTED

    due = ahead.due_of
    contents = contents.look_into
    fate = ahead.look_ahead
    save = as_log.write_log

    @property
    def records(self) -> pd.DataFrame:
        """Every record and marker: offset, key, value, time, epoch, producer. Raises BadInput."""
        import pandas as pd

        of_record = ["offset", "key", "value", "timestamp_ms"]
        of_batch = ["control", "epoch", "producer_id", "delete_horizon_ms"]
        rows = (
            (*attrgetter(*of_record)(record), *attrgetter(*of_batch)(stored.batch))
            for _, stored in self.partition.batches(Detail.WHOLE)
            for record in stored.batch.records
        )
        found = pd.DataFrame(rows, columns=of_record + of_batch)
        return found.rename(columns={"control": "marker"})


def open_partitions(
    place: Place,
    *,
    settings: Place | None = None,
    preset: str | None = None,
    now_ms: int | None = None,
    rules: Mapping[str, object] | None = None,
) -> list[OpenedPartition]:
    """Opens a partition, or each of a broker's data directory; files are only read.

    Args:
        place: Folder of a partition or a data directory, or a text of kafka-dump-log.
        settings: Settings of the topic: output of `kafka-configs --describe`, a
            `server.properties`, or JSON; None for Kafka's defaults.
        preset: The preset of the release whose rules count; None for `kafka-4.0`.
        now_ms: The time in ms; None for now.
        rules: Rules of the cleaner that replace those of the preset.

    Raises:
        BadInput: There is no partition, or a file is damaged.
    """
    chosen = dict(rules or {}) | ({} if preset is None else {"preset": preset})
    at_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    given, path = None if settings is None else Path(settings), shipped_path(str(place))
    return [
        OpenedPartition(one, at_ms, settings_of(given, one.topic), chosen)
        for one in (partitions_in(path) if path.is_dir() else [partition_of_dump(path)])
    ]


def compacted(found: Sequence[OpenedPartition]) -> tuple[list[OpenedPartition], list[str]]:
    """Selects the compacted partitions of a data directory, all if none is; notes on the others."""
    chosen = [one for one in found if one.is_compacted] or list(found)
    left_out = len(found) - len(chosen)
    why = "no cleaner has a checkpoint of them, and no settings call them compacted"
    return chosen, [f"not shown: {left_out} of {len(found)}, since {why}"] if left_out else []


def open_partition(place: Place, **options: Any) -> OpenedPartition:
    """Opens the only partition of a place; for the options see `open_partitions`.

    Raises:
        BadInput: There is none, there are several, or a file is damaged.
    """
    found = open_partitions(place, **options)
    if len(found) > 1:
        raise BadInput(f"{place}: has several partitions; give the folder of one")
    return found[0]


@dataclass(frozen=True)
class OpenedReplicas:
    """Replicas of one partition.

    Attributes:
        replicas: The partition as each replica holds it.
        compared: The comparison of the replicas.
    """

    replicas: tuple[OpenedPartition, ...]
    compared: Comparison

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each replica, in the order of `replicas`."""
        return tuple(log.name for log in self.compared.logs)

    def story(self, *, anonymous: bool = False) -> as_story.Beginning:
        """The replicas as the beginning of a story. Raises BadInput.

        Args:
            anonymous: Keys become hashes of the same size.
        """
        return as_story.story_of(self.compared, self.replicas[0], anonymous=anonymous)


def open_replicas(places: Sequence[Place], **options: Any) -> OpenedReplicas:
    """Opens and compares the replicas of one partition; for the options see `open_partitions`.

    Each is named by the last part of its path that differs in all of them, else by its path.

    Raises:
        BadInput: There is none, they are of several partitions, or a file is damaged.
    """
    paths = [shipped_path(str(one)) for one in places]
    if not paths:
        raise BadInput("replicas: no place is given, a folder or a dump for each")
    if len({path.resolve() for path in paths}) < len(paths):
        raise BadInput("replicas: a place is given twice")
    found = [open_partition(path, **options) for path in paths]
    names = sorted({one.partition.name for one in found})
    if len(names) > 1:
        raise BadInput(f"replicas: of one partition, not of {', '.join(names)}")
    if len({one.partition.topic_id for one in found} - {None}) > 1:
        raise BadInput("replicas: partition.metadata has different ids: the topic was made anew")
    parts = zip(*(reversed(path.resolve().parts) for path in paths), strict=False)
    different = (one for one in parts if len(set(one)) == len(paths))
    logs = [one.partition for one in found]
    return OpenedReplicas(tuple(found), compare(logs, next(different, tuple(map(str, paths)))))
