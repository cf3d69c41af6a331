"""Cases as texts: events, one a line; of the invariants, events that violate one, and that do not.

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
run, `checker` what else the checker is told, and `asked` in which transaction a value is sent: its
producer, its number, and what is asked for, as in `v1=7.1.commit`. A line `is` has a question to
the history and the answer. With a line `at` later events happen at that time, in ms; without one
each is a step. What a block `start` has all later ones of its file begin with.

A line is the name of an event with its values in order, or by name; `cluster`, `append`, `copy`,
`commit`, `clean` and `rest` are those of `tests.check.events`. Values of tuples are joined by
commas, `-` is an empty one, '' an empty text, REBUILT that reason. A removal is `0:k>1`, beaten by
the record at 1, or `0:k/tombstone`.

A batch is `offset:key` and what is special about it: `!` is a tombstone, `=v` its value, `#9` its
uid, `^2` its epoch, `~7` a transaction of producer 7, `@5` its timestamp, `%100` its delete
horizon, `+` flagged as a delete, `?` without a flag, `$3` its sequence number in producer epoch
`&1`, `*2` how many records it has, `*0` that all are gone; `0:COMMIT~7` is a marker. The same text
is the same batch.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_type_hints

from msgspec.structs import replace

from sim.check import Checker
from sim.check.facts import ReplicaView
from sim.check.violation import RecordSeen
from sim.protocol import events as trace
from sim.protocol.events import Cleaned, Event, Removal
from sim.protocol.log import Batch, Control, Record, control_batch, data_batch
from sim.protocol.rules import Rules
from tests.check import events
from tests.check.events import RULES

FOLDER = Path(__file__).parent
KINDS: dict[str, Any] = {name: kind for kind, name in trace.NAMES.items()}
_BATCH = re.compile(r"(\d+):(\w*)((?:[!+?]|[=#^~@%$&*][+-]?\w+)*)")
_OPTION = re.compile(r"([=#^~@%$&*])([+-]?\w+)|([!+?])")
_REMOVAL = re.compile(r"(\d+):(\w*)(?:#(\d+))?(?:>(\d+))?(?:/(\w+))?")
_NO_WORDS = {"yes": True, "no": False, "none": None}
_SHORT = {"end": "log_end_offset", "hw": "high_watermark", "protected": "protected_offset"}


@dataclass
class Case:
    """What a block tells.

    Attributes:
        head: Its first line.
        rules: Of the run.
        checker: What else the checker is told.
        notes: The words of lines that are no events, by their first one.
        sides: `-` and `+` -> (time, or None, and event).
        batches: By their text.
    """

    head: str = ""
    rules: Rules = RULES
    checker: dict[str, Any] = field(default_factory=dict)
    notes: defaultdict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    sides: dict[str, list[tuple[int | None, Event]]] = field(
        default_factory=lambda: {"-": [], "+": []}
    )
    batches: dict[str, Batch] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The first word of its head: what is judged."""
        return self.head.split()[0].rstrip(":")

    @property
    def places(self) -> list[str]:
        """The places of its violations."""
        return self.head.partition(": ")[0].split()[1:]

    def happened(self, side: str = "-") -> list[tuple[int, Event]]:
        """(time, event) of a side; where no time is told it is the number of the event."""
        told = enumerate(self.sides[side], start=1)
        return [(number if at is None else at, event) for number, (at, event) in told]

    def checked(self, *names: str, side: str = "-") -> Checker:
        """A checker of these invariants that has taken what happened."""
        checker = Checker(self.rules, names, **self.checker)
        for at, event in self.happened(side):
            checker.on(at, event)
        return checker


def cases_of(path: str, folder: Path = FOLDER) -> list[Case]:
    """The cases of the files of a pattern, in order."""
    found: list[Case] = []
    for file in sorted(folder.glob(path)):
        start = Case()
        for block in re.split(r"^#", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head, *lines = block.splitlines()
            begun = {side: [*told] for side, told in start.sides.items()}
            case = Case(head.strip(), start.rules, sides=begun, batches={**start.batches})
            _take(case, [line for line in lines if line.strip()])
            if case.head == "start":
                start = case
            else:
                found.append(case)
    return found


def _take(case: Case, lines: list[str]) -> None:
    at: dict[str, int] = {}
    for line in lines:
        word, *rest = line[1:].split()
        sides = "-+" if line[0] == " " else line[0]
        settings = {key: _plain(text) for key, _, text in (each.partition("=") for each in rest)}
        if word == "rules":
            case.rules = case.rules.with_values(settings)
        elif word == "earlier":
            case.checker["earlier"] = [RULES.with_values(settings)]
        elif word == "checker":
            case.checker |= settings
        elif word == "asked":
            sent = {value: text.split(".") for value, text in settings.items()}
            case.checker["asked"] = {
                value: (int(producer), int(number), how == "commit")
                for value, (producer, number, how) in sent.items()
            }
        elif word in ("shows", "is", "places", "patience"):
            case.notes[word].append(rest)
        elif word == "at":
            at |= dict.fromkeys(sides, int(rest[0]))
        else:
            told = _events(case.batches, word, rest)
            for side in sides:
                case.sides[side] += [(at.get(side), event) for event in told]


def place(replica: str | None, offset: int | None, key: str | None = None) -> str:
    """The place of a violation, as the head of a case names it."""
    return (replica or "") + ("" if offset is None else f"@{offset}") + (f":{key}" if key else "")


def shown(value: Any) -> str:
    """A value as texts have it: records by uid, replicas by name, no blanks."""
    if isinstance(value, RecordSeen):
        return f"#{value.uid}"
    if isinstance(value, ReplicaView):
        return value.name
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, tuple | list | set):
        parts = [":".join(map(shown, one)) if type(one) is tuple else shown(one) for one in value]
        return ",".join(parts) or "-"
    return str(value).replace(" ", "_")


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
        made = events.cleaned(told[0], int(told[1]), *map(_removal, told[2:]))
        given = {_SHORT.get(name, name): text for name, text in named.items()}
        return [replace(made, **_values(batches, Cleaned, given))]
    kind = KINDS[word]
    return [
        kind(
            **_values(batches, kind, dict(zip(kind.__struct_fields__, told, strict=False)) | named)
        )
    ]


def _values(batches: dict[str, Batch], kind: Any, texts: dict[str, str]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {name: _value(batches, text, hints[name]) for name, text in texts.items()}


def _items(text: str) -> list[str]:
    return [] if text == "-" else text.split(",")


def _value(batches: dict[str, Batch], text: str, hint: Any) -> Any:
    """A value of an event by what it has to be."""
    inner, *more = get_args(hint) or (None,)
    if hint is Batch:
        return _batch(batches, text)
    if hint is str:
        return getattr(trace, text, text) if text.isupper() else text.strip("'")
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
                for i in range(number.get("*", 1) or 1)
            ),
            epoch=epoch,
            producer_id=producer,
            producer_epoch=number.get("&", -1),
            base_sequence=number.get("$", -1),
            transactional="~" in given and "$" not in given,
        )
    left = () if number.get("*") == 0 else made.records
    return replace(made, delete_horizon_ms=number.get("%"), records=left)
