"""What a record that is still there waits for: the first condition not met, and when it will be."""

from __future__ import annotations

from sim.logfile.trail import Life, Pass, Trail


def waits_for(trail: Trail, life: Life) -> str:
    """Why it is still there, and what has to happen before it goes."""
    aborted = trail.abort_of(life)
    if aborted is not None:
        return (
            f"{_unreached(trail, life)}; its transaction was aborted (ABORT at "
            f"{aborted.last_offset}), so the first pass that reaches it takes it away"
        )
    winner = trail.winner()
    if winner is not None and winner is not life:
        return _superseded(trail, life, winner)
    if life.is_tombstone:
        return _tombstone(trail, life)
    return _value(trail, life)


def _value(trail: Trail, life: Life) -> str:
    """A value that wins stays; it may have been deleted by a tombstone that is gone."""
    version = trail.strategy.version
    deleted_by = [
        other
        for other in trail.lives.values()
        if other.removal is not None
        and other.removal.reason == "tombstone"
        and version(other.record) > version(life.record)
    ]
    if deleted_by:
        last = max(deleted_by, key=lambda other: version(other.record))
        assert last.gone_in is not None  # it went
        return (
            f"the tombstone at {last.offset} that deleted it went in step {last.gone_in.number} "
            "before a pass had compared the two, so the value is back"
        )
    which = "newest" if trail.strategy.latest_wins else "winning"
    return f"it is the {which} record of its key and has a value; it stays until another wins"


def _superseded(trail: Trail, life: Life, winner: Life) -> str:
    """A record that lost, or will lose, to another one that is there."""
    what = (
        f"a newer record at {winner.offset} supersedes it"
        if winner.offset > life.offset
        else f"the record at {winner.offset} has a higher version and supersedes it"
    )
    passes = trail.passes_since(life if life.came_in >= winner.came_in else winner)
    both = [one for one in passes if one.mapped(winner.offset) and one.mapped(life.offset)]
    if not both:
        later = winner if winner.offset > life.offset else life
        subject = "that one" if later is winner else "it"
        why = _unreached(trail, later, subject)
        return f"{what}, but {why}; the first pass that reaches both removes this one"
    last = both[-1]
    if last.cleaning.protected_offset == life.offset:
        return f"{what}, but {_protected(trail, life)}"
    dirty_from = last.plan.first_dirty_offset
    if not last.plan.policy.full_map and winner.offset < dirty_from:
        return (
            f"{what}, but that one lay in the clean section, below {dirty_from}, in step "
            f"{last.number}, and a map of dirty records only (map_range: dirty) does not know it; "
            "no later pass compares the two either"
        )
    if last.plan.given_map is not None:
        return f"{what}, but the map given in step {last.number} does not say so"
    return f"{what}; the next pass that reaches both removes this one"


def _tombstone(trail: Trail, life: Life) -> str:
    """A tombstone that wins: it waits for a pass, then for its removal rule, or for ever."""
    removal = trail.rules.rules.cleaner.tombstone_removal
    mapped = [one for one in trail.passes_since(life) if one.mapped(life.offset)]
    if not mapped:
        return f"{_unreached(trail, life)}{_outlook(trail, life)}"
    last = mapped[-1]
    if removal == "never":
        return "tombstone_removal: never keeps a winning tombstone for ever"
    if last.cleaning.protected_offset == life.offset:
        return _protected(trail, life)
    if removal == "last_modified":
        return _by_last_modified(trail, last)
    if removal == "cleaning_checkpoint":
        return _by_checkpoint(trail, life)
    if life.horizon_ms is None:
        return f"no pass has given it a delete horizon yet{_outlook(trail, life)}"
    limit = last.plan.removal_limit
    if removal == "coordinated" and last.plan.now_ms >= life.horizon_ms and life.offset >= limit:
        return (
            f"its delete horizon {life.horizon_ms} is past, but it is not below {limit}, up to "
            f"where every replica had cleanly compacted before step {last.number} (its own first "
            "dirty offset: a log file has one replica)"
        )
    return _by_horizon(trail, life, last)


def _by_horizon(trail: Trail, life: Life, last: Pass) -> str:
    horizon_ms = life.horizon_ms
    assert horizon_ms is not None  # asked for by the caller
    of_whom = (
        "it" if trail.rules.rules.cleaner.tombstone_removal == "record_horizon" else "its batch"
    )
    if life.stamped_in is None:
        got = f"{of_whom} came with the delete horizon {horizon_ms}"
        away = f"{_ms(horizon_ms - last.plan.now_ms)} after step {last.number}"
    else:
        stamped = next(one for one in trail.passes if one.number == life.stamped_in)
        got = f"{of_whom} got the delete horizon {horizon_ms} in step {life.stamped_in}"
        away = f"{_ms(horizon_ms - stamped.plan.now_ms)} after step {life.stamped_in}"
    text = f"{got}; it goes with the first pass at or after that time: {away}"
    if last.number != life.stamped_in:
        text += f" (step {last.number}, at {last.plan.now_ms}, was too early)"
    newest = trail.passes[-1]
    if newest is not last:
        text += f"; {_missed(newest, life)}"
    if newest.cleaning.next_dirty_offset >= trail.log.active.base_offset:
        text += (
            "; at present nothing below the active segment is dirty, and without dirty data the "
            "cleaner does not run"
        )
    return text


def _by_last_modified(trail: Trail, last: Pass) -> str:
    modified, horizon = last.last_modified_ms, last.plan.legacy_horizon_ms
    retention = trail.rules.rules.topic.delete_retention_ms
    text = (
        f"its segment's last modification {modified} is above the horizon {horizon} of step "
        f"{last.number}'s pass; it goes with the first pass whose horizon is at least that"
    )
    if retention > 0:
        text += (
            f". Unless a step gives one, the horizon is the last modification of the last clean "
            f"segment minus {_ms(retention)} (delete.retention.ms)"
        )
    return text


def _by_checkpoint(trail: Trail, life: Life) -> str:
    newest = trail.passes[-1]
    end, cleaned_ms = newest.cleaning.next_dirty_offset, newest.plan.now_ms
    due_ms = cleaned_ms + trail.rules.rules.topic.delete_retention_ms
    if life.offset >= end:
        return f"no pass has ended above it yet; the last one ended at {end}"
    return (
        f"the last pass, step {newest.number} at {cleaned_ms} ms, ended above it, at {end}; it "
        f"goes with the next pass if that comes at {due_ms} ms or later, and each pass before then "
        "starts the wait anew"
    )


def _protected(trail: Trail, life: Life) -> str:
    return (
        f"fix: {trail.rules.rules.cleaner.fix} keeps the last record of the whole log, this one, "
        "whatever it is; it may go once another is appended after it"
    )


def _unreached(trail: Trail, life: Life, subject: str = "it") -> str:
    """Why no pass has decided about a record."""
    passes, active = trail.passes_since(life), trail.log.active.base_offset
    last = passes[-1] if passes else None
    if last is None:
        text = "no pass has reached it yet" if subject == "it" else f"no pass has reached {subject}"
    else:
        text = _missed(last, life, subject)
    if life.offset >= active:
        where = f"the active segment, from {active}, is never cleaned"
        return f"{text} ({where}); it needs a roll first"
    return text


def _missed(one: Pass, life: Life, subject: str = "it") -> str:
    """Why one pass did not decide about a record."""
    bound = one.plan.upper_bound
    if life.offset >= bound:
        return f"{subject} lies at or above the upper bound {bound} of step {one.number}"
    if one.did_nothing:
        return f"nothing was dirty below the upper bound {bound} in step {one.number}"
    if not one.mapped(life.offset):
        return (
            f"{subject} lies beyond offset {one.latest_offset}, where the offset map of step "
            f"{one.number} ended"
        )
    return f"step {one.number} reached {subject}"


def _outlook(trail: Trail, life: Life) -> str:
    """What the first pass that reaches a tombstone will do."""
    removal = trail.rules.rules.cleaner.tombstone_removal
    if removal in ("never", "last_modified", "cleaning_checkpoint"):
        return ""
    if removal == "immediate":
        return "; the pass that reaches it removes it"
    if life.horizon_ms is None:
        wait = _ms(trail.rules.rules.topic.delete_retention_ms)
        return f"; the first pass that sees it gives it a delete horizon {wait} later"
    got = "came with" if life.stamped_in is None else f"got in step {life.stamped_in}"
    return f"; the delete horizon it {got} is {life.horizon_ms}"


def _ms(number: int) -> str:
    return f"{number:,} ms"
