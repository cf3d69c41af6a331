"""A log file whose answer is not what it expects: with the answer, and a page of both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.diagnose.failures.failure import EXPLANATION, Failure
from sim.diagnose.failures.pages import first, log_page
from sim.files.document import Document
from sim.files.foreign.documents import json_text
from sim.files.foreign.lines import LONGEST, one_line
from sim.files.foreign.markdown import block

if TYPE_CHECKING:
    from sim.study.suite.result import CaseResult

LOG, ANSWER, PAGE = "log", "answer.json", "page.html"


@dataclass(frozen=True, kw_only=True)
class LogFailure(Failure):
    """A log file that was not answered as it expects.

    Attributes:
        command: What runs it again, in its folder.
        text: The file as it stands.
        suffix: Of its name.
        answer: What came of it, as `--json` prints it.
        told: The same in words, a line each.
        why: What became of the records that were missed, a sentence each.
    """

    command: str
    text: str
    suffix: str
    answer: Mapping[str, Any]
    told: tuple[str, ...]
    why: tuple[str, ...]

    @property
    def about(self) -> str:
        """Always the same: a log file has no invariants."""
        return "not-as-expected"

    @property
    def sentence(self) -> str:
        """What went wrong, in one line."""
        return self.missed[0]

    def explanation(self) -> list[str]:
        """Why, a line each."""
        return [*self.missed, *map(one_line, self.why)]

    def rows(self) -> dict[str, str]:
        """A log file has no facts of this kind."""
        return {}

    def document(self) -> dict[str, Any]:
        """What a machine needs to know of it beside what is the same for all."""
        return {
            "invariant": None,
            "cause": "",
            "verdict": "holds",
            "digest": blake2b(self.text.encode(), digest_size=16).hexdigest(),
        }

    def texts(self, folder: Path) -> dict[str, str]:
        """The log file, what was answered, and a page of both."""
        name, answered = f"{LOG}{self.suffix}", json_text(self.answer, indent=2) + "\n"
        page = log_page(
            self.title or self.id,
            missed=first(self.not_as_expected, EXPLANATION),
            why=self.why,
            told=first(self.told, ANSWER),
            file=first(self.text.split("\n"), name),
        )
        return {PAGE: page, name: self.text, ANSWER: answered}

    def shown(self, texts: Mapping[str, str]) -> list[str]:
        """What came of the file, and why."""
        return [
            f"What came of it ([as a page]({PAGE}), [with all numbers]({ANSWER})):",
            block(first(self.told, ANSWER), language="text"),
            f"What was missed:\n\n{block(first(self.explanation(), EXPLANATION), language='text')}",
        ]


def log_failure(result: CaseResult, file: Path) -> LogFailure:
    """What the folder of a red log file is made of; `file` is what people call it.

    Raises:
        BadInput: The file cannot be read any more.
    """
    from sim.files.opening import read_text
    from sim.simulate.logfile.file import read_log_document

    suffix = ".json" if result.path.suffix == ".json" else ".yaml"
    document = read_log_document(result.path)
    answer, told = _answered(document)
    return LogFailure(
        id=result.id,
        title=result.title,
        file=file,
        expected=one_line(json_text(document.data.get("expect")), longest=LONGEST),
        missed=tuple(map(one_line, result.complaints)),
        made_by=result.command,
        command=result._replace(path=Path(f"{LOG}{suffix}")).command,
        text=read_text(result.path),
        suffix=suffix,
        answer=answer,
        told=tuple(told),
        why=result.why,
    )


def _answered(document: Document) -> tuple[dict[str, Any], Iterator[str]]:
    """What comes of a log file, as JSON and in words."""
    from sim.simulate.logfile.answer import answer_to
    from sim.simulate.logfile.eligible import eligible_answer, select_log
    from sim.simulate.logfile.eligible_file import eligible_file_in, is_eligible_document
    from sim.simulate.logfile.file import log_file_in
    from sim.simulate.logfile.text import log_lines

    if is_eligible_document(document):
        choice = eligible_file_in(document)
        chosen = eligible_answer(select_log(choice.logs, now_ms=choice.now_ms))
        return chosen, (one_line(f"{name}: {one['why']}") for name, one in chosen["logs"].items())
    file = log_file_in(document)
    answer = answer_to(file)
    steps = enumerate(zip(file.steps, answer["steps"], strict=True), start=1)
    return answer, (
        one_line(line) for number, (step, said) in steps for line in log_lines(number, step, said)
    )
