"""What sweeps lived through, in Markdown for reports/reliability.md."""

from collections.abc import Iterator

from tests.chaos.rounds import Round

WHAT = """\
Each round is a sweep that meets one to three faults at random moments, is continued with
`--resume`, and has a file damaged now and then. After every fault the command must have ended as
it says it does, without a traceback and without leaving a process behind; `replog sweep check` must
find what is there whole, and nothing of it lost; a damaged file must be noticed by `check`, and in
a finished folder by `report` and `replay`. At the end the tables and sums, read without Replog's
own code, must be those of the same sweep left in peace."""


def lines(total: Round, *, seconds: dict[str, float]) -> Iterator[str]:
    """The figures as text."""
    engines = sorted(seconds)
    names = list(dict.fromkeys(name for name, _ in sorted(total.survived)))
    yield f"{'fault':<24}" + "".join(f"{engine:>10}" for engine in engines)
    for name in names:
        counts = "".join(f"{total.survived[name, engine]:>10}" for engine in engines)
        yield f"{name:<24}{counts}"


def section(total: Round, *, minutes: float, seed: int, seconds: dict[str, float]) -> str:
    """The same as a section."""
    engines = sorted(seconds)
    made = f"`make chaos`, seed {seed}, {minutes:.0f} minutes"
    faults = sum(total.survived.values())
    took = " and ".join(f"{seconds[engine]:.0f} s ({engine})" for engine in engines)
    figures = (
        f"{made}: {total.rounds:,} sweeps, {faults:,} faults, {total.rows:,} rows compared, "
        f"{len(total.findings):,} findings.\n"
    )
    times = (
        f"\nLeft in peace the sweep takes {took}. {total.too_late:,} faults more came when the "
        "sweep was over.\n"
    )
    heads = "| fault | " + " | ".join(engines) + " |"
    text = ["## Sweeps that are disturbed\n", figures, WHAT, times, heads]
    text.append("|---|" + "---:|" * len(engines))
    for name in dict.fromkeys(name for name, _ in sorted(total.survived)):
        counts = " | ".join(str(total.survived[name, engine]) for engine in engines)
        text.append(f"| {name} | {counts} |")
    return "\n".join(text)
