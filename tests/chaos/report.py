"""What sweeps lived through, in Markdown for reports/reliability.md."""

from collections.abc import Iterator, Sequence

from tests.chaos.faults import A_ROUND, FAULTS
from tests.chaos.rounds import DAMAGED, Round

WHAT = f"""\
Engines: `process`, worker processes of one machine; `spark`, Spark in one machine; `cluster`, a
standalone Spark cluster of a master and two workers on loopback, whose executors' Python is bare.
All go on at the same time, each with one round after another. A round is a sweep that meets
{A_ROUND} faults, each at a random moment, is continued with `--resume`, and has a file damaged now
and then; one that ends meanwhile is compared, and another one begins. Which fault is next is dealt
from all that the engine can meet, shuffled, and shuffled again when they are through. Waves come
into place every half second instead of every five, so that there is always something to continue.

After every fault the command must have ended as it says it does, without a traceback and without
leaving a process behind, executors of the cluster included; `replog sweep check` must find what is
there whole, and nothing of it lost; a damaged file must be noticed by `check`, and in a finished
folder by `report` and `replay`. A sweep that lost an executor or a worker of the cluster must
finish. At the end the tables and sums, read without Replog's own code, must be those of the same
sweep left in peace."""


def lines(total: Round, *, seconds: dict[str, float]) -> Iterator[str]:
    """The figures as text."""
    yield f"{'fault':<24}" + "".join(f"{engine:>10}" for engine in seconds)
    for name, counts in _table(total, list(seconds)):
        yield f"{name:<24}" + "".join(f"{one:>10}" for one in counts)


def section(total: Round, *, minutes: float, seed: int, seconds: dict[str, float]) -> str:
    """The same as a section."""
    made = f"`make chaos`, seed {seed}, {minutes:.0f} minutes"
    faults = sum(total.survived.values())
    took = ", ".join(f"{each:.0f} s ({engine})" for engine, each in seconds.items())
    figures = (
        f"{made}: {total.rounds:,} rounds, {faults:,} faults, {total.compared:,} sweeps of "
        f"{total.rows:,} rows compared, {len(total.findings):,} findings.\n"
    )
    times = (
        f"\nLeft in peace, all at the same time, the sweep takes {took}. "
        f"{total.too_late:,} faults more came when the sweep was over.\n"
    )
    heads = "| fault | " + " | ".join(seconds) + " |"
    text = ["## Sweeps that are disturbed\n", figures, WHAT, times, heads]
    text.append("|---|" + "---:|" * len(seconds))
    for name, counts in _table(total, list(seconds)):
        text.append(f"| {name} | " + " | ".join(counts) + " |")
    return "\n".join(text)


def _table(total: Round, engines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """A row per fault, how often each engine met it; nothing where it cannot."""
    can = {(fault.name, engine) for fault in FAULTS for engine in fault.engines}
    can |= {(DAMAGED, engine) for engine in engines}
    for name in dict.fromkeys([*(fault.name for fault in FAULTS), DAMAGED]):
        met = [(name, engine) for engine in engines]
        if any(each in can for each in met):
            yield name, [str(total.survived[each]) if each in can else "" for each in met]
