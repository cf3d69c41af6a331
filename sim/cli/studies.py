"""`replog matrix`, `replog causes` and `replog explore`: answers from many runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sim.bounds import Bounds, resident_bytes
from sim.cli.arguments import (
    Argument,
    FloatRange,
    Folder,
    GivenRules,
    IntRange,
    Json,
    Output,
    SparkOptions,
    rule_values,
    shipped,
)
from sim.cli.output import EXIT_INCONCLUSIVE, print_answer, print_json, print_table, tell
from sim.errors import BadInput
from sim.files.foreign import command_line, file_name, one_line
from sim.files.shipped import check_extra
from sim.plugins import as_options, command_of

if TYPE_CHECKING:
    from sim.study.causes import Cause, Causes
    from sim.study.explore.answers import Progress, SearchAnswer
    from sim.study.explore.levels import Engine
    from sim.study.explore.plan import SearchPlan
    from sim.study.matrix import Matrix


def matrix(
    paths: Annotated[list[Path], Argument(shipped, "paths...", nargs="+")],
    *,
    vary: Annotated[str, Argument(metavar="RULE[=V,…]")],
    under: Annotated[list[str] | None, Argument(metavar="RULE[=V,…][+RULE…]")] = None,
    rule: GivenRules = None,
    skip: Annotated[list[str] | None, Argument(metavar="PATTERN")] = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Run scenarios under every value of one rule; print what each value violates and costs.

    Args:
        paths: Stories, timed scenarios, folders of them; or names of shipped ones.
        vary: The rule to vary, and its values (default: all).
        under: Another rule, or several joined by +, to combine with it; may be given more than
            once.
        skip: Leave out files with such a name; may be given more than once.
        output: Also write a page of Markdown to this file.
    """
    from sim.files.atomic import check_writable, replace_text
    from sim.study import matrix as page
    from sim.study.matrix import choice_of, choices_of, make_matrix

    if output is not None:
        check_writable(output, what=f"--output {output}", read=paths)
    made = make_matrix(
        paths,
        choice_of(vary, option="--vary"),
        under=[choices_of(text, option="--under") for text in under or []],
        rules=rule_values(rule),
        skip=skip or (),
    )
    if output is not None:
        command = _command(paths, vary, output, under=under, rule=rule, skip=skip)
        replace_text(output, page.as_markdown(made, command=command, folder=output.parent))
    if as_json:
        print_json(page.as_document(made))
        return 0
    _print_matrix(made)
    if output is not None:
        tell(str(output))
    return 0


def _print_matrix(made: Matrix) -> None:
    from sim.study import matrix as page

    if len(made.conditions) > 1:
        print_table(page.conditions_table(made), texts=True)
        print(*(f"{letter}: {name}" for letter, name in page.letters(made).items()), "", sep="\n")
    for rows in (page.invariants_table(made), page.prices_table(made), page.scenarios_table(made)):
        print_table(rows)
        print()
    differing = sum(line.differs for line in made.lines)
    print(f"{made.varied.rule} changes what {differing} of {len(made.lines)} scenarios violate")


def _command(paths: list[Path], vary: str, output: Path, **repeated: object) -> str:
    """The command with its options in a fixed order."""
    words: list[object] = [*paths, "--vary", vary]
    for name, given in repeated.items():
        values: list[object] = given if isinstance(given, list) else []
        words += [word for value in values for word in (f"--{name}", str(value))]
    return f"replog matrix {command_line([*words, *as_options(), '-o', output])}"


LISTED_MAX = 6
"""Number of rule sets, each in one environment, listed for a cause: those with the most runs."""


def causes(folder: Folder, *, as_json: Json = False) -> int:
    """Group the failing runs of a sweep by cause, each with an example and a known story.

    A cause is a family of invariants and the mechanism that violated one, found in the events of
    each run. Exit status 0; 2: no such sweep.
    """
    from sim.study.causes import causes_of

    found = causes_of(folder)
    return print_answer(as_json, found.as_json(), partial(_show_causes, found))


def _show_causes(found: Causes) -> None:
    tell(found.text)
    for number, cause in enumerate(found.causes, 1):
        print()
        tell(f"{number}. {cause.text}")
        first = ", ".join(f"{name} {runs:,}" for name, runs in cause.invariants.items())
        tell(f"   first violated: {first}")
        print_table(list(_shares(cause)))
        print(*map(one_line, _facts(found, cause)), sep="\n")


def _shares(cause: Cause) -> Iterator[dict[str, str]]:
    """Rule sets and environments in which the cause occurred, most runs first."""
    from sim.study.sweep.numbers import shares

    met = sorted((share for share in cause.shares if share.runs), key=lambda one: -one.runs)
    for share in met[:LISTED_MAX]:
        interval = "-" if share.interval is None else shares(share.interval)
        yield {
            "   rule set": f"   {share.label}",
            "environment": share.environment,
            "runs": f"{share.runs:,} of {share.judged:,}",
            "95 %": interval,
        }
    if met[LISTED_MAX:]:
        runs = sum(share.runs for share in met[LISTED_MAX:])
        others = f"   and {len(met) - LISTED_MAX} more"
        yield {"   rule set": others, "environment": "", "runs": f"{runs:,}", "95 %": ""}


def _facts(found: Causes, cause: Cause) -> Iterator[str]:
    from sim.study.causes import NOT_KNOWN

    example, story = cause.example, cause.story
    yield f"   earliest: after {example.at_ms:,} ms: {example.sentence}"
    yield f"     {command_of('run', found.folder, example.run_id)}"
    if story is None:
        yield f"   {NOT_KNOWN}"
    else:
        yield f"   known: {story.path} ({story.size})"


DOCUMENT, PAGE = "explored.json", "explored.md"
FORMAT = "replog-explored/1"
ENGINES = ("process", "spark")
LEVELS = "levels"
_SAME = {"plan": "another plan", "made_by": "another version"}
"""Fields that have to be equal to resume a search, each with the message where they differ."""
MEGABYTES = 8_000


def explore(
    plan: Annotated[Path, Argument(metavar="PLAN")],
    *,
    out: Annotated[Path | None, Argument(metavar="DIR")] = None,
    resume: bool = False,
    on: SparkOptions,
    levels: Annotated[str | None, Argument(metavar="DIR")] = None,
    processes: Annotated[int, Argument(IntRange(1, 64), "N", flags=("-j", "--processes"))] = 1,
    seconds: Annotated[float, Argument(FloatRange(0), "S")] = 0,
    memory_mb: Annotated[int, Argument(IntRange(0), "MB")] = MEGABYTES,
    as_json: Json = False,
) -> int:
    """Search all schedules of a small world for the shortest violation of each invariant.

    Breadth first, so that the first violation of each invariant has a shortest schedule. "Nothing
    found" is a statement about the world and the budgets of the plan, and no more. Exit status: 0
    every search is complete, or reached the depth that the plan asks for; 3 a bound stopped one.

    Args:
        plan: A plan, `format: replog-explore/1`.
        out: Write explored.json and explored.md there, and a story and its near miss for each
            violation.
        resume: Skip the searches that are done in DIR, and continue those that were stopped, each
            behind its last level; prints how many were done.
        levels: Folder for the levels of a search on Spark (default: DIR/levels); at an address,
            such as hdfs://…, they are kept.
        processes: Number of searches at the same time; on Spark one.
        seconds: Seconds after which a search stops, with the results so far; 0 for no bound.
        memory_mb: Growth of memory in MB at which a search stops; 0 for no bound.
    """
    from sim.study.explore.answers import as_document, tasks_of
    from sim.study.explore.answers import explore as search
    from sim.study.explore.plan import load_plan

    asked = load_plan(plan)
    bounds = Bounds(seconds or None, memory_mb or None)
    # As sets: a comparison of two rule sets has an answer with either of them first.
    order = [{*task} for task in tasks_of(asked)]
    keep = out / LEVELS if out is not None else None
    with _engine(on, levels, keep) as engine:
        begun = _begun(out, asked, resume=resume)
        found = [one for one in begun if _is_done(one, asked)]
        done = {(one["label"], one.get("against", "")) for one in found}
        if resume:
            tell(f"{len({*map(frozenset, done)})} of {len(order)} searches were done", sys.stderr)
        for answers in search(
            asked,
            processes=processes,
            bounds=bounds,
            on_level=partial(_tell_level, bounds),
            done=done,
            keep=keep,
            engine=engine,
        ):
            found += as_document(answers)
            found.sort(key=lambda one: order.index({one["label"], one.get("against", "")}))
            if out is not None:
                _write(out, asked, found, answers)
    status = 0 if all(_is_done(one, asked) for one in found) else EXIT_INCONCLUSIVE
    show = partial(_show_found, asked, found)
    return print_answer(as_json, _document(asked, found), show, status=status)


@contextmanager
def _engine(on: SparkOptions, levels: str | None, keep: Path | None) -> Iterator[Engine | None]:
    """The engine on Spark; None for searches in processes of this machine."""
    if on.engine not in (None, *ENGINES):
        raise BadInput(f"--engine {on.engine}: one of {', '.join(ENGINES)}")
    settings = on.settings(default="process")
    if on.engine != "spark":
        for name, value in (("master", on.master), ("levels", levels)):
            if value is not None:
                raise BadInput(f"--{name} {value}: only with --engine spark")
        yield None
        return
    check_extra("searches on Spark need", "sweep", "pyspark")
    from sim.study.explore.spark import on_spark

    place = levels or keep
    if place is None:
        raise BadInput("--engine spark: needs a folder for its levels: --out DIR or --levels DIR")
    address = str(place) if "://" in str(place) else str(Path(place).absolute())
    with on_spark(address, master=on.master, settings=settings) as engine:
        yield engine


def _is_done(answer: Mapping[str, Any], plan: SearchPlan) -> bool:
    """True where a search is complete, or reached the depth that the plan asks for."""
    return bool(answer["exhausted"] or answer["depth"] == plan.depth)


def _begun(out: Path | None, plan: SearchPlan, *, resume: bool) -> list[dict[str, Any]]:
    """Reads the answers in the folder; begins a folder that has no document."""
    if out is None:
        if resume:
            raise BadInput("--resume: needs the folder of a search that was stopped: --out DIR")
        return []
    path = out / DOCUMENT
    if not path.exists():
        out.mkdir(parents=True, exist_ok=True)
        _write(out, plan, [], [])
        return []
    if not resume:
        raise BadInput(f"--out {out}: {DOCUMENT} exists; --resume continues it")
    from sim.files.reading import read_text

    try:
        known = json.loads(read_text(path))
        asked = _document(plan, [])
        other = [label for name, label in _SAME.items() if known[name] != asked[name]]
        found: list[dict[str, Any]] = known["answers"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}; remove it to start again") from error
    if other:
        raise BadInput(f"{path}: is of {other[0]}; name another folder, or remove {out}")
    return found


def _document(plan: SearchPlan, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    from sim.version import made_by

    return {
        "format": FORMAT,
        "plan": plan.model_dump(mode="json"),
        "made_by": str(made_by()),
        "answers": list(found),
    }


def _write(
    out: Path, plan: SearchPlan, found: Sequence[dict[str, Any]], answers: Iterable[SearchAnswer]
) -> None:
    from sim.files.atomic import replace_text
    from sim.files.foreign import json_text
    from sim.study.explore.page import as_markdown

    for answer in answers:
        named = [answer.label, *(["not", answer.against] if answer.against else [])]
        folder = out / file_name("_".join(named), instead="rules")
        for witness in answer.witnesses:
            folder.mkdir(exist_ok=True)
            texts = {"": witness.story, ".near_miss": witness.near_miss}
            for what, text in texts.items():
                if text:
                    replace_text(folder / f"{witness.invariant}{what}.yaml", text)
    document = _document(plan, found)
    replace_text(out / PAGE, as_markdown(document["plan"], found) + "\n")
    replace_text(
        out / DOCUMENT, json_text(document, indent=1) + "\n"
    )  # last: what it names is there


def _tell_level(bounds: Bounds, name: str, at: Progress) -> None:
    if at.resumed:
        print(
            f"{name}: continues behind depth {at.depth}: {at.states:,} states were there, "
            f"{at.frontier:,} next",
            file=sys.stderr,
            flush=True,
        )
    elif at.seconds > 1:
        states = f"{at.states:,} states ({at.states / at.seconds:,.0f}/s), {at.frontier:,} next"
        left = f" of {bounds.seconds:.0f} s" if bounds.seconds else " s"
        used = f"{resident_bytes() / 10**6:,.0f} MB, {at.seconds:.0f}{left}"
        print(f"{name}: depth {at.depth}: {states}; {used}", file=sys.stderr, flush=True)


def _show_found(plan: SearchPlan, found: Sequence[dict[str, Any]]) -> None:
    from sim.study.explore.page import note_on, untouched

    rows = [
        {
            "rules": one["label"] + (f" (not {one['against']})" if one.get("against") else ""),
            "states": f"{one['states']:,}",
            "transitions": f"{one['transitions']:,}",
            "depth": one["depth"],
            "every schedule": "yes" if one["exhausted"] else "no",
            "breaks": len(one["witnesses"]),
        }
        for one in found
    ]
    print_table(rows)
    for rule in untouched(plan, found):
        tell(note_on(rule))
    for one in found:
        for witness in one["witnesses"]:
            healed = f"; not under {witness['healed_by']}" if "healed_by" in witness else ""
            disputed = "; the oracle of traces does not find it" if "disputed" in witness else ""
            steps = f"after {witness['steps']} steps{healed}{disputed}"
            print(f"\n{one['label']}: {witness['invariant']} {steps}")
            print(*[f"  {line}" for line in witness["schedule"]], sep="\n")
            tell(f"  {witness['sentence']}")
