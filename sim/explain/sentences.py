"""The sentences of facts: short templates, and the few words that they may use.

A template names values in braces: those it is given, a field of the event that it is about, or a
rule. What stands behind a colon says how to show one: `{replica:end}` is where that log ended just
before the event. A part in `<...>` is left out where one of its values is empty; one that begins
as in `<leading?...>` is there where that value is true.
"""

from __future__ import annotations

from typing import Final

FactKind = str
"""What kind of value decided, one of the keys of `TEMPLATES`: `order` = the order of offsets,
`position` = a log end, a fetch position, a high watermark or another bound, `loss` = what a crash
or a file took."""

WINS: Final = "wins"
"""In place of a kind: that by which the strategy of the cleaner says who wins."""

TEMPLATES: Final[dict[FactKind, dict[str, str]]] = {
    "clock": {
        "looked": "{replica} looked {when}, {clock}: dirty from {first_dirty_offset}, last stable "
        "offset {stable_offset}, {due} up to {upper_bound}, {delay_ms:,} ms overdue, metric "
        "{metric_secs} s, max.compaction.lag.ms {max_lag_ms:,}, "
        "message.timestamp.difference.max.ms {difference_max_ms}",
    },
    "election": {
        "elected": "{replica} became leader of epoch {epoch} {when} with log end offset "
        "{epoch_start_offset}<, whatever it has: {because}>"
        "<, while all below {committed} was committed>",
    },
    "epoch": {
        "answered by": "{name} knew the epochs {name:epochs} since {at:since}",
        "appended in": "{replica} appended {uid:record} in epoch {uid:epoch} {when}"
        "<, when {leader} led epoch {newest} already>",
        "began": "the epochs began, as appended, {began:listed}",
        "counted in": "{uid:record} of epoch {uid:epoch} was committed in epoch {later}: {counted}",
        "counted": "{counted}",
        "first leader": "{replica} was elected in epoch {epoch} {when}",
        "given before": "{replica} had given offset {offset} to {uid:record} in epoch {uid:epoch} "
        "{when}<, committed {committed}>",
        "has since": "{replica} has {other:record} since {at:since}, where {uid:record} was given "
        "the offset later",
        "held below": "{name} held {uid:record} of epoch {epoch}",
        "leads": "{replica} leads epoch {epoch} since {at:since}",
        "not committed": "{name} holds {held:record} where {committed:record} is committed",
        "recorded anyway": "{replica} (epochs {replica:epochs}) recorded position {position} for "
        "{follower} (epochs {follower:epochs}) {when}, which has {uid:record} "
        "(truncation: {truncation})",
        "restarted in": "{replica} came back {when} in epoch {epoch}< where it had been in {had}> "
        "(epoch_storage: {epoch_storage})",
        "second leader": "{replica} was elected in epoch {epoch}, too, {when}, by voters among "
        "{voters:listed}",
        "truncated": "{replica} (epochs {replica:epochs}) truncated from {log_end_offset} to "
        "{target}< following {leader}, leader of epoch {epoch} (which knew the epochs "
        "{leader:epochs})> {when}, high watermark {high_watermark} (truncation: {truncation})"
        "<; the batch across the target went from {reached} on>"
        "<leading?, while it was leading itself>",
        "voter": "{replica} came back {when} in epoch {epoch} (vote_storage: {vote_storage})",
        "went on": "{replica} (epochs {replica:epochs}) kept what it has at {offset} and copied "
        "from {fetch_offset} on from {leader} (epochs {leader:epochs}) {when} "
        "(truncation: {truncation})",
        "went on leading": "{replica} came back {when} and went on leading epoch {led} "
        "(leader_restart: {leader_restart})",
    },
    "horizon": {
        "expired": "{replica} removed <tombstone?the tombstone >{uid:record} {when}< {because}>"
        "<, while {needed}>",
        "kept tombstone": "{replica} kept the tombstone {uid:record} in its pass up to "
        "{upper_bound} {when}, {clock}<short?, which did not reach {offset}>"
        "<, its delete horizon being {horizon_ms:,} ms (given {times} times)>"
        "<bare? (tombstone_removal: {tombstone_removal}; it has no delete horizon)>",
        "rewritten": "{replica} wrote batches anew {when}, delete horizons {stamps} "
        "(horizon_rebase: {horizon_rebase}, tombstone_removal: {tombstone_removal})",
        "stamped": "{replica} gave the batch at {base} the delete horizon {at_ms:,} ms {when}, "
        "{clock} (horizon_stamp: {horizon_stamp})",
    },
    "loss": {
        "ReplicaCrashed": "{replica} crashed {when} and kept what is below {log_end_offset}, high "
        "watermark {high_watermark}{replica:fault}",
        "ReplicaRestarted": "{replica} came back {when} with its log up to {log_end_offset}, high "
        "watermark {high_watermark}{replica:fault}",
        "ReplicaWiped": "{replica} lost its whole log {when}: {reason}{replica:fault}",
        "SegmentsLost": "{replica} found offsets {low} to {high} in no segment {when}"
        "{replica:fault}",
    },
    "marker": {
        "decided": "{uid:record} is decided by {committed} in committed history, on {name} by "
        "{here}",
        "taken for aborted": "{replica} removed {uid:record} {when}, taking its transaction "
        "(producer {producer}) for aborted<; the markers next to it: {markers}><, while {needed}>",
    },
    "order": {
        "unmapped": "{replica} removed {uid:record} {when} ({reason}) in its pass over "
        "[{first_dirty_offset}, {upper_bound})",
    },
    "position": {
        "Cleaned": "{replica} took its log end offset from the records it kept: a pass {when} "
        "moved it down to {log_end_offset}",
        "LogStartMoved": "{replica} deleted below {log_start_offset} ({cause}{by_clock}) {when}, "
        "high watermark {high_watermark}, newest snapshot {replica:snapshot}",
        "LogStartedAfresh": "{replica}, log end offset {log_end_offset} (high watermark "
        "{high_watermark}), below the leader's log start, began anew at {log_start_offset} {when}",
        "PrefixDeleted": "{replica} deleted below {log_start_offset} {when}, high watermark "
        "{high_watermark}, newest snapshot {replica:snapshot}",
        "Pushed": "{replica} appended a copy of {leader}'s batch at an offset of its own, {base}, "
        "{when}",
        "above": "{name} holds {uid:record} above its high watermark {name:mark}, so that it does "
        "not count there<; {leader}, leader of epoch {epoch}, is at {leader:mark}>",
        "acknowledged": "{replica} told its producer {when} that {first_offset} to {last_offset} "
        "are {said}, with high watermark {replica:mark} and log end offset {replica:end} in epoch "
        "{epoch}",
        "answered": "{name} answers for {key} by its log below {below}<, which it had loaded below "
        "{end} {loaded}>; {committed:record} was committed; its high watermark was {name:mark}, "
        "its log end offset {name:end}",
        "came back": "{replica} came back {when} with high watermark {high_watermark} and log end "
        "offset {log_end_offset}",
        "coordinated": "coordinated removal allows only what is below {below}: {ends:listed}",
        "event": "{event}",
        "event then": "{event} {when}",
        "end moved": "the log end offset of {replica} went from {replica:end} to {log_end_offset} "
        "{when}",
        "gave": "{replica}, log end offset {replica:end}, gave offset {offset} to {uid:record} in "
        "epoch {uid:epoch} {when}",
        "handed on": "{name} has {uid:record} from a log that was not cleaned",
        "holds nothing": "the log of {name} ends at {end}, and holds nothing at {last}",
        "joined": "{joined} joined the in-sync set {when} by its position {at}, high watermark "
        "{replica:mark}, log end offset {joined:end}",
        "kept from": "{name} holds {uid:record} and did not give it",
        "kept mark": "{name} kept high watermark {name:mark} with log end offset {name:end}",
        "leader knew": "{leader}, leader of epoch {epoch}, knew high watermark {leader:mark}",
        "mark counted": "{replica}, log end offset {replica:end}, moved its high watermark to "
        "{high_watermark} {when}<, counting {counted}>",
        "mark moved": "{replica}, log end offset {end}, moved its high watermark from "
        "{replica:mark} to {high_watermark} {when}<told?, as its leader told it>",
        "mark stays": "{name}, log end offset {name:end}, has high watermark {name:mark} and "
        "believes {waiting:listed}<, in sync: {members}>",
        "moved start": "{replica} moved its log start to {log_start_offset}< ({cause})> {when}, "
        "high watermark {high_watermark}, newest snapshot {replica:snapshot}",
        "never cleaned": "{name} holds {uid:record} and never cleaned it: it has run no pass",
        "never had": "{name} never had offset {offset}: its log end offset was {name:end}"
        "<, while {counted}>{name:fault}",
        "not copied": "{replica} copied from {start} on from {leader} {when} and was given nothing "
        "at {offset}",
        "recorded": "{replica} recorded position {position} for {follower} {when}, whose log end "
        "offset was {follower:end}<to_end?: a fetch that reads to the end counts as having all>",
        "snapshot above": "{replica} took snapshot ({end_offset}, {epoch}) {when} with high "
        "watermark {replica:mark} and log end offset {replica:end}",
        "stays behind": "{name} stays at log end offset {end}, the leader {leader} is at {high}"
        "<hole?, and nothing is left to copy from {end} to {last}><idle?: it fetched no more; "
        "{name} knows the epochs {name:epochs}, {leader} {leader:epochs}>",
        "went up": "the pass of {replica} went up to {upper_bound} with high watermark "
        "{high_watermark} (cleaner_bound: {cleaner_bound})",
    },
    "read": {
        "Consumed": "{consumer} read {replica} from {start} to {end} {when} (at {now_ms:,} ms) and "
        "was given {given:records}",
        "ConsumerReset": "{consumer} was moved to {position} of {replica} ({cause}) {when}",
        "ReadingEnded": "{consumer} reads {replica} until {until} {end}: it is at position "
        "{position}, was given {given} records, the last at {last_offset}",
    },
    "sequence": {
        "appended": "{replica} appended sequence numbers {first} to {last} of producer {producer} "
        "(its epoch {epoch}) at {low} to {high} {when}",
    },
    "snapshot": {
        "LogEmptied": "{replica} emptied its log, which ended at {log_end_offset} (high watermark "
        "{high_watermark}), for snapshot ({end_offset}, {epoch}) {when}",
        "SnapshotInstalled": "{replica} replaced its log, which ended at {log_end_offset} (high "
        "watermark {high_watermark}), by snapshot ({end_offset}, {epoch}) {when}",
        "gave up": "{replica} gave up snapshot ({end_offset}, {epoch}) {when}: {reason}"
        "<, which {deleter} had deleted {deleted}>",
        "sent twice": "{replica}, which had all below {fetch_offset}, copied {size:,} bytes from "
        "{leader} {when}, a snapshot in the log among them (snapshot_placement: "
        "{snapshot_placement})",
        "snapshot has": "{replica} took snapshot ({end_offset}, {epoch}) {when} with high "
        "watermark {replica:mark} and log end offset {replica:end}; it has {held:records} for "
        "{key}",
        "snapshot missing": "{name} has no snapshot there",
        "taken": "{replica} took snapshot ({end_offset}, {epoch}) {when}",
    },
    "timestamp": {
        "timestamp": "{uid:record} has timestamp {timestamp_ms:,} ms",
    },
    "version": {
        "changed": "{field} of {uid:record} was {was} as appended and is {now}",
        "its records": "its records: {uids:records}",
        "fetching failed": "{replica} fetched no more from {leader} {when}: a batch begins at "
        "{base_offset}, its log ends at {log_end_offset}",
        "stopped at": "a pass of {replica} could not go on at {offset} {when}, {uid:record}",
        "understood": "{consumer} was given value {value}, flag {flag}, and took it for {what}; "
        "appended was value {was}, flag {was_flag} (tombstone_mark: {tombstone_mark})",
    },
    "wins": {
        "came late": "{uid:record} was appended {when}, when {name} held nothing of "
        "{deleted:record} any more: only its {by} says that it loses",
        "given last": "the consumer was given {kept:record} last and goes by offsets; "
        "{winner:record} wins by {by}",
        "kept both": "{name} holds {losers:records} beside {best:record}, which beats it<; its "
        "pass over [{first_dirty_offset}, {upper_bound}) {when} kept both>{because}",
        "kept loser": "the pass of {replica} over [{first_dirty_offset}, {upper_bound}) {when} "
        "kept {loser:record}, though {winner:record} beats it{because}",
        "left": "the pass {when} left {uid:record} where it was",
        "not looked at": "{uid:record} lies above what that pass looked at, {bound}: only its {by} "
        "says that it loses",
        "superseded": "{replica} removed {uid:record} {when}, beaten by {winner}<unfair?, which "
        "does not beat it by what the topic promises><: its timestamp had moved with the base of "
        "its batch to the delete horizon {moved_ms:,} ms (horizon_rebase: {horizon_rebase})>"
        "<; {replica} got other settings: {settings}><one_key?, as one key to the cleaner "
        "(marker_lookup: {marker_lookup})><, while {needed}><uncommitted?, which was not "
        "committed: high watermark {high_watermark}><alone?, and nothing of its offset stayed>",
    },
}
"""The sentences of facts without their full stops, by the kind of value that decides."""

KINDS: Final = {name: kind for kind, named in TEMPLATES.items() for name in named}


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]
