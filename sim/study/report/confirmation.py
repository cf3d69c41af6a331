"""The same plan under a seed that nobody looked at while it was worked on, beside the first.

Whoever works on a model, a rule or a plan looks at what one seed draws, and what is mended then is
what that seed shows. So a report has its rates under a second seed as well, and says whether both
agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

from sim.errors import BadInput
from sim.study.report.shares import Share, named_share, rate_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording

SURE = 0.05
"""Below this, two rates differ."""
ANYTHING = "any invariant"
"""What is compared where a plan does not say what it is about."""


def confirm(folder: SweepFolder, other: SweepFolder) -> dict[str, Any]:
    """Compare a sweep with the one of the same plan under its confirmation seed.

    What is told: the `development_seed` of the first sweep, and of the second the
    `confirmation_seed`, the `command` that made it and its `cases`; all `rates` under both, with p
    values of Fisher's exact test, Holm's over all of them; and a `text`.

    Raises:
        BadInput: The other one is no such sweep.
    """
    plan = folder.plan
    for name in ("plan", "rule_sets", "package_version"):
        if plan[name] != other.plan[name]:
            raise BadInput(
                f"{other.name}: another {name} than in {folder.name}; it confirms nothing"
            )
    seed, wanted = plan["seed"], plan["plan"].get("confirmation_seed")
    if wanted is None:
        raise BadInput(
            f"{folder.name}: its plan gives no confirmation_seed, so no sweep can confirm it; "
            "give the plan one and sweep again"
        )
    if seed == wanted:
        raise BadInput(f"{folder.name}: made with its confirmation seed, {wanted}")
    if (made_with := other.plan["seed"]) != wanted:
        raise BadInput(
            f"{other.name}: made with seed {made_with}; the plan's confirmation seed is {wanted}"
        )
    rates: list[dict[str, Any]] = [
        {
            "environment": one.environment,
            "label": entry["label"],
            "name": name,
            "development": _share(entry, name),
            "confirmation": _share(again, name),
        }
        for one, twin in zip(folder.environments, other.environments, strict=True)
        for name in folder.about or [ANYTHING]
        for entry, again in zip(one.tallies["rule_sets"], twin.tallies["rule_sets"], strict=True)
    ]
    adjusted = stats.holm([_fisher(one["development"], one["confirmation"]) for one in rates])
    for one, p in zip(rates, adjusted, strict=True):
        one["adjusted_p"] = p
    return {
        "development_seed": seed,
        "confirmation_seed": wanted,
        "command": other.sweep_command,
        "cases": other.plan["count"],
        "rates": rates,
        "text": _text(rates, seed, wanted),
    }


def _text(rates: Sequence[Mapping[str, Any]], seed: int, confirmation_seed: int) -> str:
    """Whether the seeds agree, as a sentence."""
    apart = [one for one in rates if one["adjusted_p"] < SURE]
    found = "none differs" if not apart else f"{len(apart)} differ"
    named = "".join(
        f"; {one['name']} under {one['label']} ({one['environment']}) "
        f"{one['development'].runs} of {wording.count(one['development'].judged)} against "
        f"{one['confirmation'].runs} of {wording.count(one['confirmation'].judged)}"
        for one in apart
    )
    return (
        f"Of {len(rates)} rates under seed {seed} and the confirmation seed {confirmation_seed} "
        f"{found} (Fisher's exact test, p values Holm's){named}."
    )


def _share(entry: dict[str, Any], name: str) -> Share:
    return rate_of(entry) if name == ANYTHING else named_share(entry, name)


def _fisher(one: Share, other: Share) -> float:
    """Two-sided p that two shares are of one rate."""
    table = np.array([[share.runs, share.judged - share.runs] for share in (one, other)])
    return float(scipy_stats.fisher_exact(table).pvalue) if one.judged and other.judged else 1.0
