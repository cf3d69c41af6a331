"""`--explain` of `replog run` and `replog replay`: why an invariant was violated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.cli.signatures import Argument

if TYPE_CHECKING:
    from sim.api.texts import Explanation
    from sim.check import Violation

EXPLAIN = "--explain"
Explain = Annotated[
    str | None,
    Argument(
        metavar="INVARIANT",
        nargs="?",
        help="Tell why it was violated: what decided, what was committed beside what there is, and "
        "what led to it. Without a name, the first violation.",
    ),
]
"""`--explain`: None = not given, empty = the first violation, else an invariant."""
_NAME = re.compile(r"[a-z]+(-[a-z]+)+")
"""What looks like the name of an invariant."""


def with_explain_apart(words: Sequence[str]) -> list[str]:
    """The words of a command line, such that what follows a bare `--explain` is no value of it.

    The name of an invariant is one, unless there is a file or folder of that name.
    """
    found: list[str] = []
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        named = _NAME.fullmatch(following) and not Path(following).exists()
        found.append(f"{EXPLAIN}=" if word == EXPLAIN and not named else word)
    return found


def in_json(explanation: Explanation | None) -> dict[str, Any]:
    """The keys of a JSON document: `explanation`, the lines, and the same as data beside it."""
    if explanation is None:
        return {"explanation": [], "explained": None}
    return {"explanation": list(explanation), "explained": explanation.as_json()}


def print_explanation(
    explanation: Explanation, violations: Sequence[Violation], *, unit: str
) -> None:
    """Its lines, under a heading that names what else was violated."""
    about, times = explanation.about, "ms" if unit == "ms" else "steps"
    others = [name for name in dict.fromkeys(v.invariant for v in violations) if name != about]
    more = f"; {EXPLAIN} NAME tells of {', '.join(others)}" if others else ""
    print(f"  why {about} was violated (times in {times}, newest first){more}:")
    for line in explanation:
        print(f"  {line}")
