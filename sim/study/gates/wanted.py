"""Which gates are wanted, and the texts of a command line that say so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sim.check.checker import known_invariants
from sim.check.families import FAMILIES
from sim.errors import BadInput, did_you_mean

ANY = "any"
"""The name for a violation of whatever invariant."""
ABOUT = "about"
"""The name for what the plan is about."""
LEVEL = 0.05
"""How often a sound sweep may fail, for all budgets together."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The largest share of the judged runs that may violate something.

    Attributes:
        name: A family, an invariant, `any` or `about`.
        limit: Between 0 and 1, both excluded.
    """

    name: str
    limit: float


@dataclass(frozen=True, slots=True)
class Gates:
    """What a sweep has to fulfil.

    Attributes:
        fail_on: Names that no judged run may violate.
        budgets: Names that few runs may violate.
        rule_sets: Labels of the rule sets that are judged; none = all.
    """

    fail_on: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()
    rule_sets: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any gate."""
        return bool(self.fail_on or self.budgets)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that some gate is about, once."""
        return tuple(dict.fromkeys((*self.fail_on, *(budget.name for budget in self.budgets))))


def names_in(text: str) -> tuple[str, ...]:
    """The names in `NAME[,NAME]`; which ones there are is checked by `check_names`.

    Raises:
        BadInput: One is empty.
    """
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise BadInput(f"--fail-on {text!r}: an empty name; expected NAME or NAME,NAME")
    return names


def budget_in(text: str) -> Budget:
    """The budget in `NAME=SHARE%`.

    Raises:
        BadInput: It is none, or not between 0 % and 100 %.
    """
    name, _, share = (part.strip() for part in text.rpartition("="))
    wrong = f"--budget {text}: expected NAME=SHARE%, as in 'log divergence=0.5%'"
    if not name or not share.endswith("%"):
        raise BadInput(wrong)
    try:
        limit = float(share[:-1]) / 100
    except ValueError:
        raise BadInput(wrong) from None
    if limit == 0:
        raise BadInput(f"--budget {text}: no run at all is --fail-on {name!r}")
    if not 0 < limit < 1:
        raise BadInput(f"--budget {text}: a share is between 0 % and 100 %, both excluded")
    return Budget(name, limit)


def check_names(gates: Gates, *, about: Collection[str], seen: Collection[str] = ()) -> None:
    """Refuse names that no violation can have.

    Args:
        gates: The gates.
        about: What the plan is about; with nothing in it, the name `about` says nothing.
        seen: Invariants that are known from a sweep's folder, beside those of this process.

    Raises:
        BadInput: There is such a name.
    """
    known = [ANY, ABOUT, *FAMILIES, *sorted({*known_invariants(), *seen})]
    for name in gates.names:
        if name not in known:
            raise BadInput(
                f"{name}: no family and no invariant (replog list invariants)"
                f"{did_you_mean(name, known)}; families: {', '.join(FAMILIES)}; or any, about"
            )
        if name == ABOUT and not about:
            raise BadInput("about: the plan does not say what it is about; name a family instead")


def check_rule_sets(gates: Gates, labels: Collection[str]) -> None:
    """Refuse rule sets that a sweep does not have.

    Raises:
        BadInput: Gates name such a one.
    """
    for name in gates.rule_sets:
        if name not in labels:
            hint = did_you_mean(name, labels)
            raise BadInput(f"{name}: no rule set of this sweep{hint}; allowed: {', '.join(labels)}")
