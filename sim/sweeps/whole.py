"""Whether a sweep's folder is what the sweep wrote: nothing missing, changed, doubled or foreign.

`state_of` lists what is not, `require_whole` refuses to go on, `mended` sets it aside so that the
cases of damaged waves are run again. What is not ours is never deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sim.errors import BadInput
from sim.sweeps.layout import (
    FINISHED_FILE,
    PLAN_FILE,
    RUNS,
    STAGING,
    SUMMARY_FILE,
    TALLIES_FILE,
    VIOLATIONS,
    WAVES,
    not_in,
    set_aside_now,
)
from sim.sweeps.manifest import (
    FINISHED_FORMAT,
    Finished,
    Part,
    Wave,
    checked,
    decode_wave,
    encoded,
    number_of,
)
from sim.sweeps.output import clear_errors
from sim.sweeps.parts import UNCHECKED_FORMAT, plan_content, waves_and_problems
from sim.sweeps.storage import LocalStorage, Storage


class Damage(NamedTuple):
    """Something in the folder that is not as the sweep wrote it.

    Attributes:
        name: A file, or `waves` for cases that are in none.
        what: What is wrong with it.
    """

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class State:
    """What there is of a sweep.

    Attributes:
        checked: Whether there was something to compare with: folders of the first format have no
            checksums, and in some somebody keeps only the documents of a sweep.
        finished: Whether all was written, its sums included.
        runs: How many the plan has; it and what follows, if there was.
        runs_there: How many of them are in waves; damaged ones count.
        waves: How many waves there are.
        damage: What is wrong, in order of the names. A sweep that was interrupted is not damaged.
    """

    checked: bool
    finished: bool
    runs: int = 0
    runs_there: int = 0
    waves: int = 0
    damage: tuple[Damage, ...] = ()


def state_of(storage: Storage, *, thorough: bool) -> State:
    """What there is of a sweep in a folder, and what is wrong with it.

    Args:
        storage: The folder.
        thorough: Read all files and compare their checksums; otherwise those of the tables are
            told by their sizes.

    Raises:
        BadInput: It holds no sweep.
    """
    content = plan_content(storage)
    finished = FINISHED_FILE in storage.entries()
    if content["format"] == UNCHECKED_FORMAT or not (finished or has_tables(storage)):
        return State(checked=False, finished=TALLIES_FILE in storage.entries())
    waves, problems = waves_and_problems(storage, content)
    found = [Damage(name, what) for name, what in problems.items()]
    found += _in_tables(storage, waves, thorough=thorough)
    if finished:
        found += _in_whole(storage, content, waves, problems)
    return State(
        checked=True,
        finished=finished,
        runs=content["count"] * len(content["rule_sets"]),
        runs_there=sum(wave.rows for wave in waves),
        waves=len(waves),
        damage=tuple(sorted(found)),
    )


def damage_in(storage: Storage, *, thorough: bool) -> list[Damage]:
    """What is wrong with the folder of a sweep. Arguments and errors are those of `state_of`."""
    return list(state_of(storage, thorough=thorough).damage)


def has_tables(storage: Storage) -> bool:
    """Whether there is more than the documents that somebody kept of a sweep."""
    names = storage.entries()
    return any(storage.names(folder) for folder in (RUNS, VIOLATIONS, WAVES) if folder in names)


def _in_tables(storage: Storage, waves: list[Wave], *, thorough: bool) -> Iterator[Damage]:
    named = {part.path: part for wave in waves for part in wave.parts}
    there = {*storage.names(RUNS), *storage.names(VIOLATIONS)}
    begun = _begun(storage)
    for name in there - named.keys():
        if name in (RUNS, VIOLATIONS) or name.split("/")[1] not in begun:
            yield Damage(name, "is in no wave's manifest")
    for name in named.keys() - there:
        yield Damage(name, "is missing")
    for name in there & named.keys():
        what = _wrong(storage, named[name], thorough=thorough)
        if what:
            yield Damage(name, what)


def _begun(storage: Storage) -> set[str]:
    """The folders of waves whose manifest is not in place yet: they are being written, or were."""
    names = [storage_name.split("/") for storage_name in storage.names(STAGING)]
    return {parts[-1].removesuffix(".json") for parts in names if parts[-2] == WAVES}


def _wrong(storage: Storage, part: Part, *, thorough: bool) -> str | None:
    try:
        size = storage.size(part.path)
        if size != part.size:
            return f"has {size:,} bytes instead of {part.size:,}"
        if thorough and not part.matches(storage.read(part.path)):
            return "has other content than was written"
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None


def _in_whole(
    storage: Storage, content: dict[str, Any], waves: list[Wave], problems: Iterable[str]
) -> Iterator[Damage]:
    """What `finished.json` says against what is there."""
    for name in storage.names(STAGING):
        yield Damage(name, "is a draft of an attempt that was killed")
    missing = not_in((cases for wave in waves for cases in wave.ranges), content["count"])
    if missing:
        cases = ", ".join(f"{one.start} to {one.stop - 1}" for one in missing[:3])
        more = f" and {len(missing) - 3} ranges more" if len(missing) > 3 else ""
        yield Damage(WAVES, f"cases {cases}{more} are in no wave")
    try:
        written = storage.read(FINISHED_FILE)
        finished = msgspec.json.decode(written, type=Finished)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield Damage(FINISHED_FILE, f"is damaged: {error}")
        return
    if encoded(finished) != written:
        yield Damage(FINISHED_FILE, "has other content than was written")
    expected = {PLAN_FILE, TALLIES_FILE, SUMMARY_FILE, *(wave.name for wave in waves)}
    for name in expected - finished.files.keys():
        yield Damage(name, f"is not in {FINISHED_FILE}")
    for name, known in finished.files.items():
        if name not in problems:
            try:
                same = checked(storage.read(name)) == known
            except FileNotFoundError:
                yield Damage(name, "is missing")
            except OSError as error:
                yield Damage(name, f"cannot be read: {error.strerror or error}")
            else:
                if not same:
                    yield Damage(name, "has other content than was written")


def require_whole(out: Path, *, thorough: bool) -> State:
    """What there is of the sweep in a folder of this machine, undamaged.

    Raises:
        BadInput: It holds no sweep, or a file is not as the sweep wrote it: the line names one.
    """
    with clear_errors(out):
        state = state_of(LocalStorage(out), thorough=thorough)
    if state.damage:
        name, what = state.damage[0]
        others = len(state.damage) - 1
        more = f" (and {others} more, see replog sweep check)" if others else ""
        raise BadInput(f"{out}/{name}: {what}{more}; --resume of the sweep mends it")
    return state


def write_finished(storage: Storage) -> None:
    """Says that the sweep is finished, and of what it consists."""
    names = [PLAN_FILE, TALLIES_FILE, SUMMARY_FILE, *storage.names(WAVES)]
    files = {name: checked(storage.read(name)) for name in names}
    storage.write(FINISHED_FILE, encoded(Finished(FINISHED_FORMAT, files)))


def mended(storage: Storage, content: dict[str, Any], *, tell: Callable[[str], None]) -> list[Wave]:
    """The waves of a sweep that are whole, after all that is damaged or foreign was set aside.

    Only for who holds the lock. `content` is that of `plan.json`. `tell` gets a line for whatever
    is set aside.
    """
    waves, problems = waves_and_problems(storage, content)
    _clear_staging(storage, waves, rule_sets=len(content["rule_sets"]))
    damaged = [*(Damage(*one) for one in problems.items())]
    damaged += _in_tables(storage, waves, thorough=True)
    names = {one.name for one in damaged}
    kept = [wave for wave in waves if names.isdisjoint(part.path for part in wave.parts)]
    aside = set_aside_now()
    for one in damaged:
        tell(f"{storage.label}/{one.name}: {one.what}; {_what_follows(one, waves, aside)}")
    for wave in waves:
        if wave not in kept:
            names |= {wave.name, *(part.path for part in wave.parts)}
    for name in sorted(names, key=lambda name: (not name.startswith(WAVES), name)):
        try:
            storage.rename(name, f"{aside}/{name}")
        except FileNotFoundError:
            continue  # which is what is wrong with it
    return kept


def _what_follows(damage: Damage, waves: list[Wave], aside: str) -> str:
    for wave in waves:
        if any(part.path == damage.name for part in wave.parts):
            runs = f"its wave's {wave.rows:,} runs are made again"
            return runs if damage.what == "is missing" else f"{runs}, it is kept in {aside}"
    return f"set aside in {aside}"


def clear_staging(storage: Storage) -> None:
    """Leaves nothing of what was about to be written; only for who holds the lock."""
    if storage.names(STAGING):
        content = plan_content(storage)
        waves, _problems = waves_and_problems(storage, content)
        _clear_staging(storage, waves, rule_sets=len(content["rule_sets"]))
    storage.remove(STAGING)


def _clear_staging(storage: Storage, kept: list[Wave], *, rule_sets: int) -> None:
    """Removes what killed attempts were about to write, parts that were in place already, too.

    A wave's manifest is in the staging folder until its parts are in place. A part of such a wave
    is known by its name and size.
    """
    counted = {part.path for wave in kept for part in wave.parts}
    for name in storage.names(STAGING):
        manifest = "/".join(name.split("/")[2:])
        if number_of(manifest) is None:
            continue
        try:
            wave = decode_wave(manifest, storage.read(name), rule_sets=rule_sets)
        except ValueError:
            continue
        for part in wave.parts:
            if part.path not in counted and _has(storage, part):
                storage.remove(part.path)
    storage.remove(STAGING)


def _has(storage: Storage, part: Part) -> bool:
    try:
        return storage.size(part.path) == part.size
    except FileNotFoundError:
        return False
