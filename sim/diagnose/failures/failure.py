"""What a failure is made of, and what is said about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.files.foreign.lines import LONGEST, one_line
from sim.files.foreign.names import LONGEST_BYTES, file_name

SENTENCE, EXPLANATION, COMMAND = "sentence.txt", "explanation.txt", "command.txt"


@dataclass(frozen=True, kw_only=True)
class Failure(ABC):
    """Something that is not as it should be; what it is about, subclasses know.

    Attributes:
        id: What the case calls itself, or the run in a sweep.
        title: The scenario's; may be empty.
        file: The file it stands in, as people name it where the command was started; None = in
            none.
        expected: What was expected, in one line.
        missed: Where it is not so, a line each.
        made_by: The command that found it; None = there is none.
        command: What runs it again, in its folder.
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
        """The name of its folder: which file and case failed, and how.

        Files of one name in two folders have two; of a long path the end is kept.
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
    @abstractmethod
    def about(self) -> str:
        """What failed in one word: an invariant, `not-as-expected`, `inconclusive`."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What went wrong, in one line."""

    @abstractmethod
    def explanation(self) -> list[str]:
        """Why, a line each."""

    @abstractmethod
    def rows(self) -> dict[str, str]:
        """Facts about it by their names, as Markdown; empty ones are left out."""

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """What a machine needs to know of it beside what is the same for all."""

    @abstractmethod
    def texts(self, folder: Path) -> dict[str, str]:
        """The files that only this kind of failure has, for a folder in `folder`."""

    @abstractmethod
    def shown(self, texts: Mapping[str, str]) -> list[str]:
        """What the `README.md` shows of these files, as Markdown, between sentence and reasons."""

    def write(self, folder: Path) -> None:  # noqa: B027 - most kinds have none
        """Write what is no text that is at hand: a trace."""

    @property
    def not_as_expected(self) -> list[str]:
        """What was expected, then what was missed, a line each."""
        told = [f"expected: {self.expected}", *self.missed]
        return [one_line(line, longest=LONGEST) for line in told]
