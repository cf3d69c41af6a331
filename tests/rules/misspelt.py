"""Misspelt rules are type errors: `make lint` reads this file, nobody runs it.

mypy complains of every `ignore` that has nothing to ignore.
"""

from sim.protocol.rules import Rules


def comparisons(rules: Rules) -> list[bool]:
    """One value that exists, two that do not, and a rule that does not."""
    return [
        rules.replication.commit == "majority",
        rules.replication.commit == "majorty",  # type: ignore[comparison-overlap]
        "dsk" != rules.election.vote_storage,  # type: ignore[comparison-overlap] # noqa: SIM300
        rules.replication.comit,  # type: ignore[attr-defined]
    ]
