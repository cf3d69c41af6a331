"""The registry of invariants: the classes of `sim.check.invariants`, and those of plugins.

What an invariant of a plugin raises, or reports with values of a wrong type, is an error of the
plugin (`sim.errors`).
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from sim.check.history import ClusterHistory
from sim.check.invariant import Invariant, Report
from sim.check.listening import Handler, handlers_of, methods_of
from sim.check.violation import NO_FAMILY
from sim.errors import BadInput, Guarded, PluginError, in_one_line

INVARIANTS: dict[str, type[Invariant]] = {}
"""Every invariant by name, once `discover` was called: Replog's own in alphabetical order, then
those of plugins."""

_REGISTERED: dict[str, type[Invariant]] = {}
_NAME = re.compile(r"(?=.{1,64}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")
_I = TypeVar("_I", bound=type[Invariant])


def discover() -> None:
    """Finds every invariant: in the modules of `sim.check.invariants`, and what plugins registered.

    Raises:
        BadInput: The name of a plugin's invariant is one of Replog's own.
        ValueError: A name is taken, or a method `on_...` is not named after an event.
    """
    own = _own_invariants()
    for name in own.keys() & _REGISTERED.keys():
        raise BadInput(f"invariant {name!r}: the name is taken by one of Replog's own")
    INVARIANTS.clear()
    INVARIANTS.update(own | _REGISTERED)


@cache
def _own_invariants() -> dict[str, type[Invariant]]:
    package = import_module("sim.check.invariants")
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(found.name)
    families: list[Any] = [Invariant, *Invariant.__subclasses__()]
    known: list[type[Invariant]] = [cls for family in families for cls in family.__subclasses__()]
    return by_name([cls for cls in known if cls.__module__.startswith(package.__name__)])


def by_name(classes: list[type[Invariant]]) -> dict[str, type[Invariant]]:
    """Invariants by name, in alphabetical order.

    Raises:
        ValueError: A name is taken, or a method `on_...` is not named after an event.
    """
    found: dict[str, type[Invariant]] = {}
    for cls in sorted(classes, key=name_of):
        name = name_of(cls)
        if name in found:
            raise ValueError(f"there are two invariants {name!r}")
        methods_of(cls)
        found[name] = cls
    return found


def name_of(cls: type[Invariant]) -> str:
    """The name of an invariant of Replog's own: `hw-within-log` for HwWithinLog."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()


def declared_family(name: str) -> str:
    """The family of an invariant by its class; `by cause` where facts decide.

    An unknown invariant, such as one of another version, is in no family.
    """
    discover()
    known = INVARIANTS.get(name)
    if known is None:
        return NO_FAMILY
    return "by cause" if known.family_by_cause else known.family


def register_invariant(cls: _I) -> _I:
    """Registers an invariant by which every run is judged from now on; a decorator of its class.

    A name that one of Replog's own has is refused when the first run is to be judged.

    Raises:
        BadInput: It is no class made from Invariant; the name is taken, no text, or not in
            kebab-case; the source or the docstring is missing; there is no method `on_<event>`, or
            one for an event that does not exist.
    """
    problem = _problem(cls)
    if problem is not None:
        label = getattr(cls, "name", "") or getattr(cls, "__name__", cls)
        raise BadInput(f"invariant {label!r}: {problem}")
    _REGISTERED[cls.name] = cls
    return cls


def registered_invariants() -> dict[str, type[Invariant]]:
    """The invariants of users' modules by name, in order of registration."""
    return dict(_REGISTERED)


def forget_invariants(since: int) -> None:
    """Forgets all registered invariants but the first `since` ones."""
    for name in list(_REGISTERED)[since:]:
        del _REGISTERED[name]


def guarded_handlers_of(
    cls: type[Invariant], history: ClusterHistory, report: Report
) -> dict[type, Handler]:
    """The handlers of a registered invariant for one run, by class of event.

    Raises:
        PluginError: The object cannot be made. A handler raises it when the invariant raises
            anything.
    """
    label = f"plugin {cls.__module__}: invariant {cls.name}"
    try:
        handlers = handlers_of(cls(history, report))
    except Exception as error:
        raise PluginError(f"{label}: raises {in_one_line(error)}") from error
    methods = methods_of(cls)
    return {kind: Guarded(f"{label}, {methods[kind]}", handlers[kind]) for kind in handlers}


def _problem(cls: object) -> str | None:
    """The first reason why a class cannot be registered; None if there is none."""
    if not isinstance(cls, type) or not issubclass(cls, Invariant):
        return "not a class made from sim.plugins.Invariant"
    if not isinstance(cls.name, str) or not _NAME.fullmatch(cls.name):
        return f"name is {cls.name!r}; allowed: words in lower case, joined by hyphens"
    if cls.name in _REGISTERED and not _from_the_same_cell(cls, _REGISTERED[cls.name]):
        return f"the name is taken; taken are {', '.join(_REGISTERED)}"
    if not isinstance(cls.source, str) or not cls.source.strip():
        return f"source is {cls.source!r}; allowed: a text that is not empty"
    if not (cls.__doc__ or "").strip() or cls.__doc__ == Invariant.__doc__:
        return "the docstring is missing; it says what must hold"
    try:
        listens = methods_of(cls)
    except ValueError as error:
        return str(error)
    return None if listens else "it listens to nothing; it has a method on_<event>"


def _from_the_same_cell(cls: type[Invariant], before: type[Invariant]) -> bool:
    """True if a cell of a notebook was executed again; then the newer class counts."""
    return cls.__module__ == before.__module__ == "__main__"
