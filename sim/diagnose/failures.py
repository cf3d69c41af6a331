"""Folders of failures: the files with which to study a failure, run it again, and send it on.

`save_failure` writes a folder with the scenario, its trace, pictures, a `README.md` with the unmet
expectations, the sentence, the explanation and the command, and, for programs, `failure.json`. A
folder is written as a whole or not at all, and never over another one.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.check import Violation
from sim.check.violation import unexpected
from sim.diagnose.draw import DrawnCase, html, strip, svg
from sim.diagnose.explain.questions import signature_of
from sim.errors import BadInput
from sim.files import markdown
from sim.files.foreign import (
    LONGEST,
    LONGEST_BYTES,
    file_name,
    json_text,
    one_line,
    readable,
)
from sim.files.markdown import block, text
from sim.files.reading import read_json
from sim.plugins import as_options, command_of
from sim.protocol.rules.spec import RuleValue
from sim.simulate.run import Run, run_of
from sim.simulate.run.trace_file import trace_lines

if TYPE_CHECKING:
    from sim.simulate.scenario.generate.mix import Mix

PAGE = "picture.html"
SCENARIO, TRACE = "scenario.yaml", "trace.ndjson"
PICTURE = "picture.svg"
SHRUNK, SHRUNK_PICTURE = "shrunk.yaml", "shrunk.svg"
DOCUMENT = "failure.json"
SHRINK_S = 5.0
"""Seconds that shrinking a failure for its folder may take; most need less than one."""


@dataclass(frozen=True, kw_only=True)
class RunFailure:
    """A run that violates something, or misses an expectation.

    Attributes:
        id: Id of the scenario, or of the run in a sweep.
        file: Path of its file, as given to the command; None without a file.
        made_by: Command that found it; None without one.
        run: The run, compared with what its scenario expects.
        violation: Violation that the folder is about; None if only an expectation is unmet.
        mix: Mix that its scenario was drawn from; None for a file, or a story.
        scenario: Function from a folder to the text of the scenario file for it, which names a
            file of changes relative to the folder.
    """

    id: str
    file: Path | None
    made_by: str | None
    run: Run
    violation: Violation | None
    mix: Mix | None
    scenario: Callable[[Path], str]

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
        """The violated invariant, or the kind of failure without one."""
        if self.violation is not None:
            return self.violation.invariant
        return "not-as-expected" if self.run.differences else self.run.verdict

    @property
    def sentence(self) -> str:
        """The violation, or the first unmet expectation, in one line."""
        if self.violation is None:
            return missed(self.run)[0]
        when = self.run.when(self.violation)
        return f"{self.violation.invariant} at {when}: {self.violation.sentence}"

    @property
    def command(self) -> str:
        """The command that runs it again, in its folder."""
        return command_of("run", SCENARIO)

    @property
    def changed_rules(self) -> dict[str, RuleValue]:
        """Name -> value of the rules with another value than the default."""
        return self.run.content.rules.differing_from(self.run.content.default_rules)

    @cached_property
    def case(self) -> DrawnCase:
        """The run and its violation, folded once for the pictures and the explanation."""
        return DrawnCase(self.run, self.violation, missed=not_as_expected(self.run))

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
        lines = [line for line in missed(self.run) if line not in shown]
        if self.violation is not None:
            lines += self.case.explained(self.violation).lines
        return lines

    def texts(self, folder: Path) -> dict[str, str]:
        """Name -> text of the files: the scenario, the pictures, the smallest example, the trace.

        The page of the run is among them only if jinja2 is installed.
        """
        run, title = self.run, self.run.title or self.id
        found = {
            SCENARIO: self.scenario(folder),
            PICTURE: svg(self.case, title=title),
        }
        if find_spec("jinja2") is not None:
            found[PAGE] = html(self.case, title=title, command=self.command)
        trace = b"".join(trace_lines(run, mix=self.mix)).decode()
        return {**found, **self.shrunk(folder), TRACE: trace}

    def shrunk(self, folder: Path) -> dict[str, str]:
        """Name -> text of the files of the smallest run that violates the same for the same cause.

        They are none for a run that was cut off, or one that violates nothing.
        """
        if self.violation is None or self.run.cut_off:
            return {}
        from sim.diagnose.shrink.engine import ShrinkBudget
        from sim.diagnose.shrink.smallest import ShrinkCase

        about, content = self.violation.invariant, self.run.content
        case = ShrinkCase(content, about, source=content.source, folder=folder)
        found = case.shrink(ShrinkBudget(SHRINK_S))
        if found.interrupted:
            raise KeyboardInterrupt
        small = run_of(case.best.value, also_check=(about,))
        shows = next(one for one in small.seen if one.invariant == about)
        picture = svg(DrawnCase(small, shows), title=str(found.signature))
        return {SHRUNK: found.text, SHRUNK_PICTURE: picture}


def expectation(expect: Any) -> str:
    """Words the expectation of a story or a timed scenario in one line."""
    said = [f"violated: {', '.join(expect.violated)}" if expect.violated else "holds"]
    for name, what in (("reached", "reached"), ("unreached", "not reached")):
        if found := getattr(expect, name, ()):
            said.append(f"{what}: {', '.join(found)}")
    if getattr(expect, "leader", None) is not None:
        said.append(f"leader: {expect.leader}")
    moments = [("", getattr(expect, "replicas", {}))]
    moments += [(f"{moment}: ", of) for moment, of in getattr(expect, "moments", {}).items()]
    for at, claims in moments:
        for replica, parts in claims.items():
            claimed = ", ".join(f"{part} {value}" for part, value in parts.items())
            said.append(f"{at}{replica}: {claimed}")
    return "; ".join(said)


def not_as_expected(run: Run) -> list[str]:
    """Lines about the expectation of a run's scenario, then about the differences."""
    lines = (f"expected: {expectation(run.content.expect)}", *missed(run))
    return [one_line(line, longest=LONGEST) for line in lines]


def missed(run: Run) -> tuple[str, ...]:
    """The unmet expectations of a run, a line each; an unexpected lack of a verdict is first."""
    unknown = run.verdict == "inconclusive" and not run.settled
    reason = [f"{run.verdict}: {run.reason}"] if unknown else []
    return tuple(map(one_line, [*reason, *run.differences]))


FILES = {
    PAGE: "the run to step through, in any browser, without a network",
    PICTURE: "the logs of all replicas, and the messages that led there",
    SCENARIO: "the scenario, with its seed and its rules",
    SHRUNK: "the smallest example of the same failure, mostly a story of a few steps",
    SHRUNK_PICTURE: "the logs of its replicas",
    TRACE: "all events, a line of JSON each",
    DOCUMENT: "the same facts as JSON",
}
"""Files that may be in the folder of a failure beside `README.md`, with their contents.

`picture.html` needs the extra `report`; the smallest example is there where an invariant is
violated."""

LINES_MAX = 200
"""How many unmet expectations a `README.md` shows."""
STRIP_WIDTH = 120

FAILURE_FORMAT = "replog-failure/1"


def save_failure(folder: Path, failure: RunFailure) -> Path:
    """Writes a failure into a folder of its own below `folder`, and returns its path.

    `folder` is created if need be. The same failure is not written twice; another one of the same
    name gets a number.

    Raises:
        BadInput: It cannot be written; nothing is left half-written.
    """
    draft: Path | None = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = _place(folder, failure)
        if not place.exists():
            draft = folder / f".{place.name}.{os.getpid()}.part"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            _write(draft, failure)
            draft.rename(place)
    except OSError as error:
        what = error.strerror or str(error)
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            what = "is a file; failures are written into folders below a folder"
        raise BadInput(f"{error.filename or folder}: {what}") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
    return place


def _place(folder: Path, failure: RunFailure) -> Path:
    """The path of the folder with this failure, or the next free one."""
    name, own = failure.name, _identity(_document(failure))
    for number in count(1):
        place = folder / (name if number == 1 else f"{name}-{number}")
        if not place.exists() or _identity(_read(place)) == own:
            return place
    raise AssertionError("the numbers have no end")


def _write(folder: Path, failure: RunFailure) -> None:
    texts = {**failure.texts(folder), DOCUMENT: ""}
    document = _document(failure) | {"files": [name for name in FILES if name in texts]}
    texts[DOCUMENT] = json_text(document, indent=2) + "\n"
    texts["README.md"] = readme(failure, texts)
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")


def readme(failure: RunFailure, texts: Mapping[str, str]) -> str:
    """Writes the `README.md` of a failure; `texts` are the other files of its folder by name."""
    run, seed = failure.run, failure.run.content.seed
    rules = ", ".join(f"{name}={value}" for name, value in failure.changed_rules.items())
    rows = {
        "title": text(run.title),
        "file": text(str(failure.file or "")),
        "expected": text(expectation(run.content.expect)),
        "verdict": text(run.verdict + (f" ({run.reason})" if run.reason else "")),
        "cause": text(failure.cause),
        "violated": text(", ".join(dict.fromkeys(one.invariant for one in run.violations))),
        "note": text("; ".join(run.notes)),
        "rules": markdown.code(rules) if rules else "the defaults",
        "seed": "none: a story has no randomness" if seed is None else str(seed),
        "digest": f"`{run.digest}`",
        "found by": markdown.code(failure.made_by) if failure.made_by else "",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items() if value]
    lines = [one_line(line, longest=LONGEST) for line in missed(run)]
    more = len(lines) - LINES_MAX
    left = [f"- and {more:,} more, in {DOCUMENT}"] if more > 0 else []
    files = [f"- [{name}]({name}): {what}" for name, what in FILES.items() if name in texts]
    parts = [
        f"# {text(failure.id)}",
        text(failure.sentence),
        "\n".join(
            ["Expectation not met:", "", *(f"- {text(line)}" for line in lines[:LINES_MAX]), *left]
        ),
        "\n".join(["| | |", "|---|---|", *table]),
        "Run it again, in this folder:",
        block([f"$ {failure.command}"], language="console"),
        f"The logs of all replicas{f' ([to step through]({PAGE}))' * (PAGE in texts)}:",
        f"![the logs of all replicas, and the messages that led there]({PICTURE})",
        block(strip(failure.case, STRIP_WIDTH).split("\n"), language="text"),
        "Explanation:",
        block(failure.explanation, language="text"),
    ]
    if SHRUNK in texts:
        parts += [
            "The smallest example of the same failure:",
            block(texts[SHRUNK].rstrip().split("\n"), language="text"),
        ]
        parts.append(f"![the logs of its replicas]({SHRUNK_PICTURE})")
    return "\n\n".join([*parts, "\n".join(["Files:", "", *files])]) + "\n"


def _document(failure: RunFailure) -> dict[str, Any]:
    """The content of `failure.json`."""
    run = failure.run
    return {
        "format": FAILURE_FORMAT,
        "id": failure.id,
        "title": run.title,
        "file": None if failure.file is None else readable(str(failure.file)),
        "sentence": failure.sentence,
        "expected": expectation(run.content.expect),
        "missed": list(missed(run)),
        "invariant": None if failure.violation is None else failure.violation.invariant,
        "cause": failure.cause,
        "seed": run.content.seed,
        "verdict": run.verdict,
        "notes": list(run.notes),
        "rules": failure.changed_rules,
        "events": len(run.events),
        "digest": run.digest,
        "plugins": as_options(),
        "made_by": failure.made_by,
        "command": failure.command,
    }


def _identity(document: dict[str, Any]) -> tuple[object, ...]:
    """The identity of a failure; the command that found it is no part of it."""
    same = ("file", "id", "sentence", "expected", "missed", "rules", "digest")
    return tuple(document.get(name) for name in same)


def _read(folder: Path) -> dict[str, Any]:
    """The content of a folder's `failure.json`; empty for any other folder."""
    try:
        document = read_json(folder / DOCUMENT).data
    except BadInput:
        return {}
    ours = isinstance(document, dict) and document.get("format") == FAILURE_FORMAT
    return document if ours else {}
