"""Command lines of any words: every command, with options of its own and of others."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.fuzz.case import Case, Content, Special
from tests.fuzz.values import BROKEN, TEXTS, WHOLE, numbers


@dataclass(frozen=True)
class Option:
    """One option as its help tells.

    Attributes:
        name: With its dashes.
        value: What it takes, as `DIR`; empty for a flag.
    """

    name: str
    value: str


def options_of(page: str) -> list[Option]:
    """The options that a page of help lists."""
    found = []
    for line in page.splitlines():
        match = re.match(r" {2}((?:-\w[^,]*, )?--?[\w-]+)(?: (\[?[A-Z][^ ]*))?", line)
        if match and match[1] != "--help":
            found.append(Option(match[1].rpartition(" ")[2], match[2] or ""))
    return found


WRITES = {"--trace", "--failures", "--junit", "--markdown", "--output", "-o", "--out",
          "--quote-in"}  # fmt: skip
"""What is behind these is made or replaced: only names of the folder itself."""
OUTPUTS = ("out", "out.html", "out.svg", "out.txt", "out.md", "out.png", "out/deep/x",
           "story.yaml", "folder", "", "no/such/folder", "x\0y", "out\n", "\x1b[2J", "x" * 300, "-",
           ".")  # fmt: skip
READS = ("story.yaml", "timed.yaml", "log.json", "eligible.json", "plan.yaml", "changes.csv",
         "trace.ndjson", "folder", "swept", ".", "none", "", "pipe", "hole", "loop", "/dev/null",
         "/dev/zero", "/dev/stdin", "/dev/full", "/proc/self/mem", "/dev/tty", "-",
         "x" * 5_000, "kip280_01", "finding_01_leo_retention_truncated_tail")  # fmt: skip
NAMES = ("fix=none", "fix=leo_retention", "preset=kafka-4.0", "preset=", "=", "strategy=version",
         "commit=majority", "any", "no-offset-reuse", "any=5%", "any=1e999%", "any=nan%", "any=-1%",
         "log divergence=0%", "rules", "presets", "invariants", "columns", "scenarios", "ops",
         "mixes", "faults", "bash", "fish", "story", "plan", "workflow", "process", "spark",
         "kip280",
         "not", "kip280 and", "(", "a or b", "0", "1", "11", "12", "0=x", "1=caption", "k", "sim",
         "os", "json", "sim.plugins", "a.b.c", "local[0]", "local[*]", "spark://127.0.0.1:1",
         "yarn", "k8s://x")  # fmt: skip


def words() -> st.SearchStrategy[str]:
    """Any word, a useful one more often than not."""
    return st.one_of(
        st.sampled_from(READS),
        st.sampled_from(NAMES),
        st.sampled_from(TEXTS),
        st.sampled_from((*WHOLE, *BROKEN)).map(lambda number: str(number)[:400]),
        st.text(max_size=8),
    )


@st.composite
def command_lines(
    draw: st.DrawFn, pages: Mapping[str, Sequence[Option]], files: Mapping[str, Content]
) -> Case:
    """A command with some of its options, beside files of every kind."""
    command = draw(st.sampled_from(sorted(pages)))
    argv = command.split(" ")
    known = [*pages[command], *pages[command]]
    if draw(st.integers(0, 9)) == 9:
        known += [one for options in pages.values() for one in options]
    for _ in range(draw(st.integers(0, 2))):
        argv.append(draw(st.one_of(st.sampled_from(READS), st.sampled_from(READS), words())))
    outputs: list[str] = []
    for _ in range(draw(st.integers(0, 3)) if known else 0):
        option = draw(st.sampled_from(known))
        argv.append(option.name)
        if not option.value or draw(st.integers(0, 15)) == 15:
            continue
        value = draw(st.sampled_from(OUTPUTS) if option.name in WRITES else words())
        if option.name in WRITES:
            outputs.append(value)
        if draw(st.integers(0, 5)) == 5 and option.name.startswith("--"):
            argv[-1] = f"{option.name}={value}"
        else:
            argv.append(value)
    if draw(st.integers(0, 11)) == 11 and argv:
        argv[draw(st.integers(0, len(argv) - 1))] = draw(words())
    return surrounded(draw, Case("command line", tuple(argv), files, tuple(outputs)))


SOUND: Mapping[str, tuple[str, ...]] = {
    "run": ("story.yaml",),
    "suite": ("story.yaml",),
    "draw": ("story.yaml",),
    "explain": ("story.yaml",),
    "shrink": ("story.yaml",),
    "matrix": ("story.yaml", "--vary", "fix"),
    "clean": ("log.json",),
    "eligible": ("eligible.json",),
    "traffic": (),
    "catchup": (),
    "certify": ("trace.ndjson",),
    "sweep": ("plan.yaml", "--out", "out", "--engine", "process", "--count", "1"),
    "replay": ("swept", "0"),
    "report": ("swept", "--no-shrink"),
    "causes": ("swept",),
    "gate": ("swept", "--fail-on", "any"),
    "new": ("story",),
    "list": ("rules",),
    "capacity": (),
    "doctor": (),
    "completion": ("bash",),
    "trace replay": ("changes.csv",),
    "sweep check": ("swept",),
    "sweep merge": ("swept", "--out", "out"),
}
"""Commands that are in order, to be tried with one option more."""


@st.composite
def options(
    draw: st.DrawFn, pages: Mapping[str, Sequence[Option]], files: Mapping[str, Content]
) -> Case:
    """A sound command with one or two of its options, of whatever value."""
    command = draw(st.sampled_from([name for name in SOUND if pages[name]]))
    argv = [*command.split(" "), *SOUND[command]]
    outputs = ["out", *(["swept"] if command in ("report", "causes") else [])]
    for option in draw(st.lists(st.sampled_from(pages[command]), min_size=1, max_size=2)):
        argv.append(option.name)
        if not option.value:
            continue
        if option.name in WRITES:
            argv.append(draw(st.sampled_from(OUTPUTS)))
            outputs.append(argv[-1])
        elif option.value.strip("[]") in NUMBERS:
            argv.append(str(draw(numbers()))[:5_000])
        else:
            argv.append(draw(words()))
    start = "swept" if "swept" in argv else None
    case = Case("options", tuple(argv), files, tuple(outputs), start)
    return surrounded(draw, case)


NUMBERS = {"N", "MS", "BYTES", "SECONDS", "S", "MB", "F", "US", "PERCENT", "RUN_ID"}
ENVIRONMENTS: Sequence[Mapping[str, str | None]] = (
    {},
    {},
    {},
    {},
    {"COLUMNS": "1"},
    {"COLUMNS": "-5"},
    {"COLUMNS": "9" * 30},
    {"COLUMNS": "\u0665"},
    {"COLUMNS": "x", "TERM": "dumb"},
    {"TERM": "", "NO_COLOR": "1"},
    {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "LANG": "C"},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "cp1252"},
    {"HOME": "/nonexistent", "PATH": "/nonexistent"},
    {"HOME": None, "PATH": None, "LANG": None},
    {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "/nonexistent/x"},
    {"TZ": "Nowhere/None", "TMPDIR": "/nonexistent"},
    {"REPLOG_REVISION": "\x1b[2J\n"},
)


def surrounded(draw: st.DrawFn, case: Case) -> Case:
    """The same with another environment, standard input or output, once in a while."""
    if draw(st.integers(0, 3)):
        return case
    return Case(
        case.reader,
        case.argv,
        case.files,
        case.outputs,
        case.start,
        draw(st.sampled_from(ENVIRONMENTS)),
        draw(st.sampled_from((b"", b"x", b"format: replog-story/1\n", b"\xff\0" * 100))),
        draw(st.sampled_from(("file", "file", "closed", "full"))),
    )


BESIDE: Mapping[str, Content] = {
    "folder": Special("folder"),
    "pipe": Special("fifo"),
    "hole": Special("hole", str(2**34)),
    "loop": Special("link", "loop"),
}
"""What is no file, beside the files."""
