"""Logs rebuilt out of the lines of a trace, by nothing but what its format says."""

from __future__ import annotations

import base64
import re
from typing import Any

from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.record import BATCH_HEADER_BYTES
from sim.protocol.replication import Replica

Row = dict[str, Any]


class RebuiltLog:
    """What the lines say of one replica."""

    def __init__(self, start: int = 0) -> None:
        self.up = True
        self.batches: list[Row] = []
        self.start = self.end = self.high_watermark = start
        self.epochs: list[tuple[int, int]] = []
        self.snapshots: dict[tuple[int, int], list[Row]] = {}

    def append(self, batch: Row) -> None:
        assert batch["base_offset"] >= self.end
        self.batches.append(dict(batch))
        self.end = batch["last_offset"] + 1
        self.assign(batch["epoch"], batch["base_offset"])

    def assign(self, epoch: int, start: int) -> None:
        if self.epochs and self.epochs[-1][0] == epoch and self.epochs[-1][1] <= start:
            return
        while self.epochs and (self.epochs[-1][0] >= epoch or self.epochs[-1][1] >= start):
            self.epochs.pop()
        self.epochs.append((epoch, start))

    def cut(self, target: int) -> None:
        if target < self.end:
            self.batches = [batch for batch in self.batches if batch["last_offset"] < target]
            self.epochs = [entry for entry in self.epochs if entry[1] < target]
            self.end = target
            self.start = min(self.start, target)

    def forget_prefix(self, start: int) -> None:
        self.start = start
        self.batches = [batch for batch in self.batches if batch["last_offset"] >= start]


class Rebuilder:
    """Every replica of a run, as far as the lines read so far say."""

    def __init__(self, header: Row) -> None:
        rules = header["rules"]
        self.keeps_high_watermark = rules["high_watermark_cut"] == "kept"
        self.keeps_deltas = rules["horizon_rebase"] == "deltas_kept"
        self.stamps_records = rules["tombstone_removal"] == "record_horizon"
        self.logs: dict[str, RebuiltLog] = {}

    def take(self, row: Row) -> None:
        method = getattr(self, "on" + re.sub("(?=[A-Z])", "_", row["event"]).lower(), None)
        if method is not None:
            method(row, self.logs.get(row["replica"]))

    def on_replica_added(self, row: Row, log: RebuiltLog) -> None:
        self.logs[row["replica"]] = RebuiltLog()

    def on_replica_removed(self, row: Row, log: RebuiltLog) -> None:
        del self.logs[row["replica"]]

    def on_replica_crashed(self, row: Row, log: RebuiltLog) -> None:
        log.up = False
        log.cut(row["log_end_offset"])
        log.high_watermark = row["high_watermark"]

    def on_replica_restarted(self, row: Row, log: RebuiltLog) -> None:
        log.up = True
        log.end = row["log_end_offset"]
        log.high_watermark = row["high_watermark"]

    def on_replica_wiped(self, row: Row, log: RebuiltLog) -> None:
        self.logs[row["replica"]] = RebuiltLog()

    on_log_emptied = on_replica_wiped

    def on_leader_elected(self, row: Row, log: RebuiltLog) -> None:
        assert log.end == row["epoch_start_offset"]
        log.assign(row["epoch"], row["epoch_start_offset"])

    def on_appended(self, row: Row, log: RebuiltLog) -> None:
        log.append(row["batch"])

    on_pushed = on_appended

    def on_copied(self, row: Row, log: RebuiltLog) -> None:
        assert log.end == row["fetch_offset"]
        for batch in row["batches"]:
            log.append(batch)
        assert log.end == row["log_end_offset"]

    def on_gap_learned(self, row: Row, log: RebuiltLog) -> None:
        assert log.end == row["fetch_offset"]
        log.end = row["log_end_offset"]
        for entry in row["epochs"]:
            log.assign(entry["epoch"], entry["start_offset"])

    def on_truncated(self, row: Row, log: RebuiltLog) -> None:
        assert (log.end, log.high_watermark) == (row["log_end_offset"], row["high_watermark"])
        assert log.start == row["log_start_offset"]
        log.cut(row["target"])
        if not row["kept_high_watermark"]:
            log.high_watermark = min(log.high_watermark, log.end)

    def on_high_watermark_moved(self, row: Row, log: RebuiltLog) -> None:
        log.high_watermark = row["high_watermark"]

    def on_epoch_cache_changed(self, row: Row, log: RebuiltLog) -> None:
        log.epochs = [(entry["epoch"], entry["start_offset"]) for entry in row["epochs"]]

    def on_cleaned(self, row: Row, log: RebuiltLog) -> None:
        assert log.high_watermark == row["high_watermark"]
        gone = {removal["offset"] for removal in row["removals"]}
        emptied, dropped = set(row["emptied"]), set(row["dropped"])
        horizons = dict(row["horizons"])
        sizes = dict(row["rewritten"])
        kept = []
        for batch in log.batches:
            records = [record for record in batch["records"] if record["offset"] not in gone]
            if batch["records"] and not records:
                if batch["last_offset"] in emptied:
                    kept.append(_emptied(batch))
            elif not batch["records"]:
                if batch["last_offset"] not in dropped:
                    kept.append(batch)
            elif batch["base_offset"] in sizes:
                horizon = horizons.get(batch["base_offset"])
                kept.append(self._rewritten(batch, records, horizon, sizes[batch["base_offset"]]))
            else:
                assert records == batch["records"]
                kept.append(batch)
        log.batches = kept
        log.end = row["log_end_offset"]
        if not self.keeps_high_watermark:
            log.high_watermark = min(log.high_watermark, log.end)

    def _rewritten(self, batch: Row, records: list[Row], horizon: int | None, size: int) -> Row:
        latest = max(record["timestamp_ms"] for record in records)
        if horizon is not None and self.stamps_records and batch["control"] is None:
            stamp = base64.b64encode(horizon.to_bytes(8, "big")).decode()
            records = [
                {**record, "headers": [*record["headers"], ["delete-horizon", stamp]]}
                if record["tombstone"] and all(n != "delete-horizon" for n, _ in record["headers"])
                else record
                for record in records
            ]
            horizon = None
        elif horizon is not None and self.keeps_deltas:
            base = batch["delete_horizon_ms"]
            base = batch["records"][0]["timestamp_ms"] if base is None else base
            records = [
                {**record, "timestamp_ms": record["timestamp_ms"] + horizon - base}
                for record in records
            ]
        return {
            **batch,
            "records": records,
            "timestamp_ms": latest,
            "size_bytes": size,
            "delete_horizon_ms": batch["delete_horizon_ms"] if horizon is None else horizon,
        }

    def on_segments_lost(self, row: Row, log: RebuiltLog) -> None:
        lost = set(row["offsets"])
        kept = []
        for batch in log.batches:
            records = [record for record in batch["records"] if record["offset"] not in lost]
            if records or (not batch["records"] and batch["last_offset"] not in lost):
                assert len(records) == len(batch["records"])
                kept.append(batch)
        log.batches = kept

    def on_log_start_moved(self, row: Row, log: RebuiltLog) -> None:
        log.forget_prefix(row["log_start_offset"])

    on_prefix_deleted = on_log_start_moved

    def on_log_started_afresh(self, row: Row, log: RebuiltLog) -> None:
        snapshots = log.snapshots
        self.logs[row["replica"]] = fresh = RebuiltLog(row["log_start_offset"])
        fresh.snapshots = snapshots

    def on_snapshot_taken(self, row: Row, log: RebuiltLog) -> None:
        log.snapshots[(row["end_offset"], row["epoch"])] = row["records"]

    def on_snapshot_deleted(self, row: Row, log: RebuiltLog) -> None:
        del log.snapshots[(row["end_offset"], row["epoch"])]

    def on_snapshot_fetched(self, row: Row, log: RebuiltLog) -> None:
        log.snapshots[(row["end_offset"], row["epoch"])] = row["records"]

    def on_snapshot_installed(self, row: Row, log: RebuiltLog) -> None:
        self.logs[row["replica"]] = fresh = RebuiltLog(row["end_offset"])
        fresh.epochs = [(row["epoch"], row["end_offset"])]
        fresh.snapshots = {(row["end_offset"], row["epoch"]): row["records"]}


def _emptied(batch: Row) -> Row:
    return {**batch, "records": [], "size_bytes": BATCH_HEADER_BYTES, "delete_horizon_ms": None}


def differences(log: RebuiltLog, replica: Replica) -> list[str]:
    """Where a rebuilt log is not that of the replica; empty = nowhere."""
    real = replica.log
    found = []
    for name, mine, theirs in (
        ("up", log.up, replica.up),
        ("log start", log.start, real.log_start_offset),
        ("log end", log.end, real.log_end_offset),
        ("high watermark", log.high_watermark, real.high_watermark),
        ("epochs", log.epochs, [tuple(entry) for entry in real.epochs.entries]),
        ("snapshots", sorted(log.snapshots), sorted(tuple(id_) for id_ in replica.snapshots)),
    ):
        if mine != theirs:
            found.append(f"{name}: {mine}, not {theirs}")
    held = [batch for batch in real.batches() if batch.last_offset >= real.log_start_offset]
    mine_batches = [_batch(batch) for batch in log.batches]
    if mine_batches != held:
        different = [(a, b) for a, b in zip(mine_batches, held, strict=False) if a != b]
        found.append(f"batches: {len(mine_batches)}, not {len(held)}; first: {different[:1]}")
    for id_, snapshot in replica.snapshots.items():
        records = log.snapshots.get(tuple(id_))
        if records is not None and tuple(map(_record, records)) != snapshot.records:
            found.append(f"records of snapshot {id_}")
    return found


def _batch(row: Row) -> Batch:
    fields = {**row, "records": tuple(map(_record, row["records"]))}
    if row["control"] is not None:
        fields["control"] = Control(row["control"])
    return Batch(**fields)


def _record(row: Row) -> Record:
    fields = {name: value for name, value in row.items() if name != "tombstone"}
    fields["headers"] = tuple((name, base64.b64decode(value)) for name, value in row["headers"])
    return Record(**fields)
