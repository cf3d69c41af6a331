"""Documents of YAML and JSON, changed as trees, and written down in more ways than one."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.values import near, numbers, texts, values

Path = tuple[Any, ...]
MOST_LEVELS = 40
"""Changes are made so deep; an earlier change may go deeper than Python can follow."""


class Twice(dict[Any, Any]):
    """A mapping in which the first key is written twice."""


class Raw(str):
    """A token that is written as it is: what no value of Python is written as."""

    __slots__ = ()


TOKENS = (
    "1e999", "-1e999", ".inf", ".nan", "NaN", "Infinity", "0x7fffffffffffffff", "0o17", "1_000",
    "12:30:45", "2020-01-01", "2020-01-01T00:00:00Z", "~", "yes", "!!binary aGk=", "!!int '1'",
    "!!float x", "!!set {a, b}", "!!python/object/apply:os.system ['touch PWNED']",
    "!!python/name:os.system", "!!omap [a: 1]", "!!timestamp '9999-99-99'", "!unknown {a: 1}",
    "&a [*a]", "*nobody", "{<<: {a: 1}}", "? x", "- -", "'\\x00'", '"\\ud800"', '"\\u0000"',
    "1" * 5_000, "-0", "00", "+1", "0.1e-400", "|", ">", "%", "@", "`", "{", "]", '"',
)  # fmt: skip
"""A value as somebody may write it."""

LAUGHS = "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
LAUGHTER = ("a: &a [x, x, x, x, x, x, x, x, x]\n" + LAUGHS).encode()
"""Forty million values in half a kilobyte."""


def places(document: Any, here: Path = ()) -> Iterator[Path]:
    """The path of each value below a document, its own first; outer ones alone when deep."""
    yield here
    if len(here) > MOST_LEVELS:
        return
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*here, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from places(value, (*here, index))


def at(document: Any, path: Path) -> Any:
    """The value there."""
    for step in path:
        document = document[step]
    return document


def copied(value: Any) -> Any:
    """The same once more; itself, when it is too deep for that."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        return value


@st.composite
def changed(draw: st.DrawFn, document: Any, others: Sequence[Any] = ()) -> Any:
    """The document with one to four changes; `others` are documents to take parts of."""
    result = copied(document)
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 4)))):
        result = _one_change(draw, result, others)
    return result


HOWS = ("grow", "value", "value", "value", "remove", "rename", "double", "more", "swap", "part",
        "raw", "add", "wrap", "alias")  # fmt: skip


def _one_change(draw: st.DrawFn, document: Any, others: Sequence[Any]) -> Any:
    paths = list(places(document))
    path = draw(st.sampled_from(paths))
    if not path:  # the whole document: seldom of use
        path = draw(st.sampled_from(paths))
    how = draw(st.sampled_from(HOWS))
    if not path:
        return draw(values()) if how in ("value", "raw") else [document]
    holder, last = at(document, path[:-1]), path[-1]
    old = holder[last]
    if how == "value":
        holder[last] = draw(near(old))
    elif how == "grow":
        _grow(draw, document, paths)
    elif how == "raw":
        holder[last] = Raw(draw(st.sampled_from(TOKENS)))
    elif how == "remove":
        del holder[last]
    elif how == "wrap":
        holder[last] = draw(st.sampled_from(([old], {"x": old}, [[old]], {str(old)[:50]: old})))
    elif how in ("swap", "part", "alias"):
        source = draw(st.sampled_from(others)) if how == "part" and others else document
        taken = at(source, draw(st.sampled_from(list(places(source)))))
        holder[last] = copied(taken)
    elif isinstance(holder, list):
        times = draw(st.sampled_from((2, 10, 300, 20_000))) if how == "more" else 1
        holder[last:last] = [copied(old) for _ in range(times)]
    else:
        _change_mapping(draw, holder, last, how)
    return document


def _grow(draw: st.DrawFn, document: Any, paths: Sequence[Path]) -> None:
    """Some of the numbers, or all, become so many times larger: much to do, of what is allowed."""
    times = draw(st.sampled_from((10, 100, 1_000, 10**5, 10**7)))
    whole = [path for path in paths if path and type(at(document, path)) is int]
    if draw(st.booleans()) and whole:
        few: st.SearchStrategy[list[Path]] = st.lists(
            st.sampled_from(whole), max_size=3, unique=True
        )
        whole = draw(few)
    for path in whole:
        at(document, path[:-1])[path[-1]] *= times


def _change_mapping(draw: st.DrawFn, holder: dict[Any, Any], key: Any, how: str) -> None:
    old = holder[key]
    if how == "rename":
        del holder[key]
        holder[draw(st.one_of(texts(), st.just(f"{key}x"), numbers(), st.none()))] = old
    elif how == "add":
        holder[draw(st.one_of(texts(), st.sampled_from(NAMES)))] = draw(values())
    elif how == "more":
        times = draw(st.sampled_from((10, 300, 5_000)))
        holder.update({f"{key}{number}": old for number in range(times)})
    else:
        holder[key] = [Twice({key: old}), old] if isinstance(old, dict) else old
        holder[Raw(str(key))] = old  # the same name once more, when it is written


NAMES = ("format", "title", "source", "note", "id", "expect", "rules", "seed", "preset", "matrix",
         "count", "plugins", "tags", "steps", "segments", "faults", "workload", "topic", "broker",
         "mix", "duration_ms", "replicas", "include", "__class__", "self")  # fmt: skip


def written(value: Any) -> str:
    """As JSON that YAML reads, too, with doubled keys and raw tokens where they are."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        pairs = [f"{_key(key)}: {written(one)}" for key, one in value.items()]
        if isinstance(value, Twice):
            pairs += pairs[:1]
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**4000:
        return "1" + "0" * 5_000
    return json.dumps(value, ensure_ascii=True)


def _key(key: Any) -> str:
    return json.dumps(str(key)) if isinstance(key, Raw) else written(str(key))


@st.composite
def as_yaml(draw: st.DrawFn, document: Any) -> bytes:
    """The document as a YAML file: in blocks where it can be, else in braces, line by line."""
    if draw(st.booleans()):
        try:
            text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)
            return _encoded(draw, text)
        except (yaml.YAMLError, RecursionError, ValueError):
            pass
    if isinstance(document, dict) and document and not isinstance(document, Twice):
        lines = [f"{_key(key)}: {_written(value)}" for key, value in document.items()]
        return _encoded(draw, "\n".join(lines) + "\n")
    return _encoded(draw, _written(document) + "\n")


def _written(value: Any) -> str:
    try:
        return written(value)
    except RecursionError:
        return "[" * 50_000


@st.composite
def as_json(draw: st.DrawFn, document: Any) -> bytes:
    """The document as a JSON file."""
    return _encoded(draw, _written(document) + "\n")


ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32",
             "latin-1")  # fmt: skip


def _encoded(draw: st.DrawFn, text: str) -> bytes:
    encoding = draw(st.sampled_from(ENCODINGS))
    ending = draw(st.sampled_from(("\n", "\n", "\n", "\n", "\r\n", "\r")))
    text = text.replace("\n", ending)
    try:
        return text.encode(encoding)
    except UnicodeError:
        return text.encode("utf-8", "surrogatepass")


@st.composite
def yaml_files(draw: st.DrawFn, contents: Sequence[bytes]) -> bytes:
    """A file of YAML: a changed document most of the time, else damaged text."""
    content = draw(st.sampled_from(contents))
    if draw(st.integers(0, 3)) == 3:
        return draw(st.one_of(damaged(content, contents), _spiked(content)))
    others = [yaml.safe_load(draw(st.sampled_from(contents)))]
    return draw(as_yaml(draw(changed(yaml.safe_load(content), others))))


@st.composite
def json_files(draw: st.DrawFn, contents: Sequence[bytes]) -> bytes:
    """A file of JSON: a changed document most of the time, else damaged text."""
    content = draw(st.sampled_from(contents))
    if draw(st.integers(0, 3)) == 3:
        return draw(damaged(content, contents))
    others = [json.loads(draw(st.sampled_from(contents)))]
    return draw(as_json(draw(changed(json.loads(content), others))))


SPIKES = (
    LAUGHTER, b"--- \n...\n---\n", b"%YAML 9.9\n---\n", b"%TAG ! tag:x,2000:\n---\n", b"\t- x\n",
    b"? [a, b]\n: 1\n", b"<<: *nobody\n", b"x: &x {y: *x}\n", b"x: &x\n  <<: *x\n", b"[" * 3_000,
    b"{a: " * 3_000, b"- " * 3_000, b"a: " + b"'" * 999 + b"\n", b"\xef\xbb\xbf", b"\0", b"\x1b[2J",
    b"x: !!python/object/new:os.system [touch PWNED]\n", b"# " + b"x" * 100_000 + b"\n",
    b"? " * 2_000, b"a: |\n" + b"  x\n" * 20_000, b"\xc2\x85\xe2\x80\xa8",
)  # fmt: skip


@st.composite
def _spiked(draw: st.DrawFn, content: bytes) -> bytes:
    """Lines of a YAML file with something between two of them, or a line twice."""
    lines = content.splitlines(keepends=True)
    place = draw(st.integers(0, len(lines)))
    spike = draw(st.sampled_from((*SPIKES, *lines)))
    return b"".join((*lines[:place], spike, *lines[place:]))
