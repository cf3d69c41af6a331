"""Files with a mistake: a place of a good document changed, or its bytes damaged."""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.commands import ROOT
from tests.foreign.nasty import NASTY
from tests.fuzz.case import Case

Cases = st.SearchStrategy[Case]
MOST_BYTES = 6_000
"""Of a document to start from: small ones are tried faster."""
BOUNDS = ("--max-seconds", "1", "--max-memory-mb", "600")
NUMBERS = (
    *range(-2, 4), *(sign * 2**power + step for power in (31, 32, 53, 63, 64)
    for sign in (1, -1) for step in (-1, 0, 1)), 10**9, 10**18, 10**400, 0.5, 1e308,
    float("inf"), float("nan"),
)  # fmt: skip
TOKENS = (
    "1e999", ".inf", "0o17", "12:30:45", "2020-01-01", "~", "!!binary aGk=", "!!set {a, b}",
    "!!python/object/apply:os.system ['touch PWNED']", "!unknown {a: 1}", "&a [*a]", "*nobody",
    "{<<: {a: 1}}", "? x", "'\\x00'", '"\\ud800"', "1" * 5_000, "|", "%", "{", "]", '"',
)  # fmt: skip
"""A value as somebody may write it, and no value of Python is written."""
LAUGHTER = "a: &a [x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


scalars = st.one_of(
    st.sampled_from(NUMBERS), st.sampled_from([*NASTY.values(), "", "r1", "x" * 70_000]),
    st.none(), st.booleans(), st.integers(), st.text(max_size=8),
)  # fmt: skip
values = st.one_of(
    scalars,
    scalars,
    st.lists(scalars, max_size=2),
    st.dictionaries(st.text(max_size=4), scalars, max_size=2),
    st.sampled_from((60, 200)).map(nested),
    st.builds(lambda one: [one] * 20_000, scalars),
)


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    """The content with some bytes wrong, lost, doubled, or others altogether."""
    first, last = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
    some = draw(st.binary(max_size=6))
    return draw(
        st.sampled_from(
            (
                content[:first] + some + content[first + len(some) :],
                content[:first],
                content[:first] + content[last:],
                content[:last] + content[first:],
                some * 5_000,
                content.decode("latin-1").encode("utf-16"),
            )
        )
    )


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each list or mapping with each index or key of it, outer ones first."""
    items: list[tuple[Any, Any]] = []
    if isinstance(document, dict):
        items = list(document.items())
    elif isinstance(document, list):
        items = list(enumerate(document))
    yield from ((document, key) for key, _ in items)
    for _, value in items:
        yield from places(value)


def _words(draw: st.DrawFn, old: str) -> str:
    """A text of words with one changed, as in `append r1 k=v`."""
    words = old.split(" ")
    place = draw(st.integers(0, len(words) - 1))
    name, equals, _ = words[place].rpartition("=")
    new = (
        f"{name}{equals}{draw(scalars)}"[:9_000],
        f"{words[place]}=",
        draw(st.sampled_from(words)),
    )
    words[place : place + 1] = draw(st.sampled_from([[], words[place:], *([one] for one in new)]))
    return " ".join(words)


@st.composite
def written(draw: st.DrawFn, document: Any, *, as_json: bool = False) -> bytes:
    """A document with one mistake, written down."""
    document = copy.deepcopy(document)
    parent, key = draw(st.sampled_from(list(places(document))))
    old, token = parent[key], None
    how = draw(st.sampled_from(("value", "value", "words", "token", "gone", "name", "twice")))
    if how == "gone":
        del parent[key]
    elif how == "name" and isinstance(parent, dict):
        parent[f"{key}x"] = parent.pop(key)
    elif how == "twice" and isinstance(parent, list):
        parent += parent[key:]
    elif how == "token":
        parent[key], token = "@@", draw(st.sampled_from(TOKENS))
    else:
        parent[key] = _words(draw, old) if isinstance(old, str) and how == "words" else draw(values)
    in_yaml = not as_json and draw(st.booleans())
    text = yaml.safe_dump(document, sort_keys=False) if in_yaml else json.dumps(document)
    if token is not None:
        text = text.replace("'@@'", token).replace('"@@"', token)
    return text.encode("utf-8", "surrogatepass")


@cache
def shipped(pattern: str, form: str) -> list[bytes]:
    """Small files that come with Replog, of this format, every third."""
    contents = (path.read_bytes() for path in sorted((ROOT / "scenarios").glob(pattern)))
    return [one for one in contents if form.encode() in one and len(one) < MOST_BYTES][::3]


STORY = (
    ("run", "x.yaml"), ("run", "x.yaml", "--explain"), ("run", "x.yaml", "--failures", "out"),
    ("draw", "x.yaml", "-o", "out.html"), ("explain", "x.yaml", "--json"), ("shrink", "x.yaml"),
    ("suite", "x.yaml", "--junit", "out.xml", "--json"),
    ("run", "x.yaml", "--trace", "out.ndjson"), ("matrix", "x.yaml", "--vary", "fix"),
)  # fmt: skip
LOG = (("clean", "x.yaml"), ("clean", "x.yaml", "--json"), ("suite", "x.yaml"))
ELIGIBLE = (("eligible", "x.yaml"), ("eligible", "x.yaml", "--json"))
PLAN = (("sweep", "x.yaml", "--out", "out", "--engine", "process", "--count", "1"),)
ANY_FILE = (
    *((name, "x") for name in ("run", "clean", "eligible", "certify", "suite", "report", "gate")),
    ("trace", "replay", "x"), ("run", "x", "0"),
)  # fmt: skip


def _documents(contents: Sequence[bytes], commands: Sequence[tuple[str, ...]]) -> Cases:
    parsed = st.sampled_from(contents).map(yaml.safe_load)
    strange = [LAUGHTER.encode(), b"[" * 50_000, b"{a: " * 5_000]
    spoilt = st.sampled_from([*contents, *strange]).flatmap(damaged)
    content = st.one_of(*[parsed.flatmap(written)] * 3, spoilt)
    return st.builds(_case, st.sampled_from(commands), content)


def _case(argv: tuple[str, ...], content: bytes, name: str = "x.yaml") -> Case:
    outputs = tuple(word for word in argv if word.partition(".")[0] == "out")
    bounded = argv[0] not in ("sweep", "trace", "report", "gate")
    return Case((*argv, *(BOUNDS if bounded else ())), {name: content}, outputs)


@st.composite
def _traces(draw: st.DrawFn, content: bytes) -> bytes:
    """A trace with a line changed, lost or doubled, or its bytes damaged."""
    lines = content.splitlines(keepends=True)
    place = draw(st.integers(0, len(lines) - 1))
    changed = draw(written(json.loads(lines[place]), as_json=True)) + b"\n"
    new = draw(st.sampled_from(([changed], [changed], [], [lines[place]] * 2)))
    return draw(
        st.one_of(st.just(b"".join([*lines[:place], *new, *lines[place + 1 :]])), damaged(content))
    )


@st.composite
def _folders(draw: st.DrawFn, swept: Mapping[str, bytes]) -> Case:
    """A command on the folder of a sweep, in which a file was changed."""
    name = draw(st.sampled_from(sorted(swept)))
    contents = [damaged(swept[name])]
    if name.endswith(".json"):
        contents += [written(json.loads(swept[name]), as_json=True)] * 3
    files = {f"swept/{one}": content for one, content in swept.items()}
    words = draw(
        st.sampled_from(
            (
                ("report",),
                ("causes", "--json"),
                ("gate", "--fail-on", "any"),
                ("run", "0"),
                ("explain", "3"),
            )
        )
    )
    argv = (words[0], "swept", *words[1:])
    outputs = ("swept",) if words[0] in ("report", "causes") else ()
    return Case(argv, {**files, f"swept/{name}": draw(st.one_of(contents))}, outputs)


def readers(trace: bytes, swept: Mapping[str, bytes]) -> Mapping[str, Cases]:
    """For each reader of Replog, what is tried on it; a trace and a sweep's files to start from."""
    stories, timed = (shipped("*/*.yaml", f"replog-{kind}/1") for kind in ("story", "scenario"))
    strange = st.binary(max_size=40)
    return {
        "story": _documents(stories, STORY),
        "scenario": _documents(timed, (STORY[0], STORY[0], STORY[6], STORY[7])),
        "log file": _documents(shipped("**/log_*.json", "steps"), LOG),
        "eligible file": _documents(shipped("**/eligible_*.json", "logs"), ELIGIBLE),
        "plan": _documents(shipped("sweeps/*.yaml", "replog-sweep/1"), PLAN),
        "trace": _traces(trace).map(lambda one: _case(("certify", "x"), one, "x")),
        "sweep folder": _folders(swept),
        "no file": st.builds(
            lambda argv, content: _case(argv, content, "x"), st.sampled_from(ANY_FILE), strange
        ),
    }


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, but for the lock."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
