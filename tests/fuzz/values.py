"""Values that nobody expects: numbers at limits, text that is more than text, too much of all."""

from typing import Any

from hypothesis import strategies as st

LIMITS = (64, 1_000, 10_000, 32_767, 100_000, 1_000_000, 3_600_000, 10**9, 3_200_000_000_000,
          10**12, 10**15, 10**17)  # fmt: skip
"""The largest numbers that fields take: `replog list limits`."""
WHOLE = sorted(
    {
        *(sign * (2**power + step) for power in (7, 8, 15, 16, 31, 32, 53, 63, 64)
          for step in (-1, 0, 1) for sign in (1, -1)),
        *range(-2, 12),
        *(10**power for power in (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 18, 19, 30, 400)),
        *(limit + step for limit in LIMITS for step in (-1, 0, 1)),
        -(10**18),
        -(10**30),
    },
    key=lambda number: (abs(number), number < 0),
)  # fmt: skip
BROKEN = (0.0, -0.0, 0.5, 1.0, -1.0, 1.5, 1e-300, 5e-324, 1e18, 1e308, float("inf"), float("-inf"),
          float("nan"))  # fmt: skip
TEXTS = (
    "",
    " ",
    "x",
    "r1",
    "\0",
    "\x1b[31mred\x1b[0m\x07",
    "\x1b]0;title\x07",
    "line\nbreak",
    "carriage\rreturn",
    "tab\there",
    "\x7f\x80\x85\x9b2J",
    "\ud800",
    "\udcff",
    "\u202egnp.exe",
    "\u2028\u2029\ufeff\u200b",
    "e\u0301" * 40,
    "\U0001f4a5",
    "ÄÖÜ ß 中文 العربية",
    "<script>alert(1)</script>",
    "<b onmouseover='x'>&amp;&lt;]]>",
    "<!-- x --> --><img src=x onerror=alert(1)>",
    "| a | b |\n|---|---|",
    "[link](javascript:alert(1)) ![](x) `code` **bold** # head",
    "$\\frac{1}{0}$ $x_{",
    "$",
    "\\",
    "%s %(x)s %n {0} {x!r} {",
    "::error file=x::y\n::set-output name=x::y",
    "../../../../etc/passwd",
    "/dev/zero",
    "-o",
    "--help",
    "null",
    "true",
    "1",
    "1e3",
    "0x10",
    "a=b=c",
    "=",
    ",",
    ":",
    "*",
    "[",
    "(?=a*)*$",
    "CON",
    "x" * 300,
    "y" * 70_000,
    "9" * 5_000,
)
LONG = 20_000


def numbers() -> st.SearchStrategy[int | float]:
    """Whole and broken, at limits most of all."""
    return st.one_of(
        st.sampled_from(WHOLE), st.sampled_from(WHOLE), st.sampled_from(BROKEN), st.integers()
    )


def texts() -> st.SearchStrategy[str]:
    """Harmless and harmful."""
    return st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.text(max_size=12))


def scalars() -> st.SearchStrategy[Any]:
    """What JSON and YAML have as leaves."""
    return st.one_of(numbers(), texts(), st.none(), st.booleans())


def values() -> st.SearchStrategy[Any]:
    """Of any kind and size, a few of them large or deep."""
    return st.one_of(
        scalars(),
        st.sampled_from(([], {}, [[]], [{}], {"": None}, [None], {"x": {"y": {"z": []}}})),
        st.lists(scalars(), max_size=3),
        st.dictionaries(texts(), scalars(), max_size=3),
        st.builds(deep, st.sampled_from((5, 60, 300, 2_000)), st.booleans()),
        st.builds(lambda one, times: [one] * times, scalars(), st.sampled_from((100, LONG))),
        st.builds(
            lambda times, one: {f"k{number}": one for number in range(times)},
            st.sampled_from((100, LONG)),
            scalars(),
        ),
    )


def deep(levels: int, in_lists: bool) -> Any:
    """Nested so deep."""
    value: Any = 1
    for _ in range(levels):
        value = [value] if in_lists else {"a": value}
    return value


def near(old: Any) -> st.SearchStrategy[Any]:
    """Something else in the place of `old`, of its kind more often than not."""
    if isinstance(old, bool) or old is None:
        return values()
    if isinstance(old, int | float):
        return st.one_of(st.sampled_from(LIMITS), grown(old), numbers(), values())
    if isinstance(old, str):
        return st.one_of(worded(old), worded(old), texts(), values())
    return values()


def grown(old: float) -> st.SearchStrategy[float]:
    """The number with zeros behind it: allowed, most likely, and much to do."""
    return st.sampled_from((10, 100, 1_000, 10**4, 10**6)).map(lambda times: old * times)


@st.composite
def worded(draw: st.DrawFn, old: str) -> str:
    """A text of words with one changed, as in `append r1 k=v`; numbers go to limits."""
    words = old.split(" ")
    place = draw(st.integers(0, len(words) - 1))
    word = words[place]
    name, equals, _ = word.rpartition("=")
    how = draw(st.sampled_from(("number", "text", "drop", "double", "swap", "glue")))
    if how == "number":
        words[place] = f"{name}{equals}{draw(numbers())}"
    elif how == "text":
        words[place] = f"{name}{equals}{draw(texts())}"
    elif how == "drop":
        del words[place]
    elif how == "double":
        words.insert(place, word)
    elif how == "swap":
        other = draw(st.integers(0, len(words) - 1))
        words[place], words[other] = words[other], words[place]
    else:
        words[place] = word + draw(st.sampled_from(("=", "=1", ",", ",r1", "-", "..", "'", '"')))
    return " ".join(words)
