"""Failures: runs and log files that miss what was expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.check import Violation
from sim.check.violation import unexpected
from sim.diagnose.draw import DrawnCase, html, strip, svg
from sim.diagnose.explain.signature import signature_of
from sim.files import markdown
from sim.files.document import Document
from sim.files.foreign import LONGEST, LONGEST_BYTES, file_name, json_text, one_line
from sim.files.markdown import block, text
from sim.protocol.rules.spec import RuleValue
from sim.simulate.run import Run
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate.mix import Mix

if TYPE_CHECKING:
    from sim.study.suite.result import CaseResult

LINES_MAX = 200
"""How many lines of a list or a file a `README.md` shows."""
PAGE = "picture.html"


def first(lines: Sequence[str], file: str) -> list[str]:
    """The first lines of many, and a last one that names the file with the others."""
    left = len(lines) - LINES_MAX
    cut = [one_line(line, longest=LONGEST) for line in lines[:LINES_MAX]]
    return [*cut, *([f"and {left:,} lines more: {file}"] if left > 0 else [])]


SENTENCE, EXPLANATION, COMMAND = "sentence.txt", "explanation.txt", "command.txt"
SCENARIO, TRACE = "scenario.yaml", "trace.ndjson"
STRIP, PICTURE = "strip.txt", "picture.svg"
SHRUNK, SHRUNK_PICTURE = "shrunk.yaml", "shrunk.svg"
LOG, ANSWER = "log", "answer.json"
STRIP_WIDTH = 120


@dataclass(frozen=True, kw_only=True)
class _Failure:
    """The common part of all failures.

    Attributes:
        id: Id of the scenario or log file, or of the run in a sweep.
        title: Title of the scenario; may be empty.
        file: Path of its file, as given to the command; None without a file.
        expected: Expectation in one line.
        missed: Lines about unmet expectations.
        made_by: Command that found it; None without one.
        command: Command that runs it again, in its folder.
    """

    id: str
    title: str
    file: Path | None
    expected: str
    missed: tuple[str, ...]
    made_by: str | None
    command: str

    @property
    def name(self) -> str:
        """The name of its folder, made of the file, the case, and how it failed.

        The path is part of it, so that files of one name differ; of a long one the end is kept.
        """
        words = [self.id, self.about]
        if self.file is not None:
            parts = [part for part in self.file.with_suffix("").parts if part not in ("/", "..")]
            words = [*parts, *([] if self.id == self.file.stem else [self.id]), self.about]
        text = "-".join(words)
        while len(text.encode("utf-8", "replace")) > LONGEST_BYTES:
            text = text[max(len(text) // 20, 1) :]
        return file_name(text, instead="failure")

    @property
    def about(self) -> str:
        """The kind of failure, as a part of the folder's name."""
        return "not-as-expected"

    def rows(self) -> dict[str, str]:
        """Further rows of the table in `README.md`, as Markdown; empty ones are left out."""
        return {}


@dataclass(frozen=True, kw_only=True)
class RunFailure(_Failure):
    """A run that violates something, or misses an expectation.

    Attributes:
        run: The run, compared with what its scenario expects.
        violation: Violation that the folder is about; None if only an expectation is unmet.
        mix: Mix that its scenario was drawn from; None for a file, or a story.
        changed_rules: Name -> value of the rules with another value than the default.
        scenario: Function from a folder to the text of the scenario file for it, which names a
            file of changes relative to the folder.
        shrunk: Function that makes files about the smallest example: name -> text. It may take
            seconds.
    """

    run: Run
    violation: Violation | None
    mix: Mix | None
    changed_rules: Mapping[str, RuleValue]
    scenario: Callable[[Path], str]
    shrunk: Callable[[], Mapping[str, str]]

    @property
    def about(self) -> str:
        """The violated invariant, or the kind of failure without one."""
        if self.violation is not None:
            return self.violation.invariant
        return "not-as-expected" if self.run.differences else self.run.verdict

    @property
    def sentence(self) -> str:
        """The violation, or the first unmet expectation, in one line."""
        if self.violation is None:
            return one_line(self.missed[0])
        when = self.run.when(self.violation)
        return f"{self.violation.invariant} at {when}: {self.violation.sentence}"

    @cached_property
    def case(self) -> DrawnCase:
        """The run and its violation, folded once for the pictures and the explanation."""
        return DrawnCase.of(self.run, self.violation, missed=not_as_expected(self.run))

    @cached_property
    def cause(self) -> str:
        """The signature of the violation as text; empty without one."""
        if self.violation is None:
            return ""
        return str(signature_of(self.case.logs, self.violation))

    @cached_property
    def explanation(self) -> list[str]:
        """The unmet expectations, then the explanation of the violation, as lines."""
        shown = {unexpected(found.invariant) for found in self.run.violations}
        lines = [line for line in self.missed if line not in shown]
        if self.violation is not None:
            lines += self.case.explained(self.violation).lines
        return lines

    def rows(self) -> dict[str, str]:
        """Further rows of the table in `README.md`, as Markdown."""
        rules = ", ".join(f"{name}={value}" for name, value in self.changed_rules.items())
        run, seed = self.run, self.run.content.seed
        return {
            "verdict": text(run.verdict + (f" ({run.reason})" if run.reason else "")),
            "cause": text(self.cause),
            "violated": text(", ".join(dict.fromkeys(one.invariant for one in run.violations))),
            "note": text("; ".join(run.notes)),
            "rules": markdown.code(rules) if rules else "the defaults",
            "seed": "none: a story has no randomness" if seed is None else str(seed),
            "digest": f"`{run.digest}`",
        }

    def document(self) -> dict[str, Any]:
        """The fields of `failure.json` that only runs have."""
        return {
            "invariant": None if self.violation is None else self.violation.invariant,
            "cause": self.cause,
            "seed": self.run.content.seed,
            "verdict": self.run.verdict,
            "notes": list(self.run.notes),
            "rules": dict(self.changed_rules),
            "events": len(self.run.events),
            "digest": self.run.digest,
        }

    def texts(self, folder: Path) -> dict[str, str]:
        """Name -> text of the files: the scenario, the pictures, the smallest example."""
        return {
            SCENARIO: self.scenario(folder),
            **self._pictures(),
            **self.shrunk(),
            TRACE: b"".join(trace_lines(self.run, mix=self.mix)).decode(),
        }

    def shown(self, texts: Mapping[str, str]) -> list[str]:
        """The parts of `README.md` that only runs have: pictures, explanation, smallest example."""
        shrunk: list[str] = []
        if SHRUNK in texts:
            shrunk = ["The smallest example of the same failure:", _file(texts[SHRUNK])]
            shrunk.append(f"![the logs of its replicas]({SHRUNK_PICTURE})")
        return [
            "The logs of all replicas ([to step through](picture.html)):"
            if PAGE in texts
            else "The logs of all replicas:",
            f"![the logs of all replicas, and the messages that led there]({PICTURE})",
            _file(texts[STRIP]),
            f"Explanation:\n\n{_file(texts[EXPLANATION])}",
            *shrunk,
        ]

    def _pictures(self) -> dict[str, str]:
        """Name -> text of the pictures; the page only if jinja2 is installed."""
        run, title = self.run, self.title or self.id
        found = {
            STRIP: strip(self.case, STRIP_WIDTH) + "\n",
            PICTURE: svg(self.case, title=title, unit=run.unit),
        }
        if find_spec("jinja2") is not None:
            found[PAGE] = html(self.case, title=title, unit=run.unit, command=self.command)
        return found


def expectation(expect: Any) -> str:
    """Words the expectation of a story or a timed scenario in one line."""
    return "; ".join(_expected(expect))


def _expected(expect: Any) -> Iterator[str]:
    yield f"violated: {', '.join(expect.violated)}" if expect.violated else "holds"
    for name, what in (("reached", "reached"), ("unreached", "not reached")):
        if found := getattr(expect, name, ()):
            yield f"{what}: {', '.join(found)}"
    if getattr(expect, "leader", None) is not None:
        yield f"leader: {expect.leader}"
    yield from _claimed("", getattr(expect, "replicas", {}))
    for moment, claims in getattr(expect, "moments", {}).items():
        yield from _claimed(f"{moment}: ", claims)


def _claimed(at: str, claims: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for replica, parts in claims.items():
        yield f"{at}{replica}: {', '.join(f'{part} {value}' for part, value in parts.items())}"


def not_as_expected(run: Run) -> list[str]:
    """Lines about the expectation of a run's scenario, then about the differences."""
    lines = (f"expected: {expectation(run.content.expect)}", *missed(run))
    return [one_line(line, longest=LONGEST) for line in lines]


def missed(run: Run) -> tuple[str, ...]:
    """Lines about the differences of a run from its expectation; first that it is inconclusive."""
    unknown = run.verdict == "inconclusive" and not run.settled
    reason = [f"{run.verdict}: {run.reason}"] if unknown else []
    return tuple(map(one_line, [*reason, *run.differences]))


def _file(content: str) -> str:
    """Quotes a file of text in Markdown."""
    return block(content.rstrip().split("\n"), language="text")


@dataclass(frozen=True, kw_only=True)
class LogFailure(_Failure):
    """A log file whose answer differs from its expectation.

    Attributes:
        text: Text of the file.
        suffix: Suffix of its name.
        answer: Answer as `--json` prints it.
        lines: Answer in words, a line each.
        why: Sentences about the fate of the records concerned.
    """

    text: str
    suffix: str
    answer: Mapping[str, Any]
    lines: tuple[str, ...]
    why: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The first unmet expectation, in one line."""
        return self.missed[0]

    @property
    def explanation(self) -> list[str]:
        """The unmet expectations, then the fates of the records concerned, as lines."""
        return [*self.missed, *map(one_line, self.why)]

    def document(self) -> dict[str, Any]:
        """The fields of `failure.json` that differ from those of runs."""
        return {
            "invariant": None,
            "cause": "",
            "verdict": "holds",
            "digest": blake2b(self.text.encode(), digest_size=16).hexdigest(),
        }

    def texts(self, folder: Path) -> dict[str, str]:
        """Name -> text of the files: the log file and the answer."""
        answered = json_text(self.answer, indent=2) + "\n"
        return {f"{LOG}{self.suffix}": self.text, ANSWER: answered}

    def shown(self, texts: Mapping[str, str]) -> list[str]:
        """The parts of `README.md` that only log files have: the answer, and what was missed."""
        return [
            f"The answer ([with all numbers]({ANSWER})):",
            block(first(self.lines, ANSWER), language="text"),
            f"What was missed:\n\n{block(first(self.explanation, EXPLANATION), language='text')}",
        ]


def log_failure(result: CaseResult, file: Path) -> LogFailure:
    """Makes the failure of a red log file; `file` is its path as given to the command.

    Raises:
        BadInput: The file is no longer readable.
    """
    from sim.files.reading import read_text
    from sim.simulate.logfile.file import read_log_document

    suffix = ".json" if result.path.suffix == ".json" else ".yaml"
    document = read_log_document(result.path)
    answer, lines = _answered(document)
    return LogFailure(
        id=result.id,
        title=result.outcome.title,
        file=file,
        expected=one_line(json_text(document.data.get("expect")), longest=LONGEST),
        missed=tuple(map(one_line, result.complaints)),
        made_by=result.command,
        command=result._replace(path=Path(f"{LOG}{suffix}")).command,
        text=read_text(result.path),
        suffix=suffix,
        answer=answer,
        lines=tuple(lines),
        why=result.why,
    )


def _answered(document: Document) -> tuple[dict[str, Any], Iterator[str]]:
    """Answers a log file, as JSON and in words."""
    from sim.simulate.logfile.answer import answer_to, log_lines
    from sim.simulate.logfile.eligible import eligible_answer, select_log
    from sim.simulate.logfile.eligible_file import eligible_file_in, is_eligible_document
    from sim.simulate.logfile.file import log_file_in

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


Failure = RunFailure | LogFailure
"""A failure of a run or of a log file."""
