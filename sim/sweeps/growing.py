"""Growing a sweep in its folder: more cases of its last seed, or another seed after it.

A case is a hash of its seed and its draw, so that those which are there stay what they are. What
there is to do then is what a resumed sweep does: the cases that are in no block.
"""

from __future__ import annotations

from sim.errors import BadInput
from sim.sweeps.folder import (
    PLAN_FILE,
    TALLIES_FILE,
    clear_errors,
    describe,
    differences,
    is_damaged,
    plan_content,
    sweep_in,
)
from sim.sweeps.plan import Plan, Sweep, number_parts
from sim.sweeps.segments import Part, seeds_text
from sim.sweeps.storage import Folder


def grown(
    folder: Folder, plan: Plan, *, count: int | None, seed: int | None, resume: bool
) -> Sweep:
    """What the sweep in a folder becomes; nothing is written.

    Args:
        folder: The folder.
        plan: The plan it was made with.
        count: How many cases the seed is to have; None = as many as the plan says.
        seed: The last one of the sweep, or another; None = the last one.
        resume: Whether an earlier growth is continued: then the sweep need not be finished.

    Raises:
        BadInput: The folder holds no such sweep, it is not finished, was made by other code, or
            there is nothing to grow by.
    """
    label = folder.label
    with clear_errors(label):
        content = plan_content(folder)
        there = sweep_in(label, content)
        found = differences(content, describe(number_parts(plan, there.parts)))
        if found:
            raise BadInput(f"{label}: holds another sweep ({'; '.join(found)})")
        if not resume and TALLIES_FILE not in folder.entries():
            raise BadInput(f"{label}: is not finished; --resume finishes it, then it can grow")
    last = there.parts[-1]
    wanted = Part(last.seed if seed is None else seed, plan.count if count is None else count)
    sweep = number_parts(plan, _parts(label, there, wanted, resume=resume))
    seeds = [part.seed for part in sweep.parts]
    if len(seeds) > 1 and plan.confirmation_seed in seeds:
        raise BadInput(
            f"{label}: {seeds_text(sweep.parts)}: {plan.confirmation_seed} is the plan's "
            "confirmation seed, which confirms nothing beside the others; sweep it into a folder "
            "of its own (--confirm)"
        )
    return sweep


def _parts(label: str, there: Sweep, wanted: Part, *, resume: bool) -> list[Part]:
    """The seeds that it has with the one that is wanted, in order."""
    *earlier, last = there.parts
    if wanted.seed in [part.seed for part in earlier]:
        raise BadInput(
            f"{label}: seed {wanted.seed} is followed by seed {last.seed}, so that it cannot get "
            "more cases; give another seed"
        )
    if wanted.seed != last.seed:
        return [*there.parts, wanted]
    if wanted.cases < last.cases or (wanted.cases == last.cases and not resume):
        raise BadInput(
            f"{label}: has {last.cases} cases of seed {last.seed} already; give a larger --count, "
            "or another --seed"
        )
    return [*earlier, wanted]


def is_larger(folder: Folder, plan: Plan, *, count: int | None, seed: int | None) -> bool:
    """Whether the same seed is wanted with more cases than the sweep in the folder has."""
    try:
        if PLAN_FILE not in folder.entries() or is_damaged(folder):
            return False
    except NotADirectoryError:  # which is told when it is to be written
        return False
    parts = sweep_in(folder.label, plan_content(folder)).parts
    wanted = Part(plan.seed if seed is None else seed, plan.count if count is None else count)
    return len(parts) == 1 and wanted.seed == parts[0].seed and wanted.cases > parts[0].cases
