"""The durability contract: which losses of unflushed records a protocol answers for, and which not.

Replication promises that a committed record is never lost as long as enough of those who had to
have it keep it. Enough is:

* commit `isr`: one. At every moment some member of the in-sync set is up and has the record: that
  is the condition under which Kafka's documentation gives its guarantee (Design, Replication: one
  in-sync replica alive at all times), and a replica that comes back without its tail did not stay
  alive in that sense. So a loss is outside when it hits the last such member: the whole set loses
  power at once, or one loses its tail while the others are down (KIP-101, scenario 2) or have left
  the set (the last replica standing of KIP-966).
* commit `majority`: a majority of the voters, up or down, has the record on disk. Raft assumes
  stable storage (Raft, figure 2: persistent state). What keeps others from being elected is that
  some majority has the record, so a lost tail matters as soon as fewer have it, and not before.

Only tails that a crash takes count: a new disk is what `wipe` is about, and a record that a
follower never had, a cleaner removed or a truncation cut is the protocol's own doing, hence a
violation. From the loss on nothing is promised, so a run is not judged by what comes after.
"""

from __future__ import annotations

from sim.check.book import Book, Disk

OUTSIDE = "outside-durability"
"""Name of the situation, and the beginning of the reason why such a run has no verdict."""


def broken_contract(book: Book, crashed: Disk, log_end_offset: int) -> str | None:
    """What a crash takes that nobody has to bring back, as a sentence; None = nothing such.

    `crashed` still is as before the crash; its log ends at `log_end_offset` (exclusive) after it.
    """
    isr = book.rules.replication.commit == "isr"
    members = [book.disks[name] for name in (book.isr if isr else book.voters)]
    others = [disk for disk in members if disk is not crashed and (disk.up or not isr)]
    needed = 1 if isr else len(members) // 2 + 1
    for offset in range(log_end_offset, min(crashed.leo, len(book.committed))):
        if offset < crashed.start or not book.has_committed(crashed, offset):
            continue
        keepers = sum(1 for d in others if offset < d.start or book.has_committed(d, offset))
        if keepers < needed:
            record = book.describe(book.committed[offset])
            who = "in-sync replicas that are up" if isr else "voters"
            return (
                f"{crashed.name} lost committed offset {offset} ({record}) with its unflushed "
                f"tail; {keepers} {who} still have it, the contract needs {needed}."
            )
    return None
