"""Whether a sweep's folder is what the sweep wrote: nothing missing, changed, doubled or foreign.

`damage_in` lists what is not, `require_whole` refuses to go on, `mended` sets it aside so that the
cases of damaged waves are run again. What is not ours is never deleted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from sim.errors import BadInput
from sim.sweeps.layout import (
    FINISHED_FILE,
    PLAN_FILE,
    RUNS,
    SET_ASIDE,
    STAGING,
    SUMMARY_FILE,
    TALLIES_FILE,
    VIOLATIONS,
    WAVES,
    not_in,
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


def damage_in(storage: Storage, *, thorough: bool) -> list[Damage]:
    """All that is wrong with the folder of a sweep, in order of the names.

    Args:
        storage: The folder.
        thorough: Read all files and compare their checksums; otherwise their sizes.

    Raises:
        BadInput: It holds no sweep.
    """
    content = plan_content(storage)
    if content["format"] == UNCHECKED_FORMAT:
        return []
    waves, problems = waves_and_problems(storage, content)
    found = [Damage(name, what) for name, what in problems.items()]
    found += _in_tables(storage, waves, thorough=thorough)
    if is_begun(storage):
        found += _in_whole(storage, content, waves, problems)
    return sorted(found)


def is_begun(storage: Storage) -> bool:
    """Whether there is more than documents that somebody kept: tables, or the claim of them."""
    names = storage.entries()
    tables = any(storage.names(folder) for folder in (RUNS, VIOLATIONS, WAVES) if folder in names)
    return tables or FINISHED_FILE in names


def _in_tables(storage: Storage, waves: list[Wave], *, thorough: bool) -> Iterator[Damage]:
    named = {part.path: part for wave in waves for part in wave.parts}
    there = {*storage.names(RUNS), *storage.names(VIOLATIONS)}
    for name in there - named.keys():
        yield Damage(name, "is in no wave's manifest")
    for name in named.keys() - there:
        yield Damage(name, "is missing")
    for name in there & named.keys():
        what = _wrong(storage, named[name], thorough=thorough)
        if what:
            yield Damage(name, what)


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
    missing = not_in((cases for wave in waves for cases in wave.ranges), content["count"])
    if missing:
        cases = ", ".join(f"{one.start} to {one.stop - 1}" for one in missing[:3])
        more = f" and {len(missing) - 3} ranges more" if len(missing) > 3 else ""
        yield Damage(WAVES, f"cases {cases}{more} are in no wave")
    try:
        finished = msgspec.json.decode(storage.read(FINISHED_FILE), type=Finished)
    except FileNotFoundError:
        if not missing:
            yield Damage(FINISHED_FILE, "is missing")
        return
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        yield Damage(FINISHED_FILE, f"is damaged: {error}")
        return
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


def require_whole(out: Path, *, thorough: bool) -> None:
    """Raises BadInput, naming the first damage, unless a folder is as a sweep left it.

    A folder that keeps only the documents of a sweep, and one that is older than checksums, have
    nothing to be compared with.
    """
    storage = LocalStorage(out)
    found = damage_in(storage, thorough=thorough)
    if found:
        name, what = found[0]
        more = f" (and {len(found) - 1} more: replog sweep check {out})" if found[1:] else ""
        raise BadInput(f"{out}/{name}: {what}{more}; --resume of the sweep mends it")


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
    aside = f"{SET_ASIDE}/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
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
