"""Commands as they are meant: on shipped files, with options and values that are allowed."""

from pathlib import Path

from hypothesis import strategies as st

from sim.protocol.rules import RULES
from tests.commands import ROOT
from tests.fuzz.case import Case
from tests.fuzz.mistakes import BOUNDS, MOST_BYTES, Cases

RULE_VALUES = {rule.name: [str(value).lower() for value in rule.values] for rule in RULES.values()}
MANY = [name for name, found in RULE_VALUES.items() if len(found) > 1]
SMALL = [
    path for path in sorted((ROOT / "scenarios").rglob("*.*")) if path.stat().st_size < MOST_BYTES
]
SCENARIOS = [path for path in SMALL if path.suffix == ".yaml" and "expect:" in path.read_text()]
FOLDERS = [f"scenarios/{name}" for name in ("isr", "epochs", "kip87", "bounds", "durability")]
rule = st.sampled_from(MANY).flatmap(
    lambda name: st.sampled_from(RULE_VALUES[name]).map(lambda value: f"{name}={value}")
)
chosen = st.one_of(st.sampled_from(MANY), rule)


def _some(*options: st.SearchStrategy[tuple[str, ...]]) -> st.SearchStrategy[tuple[str, ...]]:
    """Words of up to two of the options, in any order."""
    two = st.lists(st.one_of(*options), max_size=2, unique_by=lambda words: words[0])
    return two.map(lambda found: tuple(word for words in found for word in words))


def _of(kind: str, pattern: str) -> st.SearchStrategy[str]:
    paths = [path for path in SMALL if path.match(pattern)]
    assert paths, kind
    return st.sampled_from(paths).map(_name)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@st.composite
def commands(draw: st.DrawFn) -> Case:
    """One command; every file that comes with Replog lies beside it."""
    a_rule = rule.map(lambda word: ("--rule", word))
    under = chosen.map(lambda word: ("--under", word))
    json, seed = st.just(("--json",)), st.integers(0, 2**32).map(lambda n: ("--seed", str(n)))
    explain, what_if = st.just(("--explain",)), st.just(("--what-if", "--within", "1"))
    trace, failures = st.just(("--trace", "out.ndjson")), st.just(("--failures", "out"))
    page, picture = st.just(("-o", "out.md")), st.sampled_from(["html", "svg", "txt"])
    drawing, junit = picture.map(lambda end: ("-o", f"out.{end}")), st.just(("--junit", "out.xml"))
    file = st.sampled_from(SCENARIOS).map(_name)
    many = st.one_of(file, file, st.sampled_from(FOLDERS))
    of_log, of_eligible = (_of(kind, f"{kind}_*.json") for kind in ("log", "eligible"))
    argv = draw(
        st.one_of(
            _with("run", file, _some(json, seed, a_rule, explain, trace, failures)),
            _with("explain", file, _some(json, a_rule, what_if)),
            _with("draw", file, _some(a_rule, drawing)),
            _with("shrink", file, _some(json, st.just(("-o", "out.yaml")))),
            _with("suite", many, _some(json, junit, failures, st.just(("-k", "not timed")))),
            _with("matrix", many, chosen.map(lambda word: ("--vary", word)),
                  _some(json, under, a_rule, page)),
            _with("clean", of_log, _some(json, a_rule)),
            _with("eligible", of_eligible, _some(json, a_rule)),
            _with("list", st.sampled_from(("rules", "ops", "mixes", "columns")), _some(json)),
            _with("new", st.sampled_from(("story", "scenario", "log", "plan", "workflow"))),
        )
    )  # fmt: skip
    outputs = tuple(word for word in argv if word.partition(".")[0] == "out")
    outputs += ("out_near_miss.yaml",) if argv[0] == "shrink" else ()
    within = ("--within", "1") if argv[0] == "shrink" else ()
    bounds = () if argv[0] in ("list", "new") else BOUNDS
    return Case((*argv, *within, *bounds), {}, outputs)


def _with(
    command: str, file: st.SearchStrategy[str], *options: st.SearchStrategy[tuple[str, ...]]
) -> st.SearchStrategy[tuple[str, ...]]:
    return st.tuples(file, *options).map(lambda said: (command, said[0], *sum(said[1:], ())))


def legal() -> Cases:
    """The commands, with what they read beside them."""
    return commands().map(_with_files)


def _with_files(case: Case) -> Case:
    name = case.argv[1]
    paths = [path for path in (ROOT / name).rglob("*") if path.is_file()] or [ROOT / name]
    paths = paths if "/" in name else []
    return Case(case.argv, {_name(path): path.read_bytes() for path in paths}, case.outputs)
