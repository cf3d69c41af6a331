"""What a search tried, as a table: for the terminal and for reports/reliability.md."""

from collections.abc import Iterable, Iterator

from tests.fuzz.hunting import Round

COLUMNS = ("accepted", "failed", "refused", "inconclusive", "other")

WHAT = """\
Sound files of every format are changed in their structure (values at limits and of other types,
fields removed, doubled and renamed, parts of other files, nesting, encodings) and in their bytes;
folders of sweeps and git repositories also in their files, with checksums that fit; command lines
are of any words. Each input has a process of its own. A finding is: a traceback, an exit status
other than 0, 1, 2, 3 and 130, no end within 20 s, more than 1.5 GB of memory, a complaint that is
not a bounded number of bounded lines that begin with `replog: `, control characters on the
terminal, JSON that is none, a file made or changed that was not asked for or by an input that was
refused, a process left behind.
"""
AGAIN = "with another hash seed, and the answers compared"
LEGEND = """
Accepted: status 0; failed: 1, as a story does whose expectation is not met; refused: 2;
inconclusive: 3, a bound was hit. What was once found is tried by every `make test`, from
`tests/fuzz/corpus/`."""


def table(rounds: Iterable[Round]) -> Iterator[str]:
    """Reader by reader, in columns of text."""
    heads = "".join(f"{one:>14}" for one in COLUMNS)
    yield f"{'reader':<16}{'tried':>9}{heads}{'slowest s':>11}{'peak MB':>9}{'findings':>10}"
    for one in rounds:
        counts = "".join(f"{one.answers[column]:>14,}" for column in COLUMNS)
        yield (
            f"{one.reader:<16}{one.tried:>9,}{counts}{one.slowest_seconds:>11.1f}"
            f"{one.peak_bytes >> 20:>9,}{len(one.findings):>10}"
        )


def section(rounds: Iterable[Round], *, minutes: float, seed: int) -> str:
    """The same in Markdown, with what its words mean."""
    rounds = list(rounds)
    tried = sum(one.tried for one in rounds)
    twice = sum(one.twice for one in rounds)
    found = sum(len(one.findings) for one in rounds)
    made = f"`make fuzz`, seed {seed}, {minutes:.0f} minutes"
    columns = " | ".join(COLUMNS[:-1])
    lines = [
        "## Inputs that nobody expects\n",
        f"{made}: {tried:,} inputs tried, {found:,} findings.\n",
        WHAT,
        f"{twice:,} inputs were run twice, the second time {AGAIN}.\n",
        f"| reader | tried | {columns} | slowest, s | peak, MB | findings |",
        "|---|" + "---:|" * 8,
    ]
    for one in rounds:
        counts = " | ".join(f"{one.answers[column]:,}" for column in COLUMNS[:-1])
        lines.append(
            f"| {one.reader} | {one.tried:,} | {counts} | {one.slowest_seconds:.1f} "
            f"| {one.peak_bytes >> 20:,} | {len(one.findings)} |"
        )
    lines.append(LEGEND)
    return "\n".join(lines)
