"""Errors to plant in the cleaner: what someone could get wrong, one line each.

A comparison that never fails proves nothing. So each of these errors is made in a copy of the
product, and the random logs must notice it (`tests.conformance.noticing`). Every error is one that
a reader could overlook: a bound off by one, a case forgotten, a field that is not carried over.
"""

from __future__ import annotations

from typing import NamedTuple


class Planted(NamedTuple):
    """One error.

    Attributes:
        what: What the cleaner does wrong, in words.
        module: The file it is made in, below `sim/`.
        right: Lines of it that occur exactly once.
        wrong: What to write instead.
    """

    what: str
    module: str
    right: str
    wrong: str

    def plant(self, source: str) -> str:
        """The module's text with the error in it.

        Raises:
            ValueError: The right lines are not there exactly once: the module has changed.
        """
        found = source.count(self.right)
        if found != 1:
            raise ValueError(f"{self.module} has {found} places for: {self.what}")
        return source.replace(self.right, self.wrong)


_MAP = "compaction/offset_map.py"
_COPY = "compaction/copying.py"
_CLEANER = "compaction/cleaner.py"
_TRANSACTIONS = "compaction/transactions.py"
_TOMBSTONES = "compaction/tombstones.py"
_FIXES = "compaction/fixes.py"
_BATCH = "log/record.py"
_PRODUCERS = "log/producers.py"
_RUN = "logfile/run.py"

PLANTED = (
    Planted(
        "the first record of a key wins where the map has a limit",
        _MAP,
        "        known = winners.get(key)\n"
        "        if known is None or version_of(record) > version_of(known):\n"
        "            winners[key] = record\n"
        "        if known is None and plan.policy.unmapped_version is not None:\n"
        "            version_of(record)\n"
        "    return True",
        "        known = winners.get(key)\n"
        "        if known is None:\n"
        "            winners[key] = record\n"
        "    return True",
    ),
    Planted(
        "a map is full only before a key that it does not hold",
        _MAP,
        "if len(keys) == plan.map_capacity:",
        "if len(keys) == plan.map_capacity and key not in keys:",
    ),
    Planted(
        "a full map is noticed only after the next key",
        _MAP,
        "if len(keys) == plan.map_capacity:",
        "if len(keys) > plan.map_capacity:",
    ),
    Planted(
        "a map that fills up in mid-batch reaches to the end of that batch",
        _MAP,
        "            if batch.control is None and not aborted and not _put(built, batch, "
        "plan, keys):\n",
        "            if batch.control is None and not aborted and not _put(built, batch, "
        "plan, keys):\n"
        "                built.latest_offset = batch.last_offset\n",
    ),
    Planted(
        "a map that fills up in mid-batch reaches to the end of the batch before",
        _MAP,
        "            keys.add(key)\n            built.latest_offset = offset\n",
        "            keys.add(key)\n",
    ),
    Planted(
        "offsets without a record at the end of a segment stop the map (KAFKA-8764)",
        _MAP,
        "        if end > dirty_from:\n"
        "            built.latest_offset = min(end, upper_bound) - 1\n",
        "",
    ),
    Planted(
        "aborted records enter a map with a limit",
        _MAP,
        "if batch.control is None and not aborted and not _put(",
        "if batch.control is None and not _put(",
    ),
    Planted(
        "aborted records enter a map without a limit",
        _MAP,
        "            if watch is not None and watch.decides(batch):\n                continue\n",
        "",
    ),
    Planted(
        "records below the dirty section enter the map where it begins in mid-batch",
        _MAP,
        "if key is None or record.offset < start:",
        "if key is None:",
    ),
    Planted(
        "the first dirty record does not enter the map",
        _MAP,
        "if key is None or record.offset < start:",
        "if key is None or record.offset <= start:",
    ),
    Planted(
        "the last mapped record counts as beyond the map",
        _COPY,
        "if record.offset <= latest]",
        "if record.offset < latest]",
    ),
    Planted(
        "records beyond the map are judged by it",
        _COPY,
        "        if last_offset > latest:\n            reached =",
        "        if False:\n            reached =",
    ),
    Planted(
        "a tombstone beyond the map gets no horizon",
        _COPY,
        "stamp = self.policy.stamp_beyond_map and any(map(self.policy.is_tombstone, stays))",
        "stamp = False",
    ),
    Planted(
        "a value beyond the map makes its batch get a horizon",
        _COPY,
        "stamp = self.policy.stamp_beyond_map and any(map(self.policy.is_tombstone, stays))",
        "stamp = bool(stays)",
    ),
    Planted(
        "an empty key counts as none",
        _COPY,
        "winner = winners.get(key) if key is not None else None",
        "winner = winners.get(key) if key else None",
    ),
    Planted(
        "an empty value is a delete",
        _TOMBSTONES,
        "    return record.value is None\n\n\ndef flag",
        "    return not record.value\n\n\ndef flag",
    ),
    Planted(
        "records without a key stay",
        _COPY,
        "        if record.key is None:\n"
        '            removed["no key"].append(record)\n'
        "            return _GOES\n",
        "",
    ),
    Planted(
        "a tombstone goes one millisecond after its horizon",
        _TOMBSTONES,
        "self.now_ms >= self.horizon_ms",
        "self.now_ms > self.horizon_ms",
    ),
    Planted(
        "a marker goes one millisecond after its horizon",
        _COPY,
        "return horizon is not None and plan.now_ms >= horizon",
        "return horizon is not None and plan.now_ms > horizon",
    ),
    Planted(
        "a horizon is the time of the pass, without the retention",
        _COPY,
        "        horizon = self.plan.now_ms + self.plan.delete_retention_ms\n        if not 0 <=",
        "        horizon = self.plan.now_ms\n        if not 0 <=",
    ),
    Planted(
        "a horizon that does not fit 63 bits is written",
        _COPY,
        "if not 0 <= horizon <= MAX_HORIZON_MS:",
        "if not 0 <= horizon:",
    ),
    Planted(
        "each pass gives a batch with a tombstone a new horizon",
        _COPY,
        "fresh = batch.delete_horizon_ms is None or self.policy.stamps_again",
        "fresh = True",
    ),
    Planted(
        "each pass gives a marker a new horizon",
        _COPY,
        "if discardable and not legacy and batch.delete_horizon_ms is None:",
        "if discardable and not legacy:",
    ),
    Planted(
        "a marker gets its horizon while data of its transaction is there",
        _COPY,
        "if discardable and not legacy and batch.delete_horizon_ms is None:",
        "if not legacy and batch.delete_horizon_ms is None:",
    ),
    Planted(
        "a batch loses its horizon when records of it go",
        _COPY,
        "return self._noted(batch.rebuilt(records, batch.delete_horizon_ms), batch)",
        "return self._noted(batch.rebuilt(records, None), batch)",
    ),
    Planted(
        "an emptied batch keeps its horizon",
        _BATCH,
        "return self._replace(records=(), size_bytes=BATCH_HEADER_BYTES, delete_horizon_ms=None)",
        "return self._replace(records=(), size_bytes=BATCH_HEADER_BYTES)",
    ),
    Planted(
        "an emptied batch has no largest timestamp",
        _BATCH,
        "return self._replace(records=(), size_bytes=BATCH_HEADER_BYTES, delete_horizon_ms=None)",
        "return self._replace(\n"
        "            records=(), size_bytes=BATCH_HEADER_BYTES, delete_horizon_ms=None, "
        "timestamp_ms=-1\n"
        "        )",
    ),
    Planted(
        "a batch keeps its largest timestamp when the record that had it goes",
        _BATCH,
        "            timestamp_ms=max([record.timestamp_ms for record in records]),\n"
        "            size_bytes=size_bytes,\n"
        "            delete_horizon_ms=delete_horizon_ms,",
        "            size_bytes=size_bytes,\n            delete_horizon_ms=delete_horizon_ms,",
    ),
    Planted(
        "a batch begins at its first surviving record",
        _BATCH,
        "            records=records,\n"
        "            timestamp_ms=max([record.timestamp_ms for record in records]),\n"
        "            size_bytes",
        "            records=records,\n"
        "            base_offset=records[0].offset,\n"
        "            timestamp_ms=max([record.timestamp_ms for record in records]),\n"
        "            size_bytes",
    ),
    Planted(
        "a batch ends at its last surviving record",
        _BATCH,
        "            records=records,\n"
        "            timestamp_ms=max([record.timestamp_ms for record in records]),\n"
        "            size_bytes",
        "            records=records,\n"
        "            last_offset=records[-1].offset,\n"
        "            timestamp_ms=max([record.timestamp_ms for record in records]),\n"
        "            size_bytes",
    ),
    Planted(
        "a batch with a horizon is as large as without",
        _BATCH,
        "base_ms = records[0].timestamp_ms if delete_horizon_ms is None else delete_horizon_ms",
        "base_ms = records[0].timestamp_ms",
    ),
    Planted(
        "a marker is a byte smaller than Kafka's",
        _BATCH,
        "return BATCH_HEADER_BYTES + CONTROL_RECORD_BYTES - 1 + varint_bytes(delta)",
        "return BATCH_HEADER_BYTES + CONTROL_RECORD_BYTES - 2 + varint_bytes(delta)",
    ),
    Planted(
        "a producer's last batch goes with its records",
        _COPY,
        "self.last_records and self._is_a_producers_last(batch)",
        "False and self._is_a_producers_last(batch)",
    ),
    Planted(
        "of a producer known by markers alone, every control batch stays",
        _COPY,
        "return batch.control is not None and batch.producer_epoch == last.epoch",
        "return batch.control is not None",
    ),
    Planted(
        "of a producer known by markers alone, data stays, too",
        _COPY,
        "return batch.control is not None and batch.producer_epoch == last.epoch",
        "return batch.producer_epoch == last.epoch",
    ),
    Planted(
        "the batch at the end of the round goes with its records (before KAFKA-17076)",
        _FIXES,
        "lambda tail: Kept(batch_end=tail.upper_bound - 1)",
        "lambda tail: Kept()",
    ),
    Planted(
        "the batch at the end of the log stays instead of that at the end of the round",
        _FIXES,
        "lambda tail: Kept(batch_end=tail.upper_bound - 1)",
        "lambda tail: Kept(batch_end=tail.last_batch.last_offset if tail.last_batch else None)",
    ),
    Planted(
        "aborted transactions are looked for up to the end of their segment, their marker included",
        _TRANSACTIONS,
        "if entry.last_offset >= start and entry.first_offset < end:",
        "if entry.last_offset >= start and entry.last_offset < end:",
    ),
    Planted(
        "an aborted transaction is noticed one batch late",
        _TRANSACTIONS,
        "while waiting and waiting[0][0] <= batch.last_offset:",
        "while waiting and waiting[0][0] < batch.base_offset:",
    ),
    Planted(
        "an ABORT marker does not end its transaction",
        _TRANSACTIONS,
        "entry = self._active.pop(producer_id, None)",
        "entry = self._active.get(producer_id)",
    ),
    Planted(
        "the index forgets an aborted transaction whose data is still there",
        _TRANSACTIONS,
        "            kept.append(entry)\n",
        "",
    ),
    Planted(
        "a producer's first COMMIT marker stands for its later transactions, too",
        _TRANSACTIONS,
        "            self._committed.discard(producer_id)\n",
        "",
    ),
    Planted(
        "aborted transactions are looked for in the covered segments alone",
        _TRANSACTIONS,
        "    for index in range(first, len(segments)):\n",
        "    for index in range(first, min(first + 1, len(segments))):\n",
    ),
    Planted(
        "segments that fill the limit exactly are not joined",
        _CLEANER,
        "size + segment.size_bytes <= max_bytes",
        "size + segment.size_bytes < max_bytes",
    ),
    Planted(
        "the span of a joined segment is counted one too small",
        _CLEANER,
        "end - 1 - groups[-1][0].base_offset <= MAX_OFFSET_RANGE",
        "end - 2 - groups[-1][0].base_offset <= MAX_OFFSET_RANGE",
    ),
    Planted(
        "the span of a joined segment is counted one too large",
        _CLEANER,
        "end - 1 - groups[-1][0].base_offset <= MAX_OFFSET_RANGE",
        "end - groups[-1][0].base_offset <= MAX_OFFSET_RANGE",
    ),
    Planted(
        "an empty segment does not join a group that would span too many offsets",
        _CLEANER,
        "(exempt_empty and segment.size_bytes == 0)\n                or ",
        "",
    ),
    Planted(
        "no segments are joined",
        _CLEANER,
        "            groups[-1].append(segment)\n            size += segment.size_bytes\n",
        "            groups.append([segment])\n",
    ),
    Planted(
        "a segment that begins right behind the map's reach is copied, too",
        _CLEANER,
        "if segment.base_offset < end]",
        "if segment.base_offset <= end]",
    ),
    Planted(
        "the next pass begins at the bound although the map did not reach it",
        _COPY,
        "[], replaced, max(reach.latest_offset + 1, 0), protected",
        "[], replaced, plan.upper_bound, protected",
    ),
    Planted(
        "a retry is recognised in the last four batches instead of five",
        _PRODUCERS,
        "REMEMBERED_BATCHES: Final = 5",
        "REMEMBERED_BATCHES: Final = 4",
    ),
    Planted(
        "sequence numbers go on after 2^31 - 1",
        _PRODUCERS,
        "(first + end - base) % (MAX_SEQUENCE + 1)",
        "first + end - base",
    ),
    Planted(
        "a producer keeps its batches in a new epoch",
        _PRODUCERS,
        "        self.epoch = epoch\n        self.batches.clear()\n",
        "        self.epoch = epoch\n",
    ),
    Planted(
        "an emptied marker tells a producer's epoch",
        _PRODUCERS,
        "self.producers[producer_id] = Producer(NO_EPOCH, -1)",
        "self.producers[producer_id] = Producer(batch.producer_epoch, -1)",
    ),
    Planted(
        "a transaction's last stable offset forgets other open transactions",
        _PRODUCERS,
        "still_open = [p.open_since for p in self.producers.values() if p.open_since is not "
        "None]\n"
        "        return Aborted",
        "still_open: list[int] = []\n        return Aborted",
    ),
    Planted(
        "a bound that is the base of a segment is rounded down to the one before",
        _RUN,
        "bases = [segment.base_offset for segment in segments]\n"
        "    return max((base for base in bases if base <= upper_bound)",
        "bases = [segment.base_offset for segment in segments]\n"
        "    return max((base for base in bases if base < upper_bound)",
    ),
)
