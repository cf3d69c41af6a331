"""The same plan under a seed that nobody looked at while it was worked on, beside the first.

Whoever works on a model, a rule or a plan looks at what one seed draws, and what is mended then is
what that seed shows. So a report has its rates under a second seed as well, and says whether both
agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats as scipy_stats

from sim.errors import BadInput
from sim.report.shares import Share, named_share, rate_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording

SURE = 0.05
"""Below this, two rates differ."""
ANYTHING = "any invariant"
"""What is compared where a plan does not say what it is about."""


@dataclass(frozen=True, slots=True)
class TwoRates:
    """One rate under both seeds."""

    environment: str
    label: str
    name: str
    """A family or an invariant that the plan is about."""
    development: Share
    confirmation: Share
    adjusted_p: float
    """Of Fisher's exact test that both are one rate; Holm's, over all of them."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """All rates under both seeds."""

    development_seed: int
    """The first one."""
    development_seeds: tuple[int, ...]
    """All, of a sweep that has grown."""
    confirmation_seed: int
    command: str
    """What made the second sweep."""
    cases: int
    """Of the second sweep."""
    rates: tuple[TwoRates, ...]

    @property
    def text(self) -> str:
        """Whether the seeds agree, as a sentence."""
        apart = [one for one in self.rates if one.adjusted_p < SURE]
        count = len(self.rates)
        found = "none differs" if not apart else f"{len(apart)} differ"
        named = "".join(
            f"; {one.name} under {one.label} ({one.environment}) {one.development.runs} of "
            f"{wording.count(one.development.judged)} against {one.confirmation.runs} of "
            f"{wording.count(one.confirmation.judged)}"
            for one in apart
        )
        listed = ", ".join(map(str, self.development_seeds))
        seeds = f"{'seed' if len(self.development_seeds) == 1 else 'seeds'} {listed}"
        return (
            f"Of {count} rates under {seeds} and the confirmation seed "
            f"{self.confirmation_seed} {found} (Fisher's exact test, p values Holm's){named}."
        )


def confirm(folder: SweepFolder, other: SweepFolder) -> Confirmation:
    """Compare a sweep with the one of the same plan under its confirmation seed.

    Raises:
        BadInput: The other one is no such sweep.
    """
    plan = folder.plan
    for name in ("plan", "rule_sets", "package_version"):
        if plan[name] != other.plan[name]:
            raise BadInput(
                f"{other.name}: another {name} than in {folder.name}; it confirms nothing"
            )
    seeds = tuple(part.seed for part in folder.parts)
    wanted = plan["plan"].get("confirmation_seed")
    if wanted is None:
        raise BadInput(
            f"{folder.name}: its plan gives no confirmation_seed, so no sweep can confirm it; "
            "give the plan one and sweep again"
        )
    if wanted in seeds:
        raise BadInput(
            f"{folder.name}: the confirmation seed {wanted} is among its own ({folder.seeds_text});"
            " it confirms nothing"
        )
    if [part.seed for part in other.parts] != [wanted]:
        raise BadInput(
            f"{other.name}: made with {other.seeds_text}; the plan's confirmation seed is {wanted}"
        )
    found = [
        (one.environment, entry["label"], name, *(_share(of, name) for of in (entry, again)))
        for one, twin in zip(folder.environments, other.environments, strict=True)
        for name in folder.about or [ANYTHING]
        for entry, again in zip(one.tallies["rule_sets"], twin.tallies["rule_sets"], strict=True)
    ]
    values = [_fisher(development, confirmation) for *_, development, confirmation in found]
    return Confirmation(
        development_seed=seeds[0],
        development_seeds=seeds,
        confirmation_seed=wanted,
        command=other.sweep_command,
        cases=other.plan["count"],
        rates=tuple(TwoRates(*one, p) for one, p in zip(found, stats.holm(values), strict=True)),
    )


def _share(entry: dict[str, Any], name: str) -> Share:
    return rate_of(entry) if name == ANYTHING else named_share(entry, name)


def _fisher(one: Share, other: Share) -> float:
    """Two-sided p that two shares are of one rate."""
    table = np.array([[share.runs, share.judged - share.runs] for share in (one, other)])
    return float(scipy_stats.fisher_exact(table).pvalue) if one.judged and other.judged else 1.0
