"""Commands to paste into a shell: each word is quoted, so that the shell expands nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import PurePath

from sim.files.foreign.lines import is_plain


def command(words: Iterable[object]) -> str:
    """Words as one line of a shell."""
    return " ".join(map(quoted, words))


def quoted(word: object) -> str:
    r"""A word for a shell, in one line.

    Invisible characters are written as bytes, `$'\x1b'`, which Bash, Zsh, Ksh and every shell of
    POSIX 2024 take. A path that begins with a dash is written `./-`, so that it is no option.
    """
    text = str(word)
    if isinstance(word, PurePath) and text.startswith("-"):
        text = f"./{text}"
    if is_plain(text):
        return shlex.quote(text)
    return f"$'{''.join(map(_character, text))}'"


def _character(one: str) -> str:
    if one in "\\'":
        return f"\\{one}"
    if is_plain(one):
        return one
    # A lone surrogate stands for a byte of a name that is no UTF-8 (PEP 383).
    errors = "surrogateescape" if "\udc80" <= one <= "\udcff" else "surrogatepass"
    # Three octal digits: a hexadecimal escape would take a digit behind it along.
    return "".join(f"\\{byte:03o}" for byte in one.encode("utf-8", errors))
