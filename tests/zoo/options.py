"""`python -m tests.zoo.options`: what each option of the plan `far` does there, in half an hour.

The same runs are made with and without it; `reports/options.md` has what they come to.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sim.diagnose.what_if.futures import clopper_pearson
from sim.files.atomic import replace_text
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import Mix, generate
from tests.zoo.draws import WIDE, Draw, draws, sweep_of

PAGE = Path("reports/options.md")
ABOUT = (
    "Each option of [far.yaml](../scenarios/sweeps/far.yaml) that the mix `reference` does without,"
    " switched off by itself, in the environment that has it. What goes on otherwise without it is"
    " a share of the same {count} runs, with its exact interval (95 %). Beside it stand the three"
    " situations and violations whose number of runs, with it and without it, differs most, if by"
    " more than chance."
)


class Total(NamedTuple):
    """What some runs have come to."""

    digests: list[str]
    seen: Counter[str]


def main(given: Sequence[str]) -> int:
    """Make the runs and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.options", description=__doc__)
    parser.add_argument("--count", type=int, default=400, help="runs with and without (400)")
    parser.add_argument("--only", nargs="*", metavar="OPTION", help="these options alone")
    chosen = parser.parse_args(given)
    replace_text(PAGE, "\n".join(_page(chosen.count, chosen.only)) + "\n")
    return 0


def _page(count: int, only: Sequence[str] | None) -> Iterator[str]:
    yield from ("# What the options of `far` do", "", ABOUT.format(count=count), "")
    yield from (f"Made by `python -m tests.zoo.options --count {count}`.", "")
    yield from ("| option | in | goes on otherwise | what changes most |", "|---|---|---|---|")
    for environment, options in _options().items():
        chosen = [name for name in options if not only or name in only]
        all_on = _total(environment, count) if chosen else None
        for name in chosen:
            assert all_on is not None
            without = _total(environment, count, without=name)
            pairs = zip(all_on.digests, without.digests, strict=True)
            other = sum(one != two for one, two in pairs)
            share = clopper_pearson(other, count)
            yield (
                f"| `{name}` | `{environment}` | {other} of {count} ({100 * share.low:.0f} to"
                f" {100 * share.high:.0f} %) | {_most(all_on.seen, without.seen)} |"
            )
            print(name, other, flush=True)


def _options() -> dict[str, list[str]]:
    """Environment of the plan -> the options that it has first."""
    found: dict[str, list[str]] = {}
    known: set[str] = set()
    for environment in sweep_of(WIDE).environments:
        plain = Mix()
        on = [
            name
            for name in Mix.model_fields
            if isinstance(getattr(plain, name), float) and not getattr(plain, name)
            if getattr(environment.mix, name) and name not in known
        ]
        known.update(on)
        found[environment.name] = on
    return found


def _total(environment: str, count: int, *, without: str = "") -> Total:
    total = Total([], Counter())
    for draw in islice(_draws(environment), count):
        run = _run(draw, without)
        total.digests.append(run.digest)
        total.seen.update(run.reached)
        total.seen.update(f"violated {name}" for name in run.violated)
    return total


def _draws(environment: str) -> Iterator[Draw]:
    return (one for one in draws(10**6, [WIDE]) if one.environment.name == environment)


def _run(draw: Draw, without: str) -> Run:
    sweep = sweep_of(WIDE)
    mix = sweep.environment_of(draw.case).mix
    if without:
        mix = mix.model_copy(update={without: 0.0})
    scenario = generate(sweep.case_seed(draw.case), mix)
    return run_scenario(scenario.with_rules(sweep.rule_sets[draw.rule_set].rules))


def _most(with_it: Counter[str], without: Counter[str]) -> str:
    """The three that differ most beyond chance: by twice the spread of their difference or more."""

    def beyond(name: str) -> float:
        one, other = with_it[name], without[name]
        return abs(one - other) / math.sqrt(one + other)

    names = [name for name in {*with_it, *without} if beyond(name) >= 2.0]
    first = sorted(names, key=lambda name: (-beyond(name), name))[:3]
    return ", ".join(f"{name} {with_it[name]} / {without[name]}" for name in first) or "nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
