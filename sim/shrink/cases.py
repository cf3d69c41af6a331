"""What `replog shrink` needs of whatever it shrinks: a story, a timed scenario, a run of a sweep.

Each kind has a class with the shape of `Case` in a module of its own; `sim.shrink.opening` finds
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol


class Told(NamedTuple):
    """How far a shrink is.

    Attributes:
        size: Of the best so far, in the unit of the case.
        tries: Runs so far.
        write: The file of the best so far, with where the work stands; None = it is not new.
    """

    size: int
    tries: int
    write: Callable[[], str] | None


class NearMissFile(NamedTuple):
    """The file of a near miss, and the one change that it has: `fix: empty_batch`."""

    text: str
    change: str


class Outcome(NamedTuple):
    """What came of it.

    Attributes:
        id: What the result is called, and its file in a folder.
        invariant: The law that it breaks.
        sentence: How, with the numbers in it.
        size: In the unit of the case.
        tries: Runs it took.
        complete: Whether it came to an end; False = the time was over, or it was interrupted.
        interrupted: Whether it was interrupted.
        text: The file.
        near_miss: The same with one change, and nothing is broken; None = no single one heals it.
        remark: What else there is to say of it, such as why it is no story; empty = nothing.
    """

    id: str
    invariant: str
    sentence: str
    size: int
    tries: int
    complete: bool
    interrupted: bool
    text: str
    near_miss: NearMissFile | None
    remark: str = ""


class Case(Protocol):
    """Something that can be shrunk.

    Attributes:
        id: What its result is called, and its file in a folder.
        unit: What its size counts: `steps`, or what else there is.
        size: How large it is.
        whole: The same for people, with its unit if that is another one.
    """

    id: str
    unit: str
    size: int
    whole: str

    def shrink(
        self, *, within_s: float | None, told: Callable[[Told], None], unfinished: str | None
    ) -> Outcome:
        """Make it smaller.

        Args:
            within_s: Stop after so many seconds with the best found; None = no limit.
            told: Told of every run.
            unfinished: A file that an earlier shrink left where it was cut short; it goes on from
                there if it was the same case. None = there is none.
        """
