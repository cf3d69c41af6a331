"""Expectations of log files, compared with the answers in the fields that they claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sim.check import Violation
from sim.errors import did_you_mean
from sim.files.document import Document, Place, as_list, as_object, listed, shown
from sim.files.foreign import one_line
from sim.simulate.logfile.answer import answer_to, step_answer
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import EligibleFile, eligible_file_in, is_eligible_document
from sim.simulate.logfile.file import LogFile, log_file_in, read_log_document
from sim.simulate.logfile.run import run_steps

_ASKED = ("surviving_keys", "first_batch_last_offset")
"""Fields that an expectation may claim, and that no answer shows."""
_BY_OUTCOME = (
    *("uncleanable", "failed_at", "failure", "swapped_segments", "counted_as_aborted"),
    *("first_offset", "last_offset", "magic"),
)
"""Fields that an answer has or lacks by what the step found: a claim of one that is not there is a
difference."""
_BY_NAME = ("removed", "last_sequences", "counted_as_aborted")
"""Fields whose own fields are offsets or producers."""
MUST_NOT_INCLUDE = "surviving_keys_must_not_include"
NOTE = "note"


@dataclass(frozen=True, slots=True)
class Checked:
    """A log file of either kind, answered and compared.

    Attributes:
        id: Its `id`, else the name of the file.
        title: Its `title`.
        command: The command that answers it: `replog clean` or `replog eligible`.
        differences: Where the answer is not what its `expect` says, a line each; empty if it is. A
            file without `expect` only expects to be valid.
        notes: Notes on settings that change nothing.
    """

    verdict: ClassVar[str] = "holds"
    reason: ClassVar[str | None] = None
    violations: ClassVar[tuple[Violation, ...]] = ()
    id: str
    title: str
    command: str
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Exit status: 0 if the answer is as expected, else 1."""
        return 1 if self.differences else 0


def checked(path: Path, *, rules: Mapping[str, object] | None = None) -> Checked:
    """Answers a log file and compares the answer with `expect`; `rules` replace its own.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`; the expectation may be what is wrong.
    """
    document = read_log_document(path)
    if is_eligible_document(document):
        command, choice = "eligible", eligible_file_in(document, rules=rules)
        notes, found = choice.notes, differences_of_choice(choice, document)[1]
    else:
        command, file = "clean", log_file_in(document, rules=rules)
        notes, found = file.notes, differences_of_steps(file, document)[1]
    title = str(document.data.get("title") or "")
    name = _id_of(document, path)
    return Checked(name, title, f"replog {command}", tuple(found), notes)


def read_and_check(path: Path) -> str:
    """Id of a log file of either kind, which is read and checked but not answered.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`.
    """
    document = read_log_document(path)
    if is_eligible_document(document):
        eligible_file_in(document)
    else:
        log_file_in(document)
    return _id_of(document, path)


def _id_of(document: Document, path: Path) -> str:
    return str(document.data.get("id") or one_line(path.stem))


def differences_of_choice(
    file: EligibleFile, document: Document
) -> tuple[dict[str, Any], list[str]]:
    """The answer about logs to choose from, and its differences from `expect`.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`, of the expectation.
    """
    answer = eligible_answer(select_log(file.logs, now_ms=file.now_ms))
    expected = document.data.get("expect")
    if expected is None:
        return answer, []
    return answer, list(_differ(answer, expected, "", document.top.at("expect")))


def differences_of_steps(file: LogFile, document: Document) -> tuple[dict[str, Any], list[str]]:
    """The answers to the steps of a log file, and their differences from `expect`.

    A difference is a line such as `steps[0].x is 1, expected 2`.

    Raises:
        BadInput: `file: path: what is wrong (line 7)`, of the expectation.
    """
    expected, place = document.data.get("expect"), document.top.at("expect")
    if expected is None:
        return answer_to(file), []
    facts = list(_facts(file))
    answer = {"steps": [{n: v for n, v in fact.items() if n not in _ASKED} for fact in facts]}
    if not isinstance(expected, list) or len(expected) != len(facts):
        place.fail(f"expected a list of {len(facts)} objects, one for each step")
    found: list[str] = []
    for number, (fact, claims) in enumerate(zip(facts, expected, strict=True)):
        found += _differ_in_step(fact, claims, f"steps[{number}]", place.at(number))
    return answer, found


def _facts(file: LogFile) -> Iterator[dict[str, Any]]:
    """Answers to the steps, with the fields that only an expectation asks for."""
    for result in run_steps(file):
        batches = list(result.log.batches())
        yield step_answer(result, file) | {
            "surviving_keys": [
                record.key
                for batch in batches
                if batch.control is None
                for record in batch.records
                if record.key is not None and record.value is not None
            ],
            "first_batch_last_offset": batches[0].last_offset if batches else None,
        }


def _differ_in_step(fact: dict[str, Any], claims: Any, path: str, place: Place) -> Iterator[str]:
    claims = as_object(claims, place)
    forbidden = as_list(claims.get(MUST_NOT_INCLUDE, []), place.at(MUST_NOT_INCLUDE))
    rest = {name: claim for name, claim in claims.items() if name not in (MUST_NOT_INCLUDE, NOTE)}
    yield from _differ(fact, rest, path, place, also=(MUST_NOT_INCLUDE, NOTE))
    left = [key for key in forbidden if key in fact["surviving_keys"]]
    if left:
        yield f"{path}.surviving_keys includes {shown(left)}, expected none of these"


def _differ(
    have: Any, want: Any, path: str, place: Place, *, also: tuple[str, ...] = ()
) -> Iterator[str]:
    """Differences of `have` from `want`; an object may have more fields, a list no more items.

    `path` leads to the value in the answer, `place` to the claim in the file. A field that the
    answer does not have raises BadInput, but of `_BY_OUTCOME` and in `_BY_NAME`; the message names
    those in `also` as allowed, too.
    """
    if isinstance(want, dict) and isinstance(have, dict):
        for name, claim in want.items():
            if not (name in have or name in _BY_OUTCOME or path.endswith(_BY_NAME)):
                known = [*have, *also]
                text = f"no answer has this{did_you_mean(name, known)}; allowed: {listed(known)}"
                place.at(name).fail(text)
            way = f"{path}.{name}" if path else name
            yield from _differ(have.get(name), claim, way, place.at(name))
    elif isinstance(want, list) and isinstance(have, list) and want and isinstance(want[0], dict):
        if len(have) != len(want):
            yield f"{path} has {len(have)} items, expected {len(want)}: {shown(have)}"
            return
        for index, (one, claim) in enumerate(zip(have, want, strict=True)):
            yield from _differ(one, claim, f"{path}[{index}]", place.at(index))
    elif have != want or isinstance(have, bool) != isinstance(want, bool):
        yield f"{path} is {shown(have)}, expected {shown(want)}"
