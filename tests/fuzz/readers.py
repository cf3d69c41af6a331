"""Every reader of Replog, and the cases that are tried on it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

from sim.certify.reading import digest
from tests.fuzz.case import SWEEP, Case, Content, Special
from tests.fuzz.damage import anything, damaged
from tests.fuzz.documents import json_files, yaml_files
from tests.fuzz.folders import PLAN, SWEEPING, changes, contents
from tests.fuzz.repositories import repositories
from tests.fuzz.running import ROOT, Runner
from tests.fuzz.tables import GOOD, csv_files, parquet_files
from tests.fuzz.values import numbers, texts
from tests.fuzz.words import BESIDE, Option, command_lines, options, options_of, surrounded

Cases = st.SearchStrategy[Case]
MOST_BYTES = 6_000
"""Of a scenario to start from: small ones are tried faster."""

COMMANDS = (
    "run", "suite", "draw", "explain", "shrink", "matrix", "clean", "eligible", "traffic",
    "catchup", "certify", "sweep", "replay", "report", "causes", "gate", "new", "list", "capacity",
    "doctor", "completion", "trace git", "trace replay", "sweep check", "sweep merge",
    "sweep fetch",
)  # fmt: skip
"""All but `phases`, which reads nothing, and works for minutes."""

TRACED = Case("trace", ("run", "story.yaml", "--trace", "trace.ndjson"), {}, ("trace.ndjson",))


def cases(runner: Runner) -> Mapping[str, Cases]:
    """The strategy of each reader; makes the sweep and the trace that some of them start from."""
    stories, timed = _scenarios("replog-story/1"), _scenarios("replog-scenario/1")
    logs = [_read(path) for path in _beneath("**/log_*.json")]
    eligible = [_read(path) for path in _beneath("**/eligible_*.json")]
    plans = [PLAN, *(_read(path) for path in _beneath("sweeps/*.yaml"))]
    trace = _trace(runner, stories[0])
    made: dict[str, Cases] = {
        "story": _files("x.yaml", yaml_files(stories), STORY),
        "scenario": _files("x.yaml", yaml_files(timed), TIMED),
        "log file": _files("x.json", json_files(logs), LOG),
        "eligible file": _files("x.json", json_files(eligible), ELIGIBLE),
        "plan": _files("x.yaml", yaml_files(plans), PLANNED),
        "CSV": _files("x.csv", csv_files(), TRACE_REPLAY),
        "Parquet": _files("x.parquet", parquet_files(), TRACE_REPLAY),
        "workload": st.one_of(
            _files("x.csv", csv_files(), (("run", "timed.yaml"),), {"timed.yaml": WITH_TRACE}),
            _files("x.csv", parquet_files(), (("run", "timed.yaml"),), {"timed.yaml": WITH_TRACE}),
        ),
        "trace": _files(
            "x.ndjson",
            _traces(trace),
            (("certify", "x.ndjson"), ("certify", "x.ndjson", "--json")),
        ),
        "git repository": _repositories(),
        "rules": _rules(stories[0], logs[0]),
        "suite": _suites(stories[:20] + timed[:10], logs[:10]),
        "bytes": _bytes(),
    }
    sound = contents(runner.prepare(SWEEP, SWEEPING))
    made["sweep folder"] = _folders(sound)
    beside: dict[str, Content] = {
        **BESIDE,
        "story.yaml": stories[0],
        "timed.yaml": timed[0],
        "log.json": logs[0],
        "eligible.json": eligible[0],
        "plan.yaml": PLAN,
        "changes.csv": GOOD,
        "trace.ndjson": trace,
    }
    pages = _pages(runner)
    made["options"] = options(pages, beside)
    made["command line"] = command_lines(pages, beside)
    return made


STORY: Sequence[tuple[str, ...]] = (
    ("run", "x.yaml"),
    ("run", "x.yaml"),
    ("run", "x.yaml", "--json"),
    ("run", "x.yaml", "--explain"),
    ("run", "x.yaml", "--trace", "out.ndjson"),
    ("run", "x.yaml", "--failures", "out"),
    ("draw", "x.yaml"),
    ("draw", "x.yaml", "-o", "out.html"),
    ("draw", "x.yaml", "-o", "out.svg", "--step", "1=caption"),
    ("explain", "x.yaml"),
    ("shrink", "x.yaml"),
    ("matrix", "x.yaml", "--vary", "fix"),
    ("suite", "x.yaml", "--junit", "out.xml", "--markdown", "out.md"),
    ("suite", "x.yaml", "--json", "--github"),
)
TIMED: Sequence[tuple[str, ...]] = (*STORY[:7], *STORY[:3], *STORY[9:10], *STORY[12:])
LOG: Sequence[tuple[str, ...]] = (
    ("clean", "x.json"),
    ("clean", "x.json"),
    ("clean", "x.json", "--check", "--json"),
    ("clean", "x.json", "--explain", "K"),
    ("suite", "x.json", "--junit", "out.xml"),
)
ELIGIBLE: Sequence[tuple[str, ...]] = (
    ("eligible", "x.json"),
    ("eligible", "x.json"),
    ("eligible", "x.json", "--check", "--json"),
    ("suite", "x.json"),
)
PLANNED: Sequence[tuple[str, ...]] = (
    ("sweep", "x.yaml", "--out", "out", "--engine", "process", "--count", "1"),
    ("sweep", "x.yaml", "--out", "out", "--engine", "process", "--count", "1", "--json"),
    ("sweep", "x.yaml", "--out", "out"),
    ("suite", "x.yaml"),
)
TRACE_REPLAY: Sequence[tuple[str, ...]] = (
    ("trace", "replay"),
    ("trace", "replay"),
    ("trace", "replay", "--json"),
    ("trace", "replay", "--limit", "2"),
)
BOUNDED = {"run", "suite", "shrink", "explain", "matrix", "draw", "clean"}
BOUNDS = ("--max-seconds", "1", "--max-memory-mb", "600")
"""Less than without options, so that a search sees a run hit them, and nothing take long."""
WITH_TRACE = b"""\
format: replog-scenario/1
duration_ms: 500
workload: {trace: x.csv}
"""
OF_FOLDERS: Sequence[tuple[str, ...]] = (
    ("sweep", "check", SWEEP),
    ("sweep", "plan.yaml", "--out", SWEEP, "--engine", "process", "--resume"),
    ("report", SWEEP, "--no-shrink"),
    ("report", SWEEP, "--json", "--no-shrink"),
    ("replay", SWEEP, "0"),
    ("replay", SWEEP, "11", "--json"),
    ("causes", SWEEP),
    ("causes", SWEEP, "--json"),
    ("gate", SWEEP, "--fail-on", "any"),
    ("gate", SWEEP, "--budget", "no-offset-reuse=50%", "--json"),
    ("gate", SWEEP, "--baseline", SWEEP, "--markdown", "out.md"),
    ("draw", SWEEP, "3"),
    ("explain", SWEEP, "3"),
    ("shrink", SWEEP, "3"),
    ("matrix", "--vary", "fix", "--sweep", SWEEP),
)
WRITING = {"sweep": (SWEEP,), "report": (SWEEP,), "causes": (SWEEP,)}


def _files(
    name: str,
    content: st.SearchStrategy[bytes],
    commands: Sequence[tuple[str, ...]],
    more: Mapping[str, Content] | None = None,
) -> Cases:
    """One file, given to one of these commands."""

    @st.composite
    def made(draw: st.DrawFn) -> Case:
        argv = draw(st.sampled_from(commands))
        if argv[:2] == ("trace", "replay"):
            argv = (*argv[:2], name, *argv[2:])
        if argv[0] in BOUNDED or argv[:2] == ("trace", "replay"):
            argv = (*argv, *BOUNDS)
        outputs = tuple(word for word in argv if word.partition(".")[0] == "out")
        files = {**(more or {}), name: draw(content)}
        return surrounded(draw, Case("", argv, files, outputs))

    return made()


@st.composite
def _traces(draw: st.DrawFn, content: bytes) -> bytes:
    """A trace with a line changed, lost, doubled or moved, or its bytes damaged."""
    lines = content.splitlines()
    how = draw(st.sampled_from(("line", "line", "line", "order", "bytes")))
    place = draw(st.integers(0, len(lines) - 1))
    if how == "bytes":
        return draw(damaged(content))
    if how == "line":
        lines[place] = draw(json_files([lines[place]])).strip()
        if draw(st.booleans()):
            lines[-1] = _sealed(lines)
    else:
        other = draw(st.integers(0, len(lines) - 1))
        lines[place : place + 1] = draw(
            st.sampled_from(((), (lines[place],) * 2, (lines[other],), (lines[place],) * 3_000))
        )
    return b"\n".join((*lines, b""))


def _sealed(lines: Sequence[bytes]) -> bytes:
    """The verdict with a digest that fits, as a forger would see to."""
    try:
        events = [json.loads(line) for line in lines[1:-1]]
        return json.dumps(json.loads(lines[-1]) | {"digest": digest(events)}).encode()
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return lines[-1]


@st.composite
def _repositories(draw: st.DrawFn) -> Case:
    argv = ["trace", "git", "repo", "-o", "out.parquet"]
    if draw(st.integers(0, 3)) == 3:
        argv += ["--limit", str(draw(numbers()))[:300]]
    return surrounded(draw, Case("", tuple(argv), draw(repositories()), ("out.parquet",)))


@st.composite
def _rules(draw: st.DrawFn, story: bytes, log: bytes) -> Case:
    """Values of `--rule` and other options that take a name and a value."""
    name = draw(st.one_of(st.sampled_from(RULES), texts()))
    value = draw(st.one_of(st.sampled_from(("none", "majority", "true")), texts(), numbers()))
    option = draw(st.sampled_from(("--rule", "--rule", "--rule", "--seed", "--plugin")))
    word = f"{name}={value}"[:9_000] if option == "--rule" else str(value)[:9_000]
    command = draw(st.sampled_from((("run", "x.yaml"), ("clean", "x.json"), ("draw", "x.yaml"))))
    files = {"x.yaml": story, "x.json": log}
    return surrounded(draw, Case("", (*command, option, word), files))


RULES = ("preset", "fix", "strategy", "commit", "delete_retention_ms", "tombstone_removal",
         "cleaner_period_ms", "max_compaction_lag_ms", "version_header", "replica_lag_ms",
         "")  # fmt: skip


@st.composite
def _suites(draw: st.DrawFn, yamls: Sequence[bytes], logs: Sequence[bytes]) -> Case:
    """A folder with sound and broken files, of any name."""
    files: dict[str, Content] = {}
    for _ in range(draw(st.integers(1, 4))):
        name = draw(st.one_of(st.sampled_from(("a.yaml", "b.yml", "c.json", "d/e.yaml", "f.txt")),
                              texts().map(lambda text: f"{text[:60]}.yaml")))  # fmt: skip
        broken = yaml_files(yamls) if draw(st.booleans()) else json_files(logs)
        sound = st.sampled_from((*yamls, *logs))
        special = st.sampled_from((Special("fifo"), Special("folder"), Special("link", "."),
                                   Special("link", "/dev/zero"), Special("hole", "9999999999"),
                                   Special("link", "gone")))  # fmt: skip
        files[f"folder/{name}"] = draw(st.one_of(broken, broken, sound, special))
    argv = draw(st.sampled_from((
        ("suite", "folder"), ("suite", "folder", "--json"), ("suite", "folder", "-k", "timed"),
        ("suite", "folder", "--junit", "out.xml", "--markdown", "out.md", "--github"),
        ("suite", "folder", "--failures", "out"), ("list", "scenarios", "--in", "folder"),
        ("matrix", "folder", "--vary", "fix"), ("list", "scenarios", "--in", "folder", "--json"),
    )))  # fmt: skip
    outputs = tuple(word for word in argv if word.partition(".")[0] == "out")
    return surrounded(draw, Case("", argv, files, outputs))


@st.composite
def _bytes(draw: st.DrawFn) -> Case:
    """Bytes of no grammar, or no file at all, given to whatever reads one file."""
    name = draw(st.sampled_from(("x.yaml", "x.json", "x.csv", "x.parquet", "x.ndjson", "x")))
    special = st.sampled_from((Special("fifo"), Special("folder"), Special("link", "/dev/zero"),
                               Special("link", name), Special("hole", str(2**34)),
                               Special("hole", str(2**20)),
                               Special("link", "/dev/stdin")))  # fmt: skip
    content = draw(st.one_of(anything(), anything(), anything(), special))
    argv = draw(st.sampled_from((
        ("run", name), ("draw", name), ("explain", name), ("shrink", name), ("suite", name),
        ("clean", name), ("eligible", name), ("certify", name), ("trace", "replay", name),
        ("trace", "git", name), ("replay", name, "0"), ("report", name), ("gate", name),
        ("matrix", name, "--vary", "fix"), ("sweep", name, "--out", "out", "--engine", "process"),
    )))  # fmt: skip
    return surrounded(draw, Case("", argv, {name: content}, ("out",)))


def _folders(sound: Mapping[str, bytes]) -> Cases:
    """Commands on a folder of a sweep that was changed."""

    @st.composite
    def made(draw: st.DrawFn) -> Case:
        argv = draw(st.sampled_from(OF_FOLDERS))
        changed = draw(changes(sound))
        files: dict[str, Content] = {f"{SWEEP}/{name}": one for name, one in changed.items()}
        files["plan.yaml"] = PLAN
        return surrounded(draw, Case("", argv, files, (*WRITING.get(argv[0], ()), "out.md"), SWEEP))

    return made()


def _beneath(pattern: str) -> list[Path]:
    return sorted((ROOT / "scenarios").glob(pattern))


def _read(path: Path) -> bytes:
    return path.read_bytes()


def _scenarios(form: str) -> list[bytes]:
    """Small shipped scenarios of this format, every third, so that the choice stays small."""
    contents = (_read(path) for path in _beneath("*/*.yaml"))
    good = [one for one in contents if form.encode() in one and len(one) < MOST_BYTES]
    return good[::3]


def _trace(runner: Runner, story: bytes) -> bytes:
    """The trace of a story."""
    files = {"story.yaml": story}
    made = Case(TRACED.reader, TRACED.argv, files, TRACED.outputs)
    return runner.prepare("trace.ndjson", made).read_bytes()


def _pages(runner: Runner) -> Mapping[str, Sequence[Option]]:
    """The options of every command, out of its help."""
    pages = {}
    for command in COMMANDS:
        answer, _ = runner.answer(Case("help", (*command.split(" "), "--help")))
        pages[command] = options_of(answer.out.decode())
    return pages
