"""The invariants: a class for each, a file for each family.

`sim.check.registry` finds every class in the modules of this package by itself.

Each says in its docstring what it demands as one formula, when that is judged, what it excuses with
the reason, its source, and its sentence with names of evidence in braces. The formulas write

* committed[o]: the record that was at offset o when the high watermark of the newest epoch's leader
  first passed o; N is how many offsets that are. It never changes: cleaning, cuts and later leaders
  leave it alone;
* log(r)[o]: what the log of replica r has at o: a record, an empty batch, or nothing, a hole. The
  log is start(r) <= o < end(r), the log start offset and the log end offset;
* hw(r), clean(r): the high watermark and the first dirty offset of r, both exclusive;
* x beats y: x and y are of one key, and x wins under the topic's strategy;
* winner(k): the committed record of key k, of no aborted or undecided transaction, that no other
  such record beats;
* fold(S): key -> winner among the records S; no key where a tombstone wins;
* the absence of x is justified: a committed, decided record or one that the leader holds beats x;
  or x is a tombstone or a marker, was aborted, or is a record without a key;
* r has o: end(r) > o, and log(r)[o] is committed[o], an empty batch, or a justified hole.

The values that decided, the evidence, have the same names everywhere: `record` is the record that
is concerned, `held`, `winner`, `first`, `meant` other ones by what they are; `high_watermark`,
`log_start`, `log_end`, `epoch`, `leader`, `before` (what it was) belong to the replica concerned;
`other`, `holder`, `reader`, `producer` name another party; `deleted_at` is the offset of the
tombstone that deleted a key; `counted` and `needed` are how many there are and should be; what ends
with `_below` is exclusive.

"At rest": faults are over and followers have fetched to the end, or a story asks.
"""
