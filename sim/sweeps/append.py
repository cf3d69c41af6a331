"""Growing a sweep in its folder: more cases of its last seed, or another seed after it.

A case is a hash of its seed and its draw, so that those which are there stay what they are. What
there is to do then is what a resumed sweep does: the cases that are in no wave.
"""

from __future__ import annotations

from typing import Any

from sim.errors import BadInput
from sim.sweeps.layout import FINISHED_FILE, PLAN_FILE
from sim.sweeps.output import as_json, clear_errors, describe, differences, sweep_in
from sim.sweeps.parts import FOLDER_FORMAT, missing_cases, plan_content, waves_and_problems
from sim.sweeps.plan import Plan, Sweep, number_parts
from sim.sweeps.segments import Part, seeds_text
from sim.sweeps.storage import Storage
from sim.sweeps.waves import code_problem
from sim.sweeps.whole import damage_in


def grown(
    storage: Storage, plan: Plan, *, count: int | None, seed: int | None, resume: bool
) -> Sweep:
    """What the sweep in a folder becomes; nothing is written.

    Args:
        storage: The folder.
        plan: The plan it was made with.
        count: How many cases the seed is to have; None = as many as the plan says.
        seed: The last one of the sweep, or another; None = the last one.
        resume: Whether an earlier `--append` is continued: then the sweep need not be whole.

    Raises:
        BadInput: The folder holds no such sweep, it is damaged or not finished, was made by other
            code, or there is nothing to grow by.
    """
    with clear_errors(storage.label):
        content = plan_content(storage)
        there = sweep_in(storage.label, content)
        check_same(storage.label, content, number_parts(plan, there.parts))
        waves, _ = waves_and_problems(storage, content)
        problem = code_problem(storage.label, waves)
        if problem is not None:
            raise BadInput(problem)
        if not resume:
            _check_finished(storage, missing=bool(missing_cases(there, waves)))
    last = there.parts[-1]
    wanted = Part(last.seed if seed is None else seed, plan.count if count is None else count)
    found = number_parts(plan, _parts(storage.label, there, wanted, resume=resume))
    check_confirmation(storage.label, found)
    return found


def check_same(label: str, content: dict[str, Any], sweep: Sweep) -> None:
    """Raises BadInput unless a `plan.json` is of this sweep, as this version of Replog makes it."""
    if content["format"] != FOLDER_FORMAT:
        raise BadInput(
            f"{label}: format {content['format']} has no checksums; what grows has {FOLDER_FORMAT}"
        )
    found = differences(content, describe(sweep))
    if found:
        raise BadInput(f"{label}: holds another sweep ({'; '.join(found)})")


def check_confirmation(label: str, sweep: Sweep) -> None:
    """Raises BadInput for a sweep that has the plan's confirmation seed beside others."""
    seeds = [part.seed for part in sweep.parts]
    if len(seeds) > 1 and sweep.plan.confirmation_seed in seeds:
        raise BadInput(
            f"{label}: {seeds_text(sweep.parts)}: {sweep.plan.confirmation_seed} is the plan's "
            "confirmation seed, which confirms nothing beside the others; sweep it into a folder "
            "of its own (--confirm)"
        )


def _check_finished(storage: Storage, *, missing: bool) -> None:
    if missing or FINISHED_FILE not in storage.entries():
        raise BadInput(f"{storage.label}: is not finished; --resume finishes it, then it can grow")
    damage = damage_in(storage, thorough=True)
    if damage:
        name, what = damage[0]
        raise BadInput(f"{storage.label}/{name}: {what}; --resume mends it, then it can grow")


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


def begin(storage: Storage, sweep: Sweep, *, plan_file: str | None) -> None:
    """Say in `plan.json` what the sweep becomes; only for who holds the lock.

    From then on it is a sweep that is not finished.
    """
    before = plan_content(storage)
    storage.remove(FINISHED_FILE)
    content = describe(sweep, plan_file=plan_file or before.get("plan_file"))
    storage.write(PLAN_FILE, as_json(content).encode())
