"""Cases as texts: events, one a line, that violate an invariant, and such as do not.

    # hw-within-log r2@2: a restart is no change
      cluster r1 r2
      append r1 0:a 1:b
      copy r2 r1 0 0:a 1:b
      ReplicaCrashed r2 2 0
      shows log_end=1
    - ReplicaRestarted r2 1 2
    + ReplicaRestarted r2 2 2

With the lines that have a minus it is violated, at offset 2 of r2 (`r2@2:k` with a key, `@2` where
there is no replica); with those that have a plus, the near miss, it is not. Without a place nothing
is violated. What follows the colon is how somebody would read the invariant who takes the near miss
for a violation. The line `shows` has the evidence of the first violation, `rules` settings of the
run, and `checker` what else the checker is told.

A line is the name of an event with its values in order, or by name; `cluster`, `append`, `copy`,
`commit`, `clean` and `rest` are those of `tests.check.events`. Values of tuples are joined by
commas, `-` is an empty one, and '' an empty text. A batch is `offset:key` and what is special about
it: `!` is a tombstone, `=v` its value, `#9` its uid, `^2` its epoch, `~7` a transaction of producer
7, `@5` its timestamp, `%100` its delete horizon, `+` flagged as a delete, `?` without a flag, `$3`
its sequence number in producer epoch `&1`, `*2` how many records it has; `0:COMMIT~7` is a marker.
The same text is the same batch. A removal is `0:k>1`, beaten by the record at 1, or
`0:k/tombstone`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from sim.log import Batch, Control, Record, control_batch, data_batch
from sim.rules import Rules
from sim.trace import Event, Removal
from tests.check import events
from tests.check.events import RULES

KINDS: dict[str, Any] = {kind.__name__: kind for kind in get_args(Event)}
_BATCH = re.compile(r"(\d+):(\w*)((?:[!+?]|[=#^~@%$&*][+-]?\w+)*)")
_OPTION = re.compile(r"([=#^~@%$&*])([+-]?\w+)|([!+?])")
_REMOVAL = re.compile(r"(\d+):(\w*)(?:#(\d+))?(?:>(\d+))?(?:/(\w+))?")
_NO_WORDS = {"yes": True, "no": False, "none": None}


class Case(NamedTuple):
    """Events that violate an invariant, and nearly the same ones, which do not.

    Attributes:
        name: Of the invariant.
        places: Where it is violated.
        evidence: Of the first violation; records by their uid.
        misreading: How somebody would read it who takes the near miss for a violation.
        violating: Violates it, if it has a place.
        near_miss: Does not.
        rules: Of the run.
        checker: What else the checker is told.
    """

    name: str
    places: list[str]
    evidence: dict[str, str]
    misreading: str
    violating: list[Event]
    near_miss: list[Event]
    rules: Rules
    checker: Mapping[str, Any]


def cases_of(path: Path) -> Iterator[Case]:
    """The cases of a file, in order."""
    for block in re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = block.rstrip().splitlines()
        yield _case(head, [line for line in lines if line.strip()])


def _case(head: str, lines: list[str]) -> Case:
    where, _, misreading = head.partition(": ")
    name, *places = where.split()
    rules, checker, evidence, batches = RULES, {}, {}, dict[str, Batch]()
    sides: dict[str, list[Event]] = {"-": [], "+": []}
    for line in lines:
        word, *rest = line[1:].split()
        settings = {key: _plain(text) for key, _, text in (each.partition("=") for each in rest)}
        if word == "rules":
            rules = RULES.with_values(settings)
        elif word == "shows":
            evidence = dict(each.split("=", 1) for each in rest)
        elif word == "earlier":
            checker["earlier"] = [RULES.with_values(settings)]
        elif word == "checker":
            checker |= settings
        else:
            for side in sides if line[0] == " " else line[0]:
                sides[side] += _events(batches, word, rest)
    return Case(name, places, evidence, misreading, sides["-"], sides["+"], rules, checker)


def _plain(text: str) -> Any:
    return _NO_WORDS.get(text, int(text) if re.fullmatch(r"-?\d+", text) else text)


def _events(batches: dict[str, Batch], word: str, rest: list[str]) -> list[Event]:
    """What one line says; batches that were met before are the same ones."""
    told = [each for each in rest if "=" not in each.partition(":")[0]]
    named = {key: text for key, _, text in (e.partition("=") for e in rest if e not in told)}
    if word == "cluster":
        return events.cluster(*told, isr=_items(named.get("isr", "-")))
    if word == "append":
        return events.appended(told[0], *[_batch(batches, each) for each in told[1:]])
    if word == "copy":
        follower, leader, at, *copies = told
        end = None if "end" not in named else int(named["end"])
        copied = [_batch(batches, each) for each in copies]
        return [events.copied(follower, leader, int(at), *copied, end=end)]
    if word == "commit":
        return [events.committed(told[0], int(told[1]))]
    if word == "rest":
        return [events.at_rest(told[0])]
    if word == "clean":
        given = {
            "horizons": _value(batches, named.pop("horizons", "-"), tuple[tuple[int, int], ...]),
            "emptied": _value(batches, named.pop("emptied", "-"), tuple[int, ...]),
            **{key: int(text) for key, text in named.items()},
        }
        return [events.cleaned(told[0], int(told[1]), *map(_removal, told[2:]), **given)]
    kind = KINDS[word]
    hints = get_type_hints(kind)
    values = dict(zip(kind._fields, told, strict=False)) | named
    return [kind(**{key: _value(batches, text, hints[key]) for key, text in values.items()})]


def _items(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def _value(batches: dict[str, Batch], text: str, hint: Any) -> Any:
    """A value of an event by what it has to be."""
    inner, *more = get_args(hint) or (None,)
    if hint is Batch:
        return _batch(batches, text)
    if hint is str:
        return text.strip("'")
    if not more or more[0] is not Ellipsis:  # a number, a flag, or one of some words
        return text if isinstance(inner, str) else _plain(text)
    if inner is Batch:
        return tuple(_batch(batches, each) for each in _items(text))
    if inner is Record:
        return tuple(_batch(batches, each).records[0] for each in _items(text))
    if inner is Removal:
        return tuple(map(_removal, _items(text)))
    if inner in (int, str):
        return tuple(inner(each) for each in _items(text))
    of = get_args(inner) or (int, int)
    pairs = [
        [kind(part) for kind, part in zip(of, each.split(":"), strict=True)]
        for each in _items(text)
    ]
    return tuple(tuple(pair) if get_args(inner) else inner(*pair) for pair in pairs)


def _removal(text: str) -> Removal:
    offset, key, uid, winner, reason = _REMOVAL.fullmatch(text).groups()
    beaten_by = None if winner is None else int(winner)
    uid = uid or 100 + int(offset)
    return Removal(int(offset), int(uid), key or None, reason or "superseded", beaten_by)


def _batch(batches: dict[str, Batch], text: str) -> Batch:
    if text not in batches:
        batches[text] = _made(text)
    return batches[text]


def _made(text: str) -> Batch:
    offset, key, options = _BATCH.fullmatch(text).groups()
    given = {sign or mark: told for sign, told, mark in _OPTION.findall(options)}
    number = {
        sign: int(told)
        for sign, told in given.items()
        if re.fullmatch(r"-?\d+", told) and sign != "="
    }
    first, epoch, producer = int(offset), number.get("^", 1), number.get("~", -1)
    uid, at_ms = number.get("#", 100 + first), number.get("@", 0)
    if key in Control.__members__:
        control = Control[key]
        made = control_batch(
            first, epoch=epoch, control=control, timestamp_ms=at_ms, producer_id=producer, uid=uid
        )
    else:
        value = None if "!" in given else given.get("=", "v")
        flagged = True if "+" in given else None if "?" in given else False
        made = data_batch(
            tuple(
                Record(first + i, key or None, value, at_ms, (), flagged, uid + i)
                for i in range(number.get("*", 1))
            ),
            epoch=epoch,
            producer_id=producer,
            producer_epoch=number.get("&", -1),
            base_sequence=number.get("$", -1),
            transactional="~" in given and "$" not in given,
        )
    return made._replace(delete_horizon_ms=number.get("%"))
