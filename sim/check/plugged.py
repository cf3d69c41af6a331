"""Registering invariants that live in other people's modules: for `sim.plugins`, which offers it.

Such a class is no subclass of `sim.check.registry.Invariant`: that one may be compiled, and has no
subclasses outside. It has the same shape, and the checker hands it the same events. What it raises,
or reports with values of a wrong type, is said of the plugin (`sim.files.plugin_calls`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, ClassVar, TypeVar, get_args

from sim.errors import BadInput, PluginError, did_you_mean
from sim.files.plugin_calls import Guarded, shortly, told
from sim.protocol.events import Event

Report = Callable[[str | None, int | None, str | None, str], None]
"""Takes a violation: replica, offset, key, sentence."""

_NAME = re.compile(r"(?=.{1,64}$)[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Invariant:
    """Base of an invariant of your own: a law that the events of every run are held to.

    It has a method `on_<event>` for each kind of event it listens to (`on_appended` for
    `sim.protocol.events.Appended`), called after `history` has taken the event in. It reports with
    `violated`, changes nothing and raises nothing. There is one object per run. Its docstring is
    the law, as people are told it.

    Attributes:
        name: In kebab-case, as in files and reports.
        source: Who asks for it.
        history: What was written and committed so far, and what every replica holds
            (`sim.check.history.ClusterHistory`).
        queries: The same: what can be asked about it is in `sim.check.queries`.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    kind: ClassVar[str] = "safety"
    in_stories: ClassVar[bool] = True
    fairness: ClassVar[str] = ""
    family: ClassVar[str] = "in no family"
    family_by_cause: ClassVar[bool] = False
    explained_by: ClassVar[str] = ""

    def __init__(self, history: Any, report: Report) -> None:
        """Watch the events that `history` takes in."""
        self.history = self.queries = history
        self._report = report

    def violated(
        self,
        sentence: str,
        *,
        replica: str | None = None,
        offset: int | None = None,
        key: str | None = None,
    ) -> None:
        """Report a violation: what happened, with the numbers in it, and where.

        One of the same replica, offset and key counts once in a run.

        Raises:
            PluginError: A value is of a wrong type, so that no table could hold it.
        """
        for name, value in (("sentence", sentence), ("replica", replica), ("key", key)):
            if not isinstance(value, str) and (value is not None or name == "sentence"):
                raise PluginError(f"{_label(type(self))}: {name} is {shortly(value)}, not a text")
        if offset is not None and type(offset) is not int:
            raise PluginError(f"{_label(type(self))}: offset is {shortly(offset)}, not a number")
        self._report(replica, offset, key, sentence)


_I = TypeVar("_I", bound=type[Invariant])

_REGISTERED: dict[str, type[Invariant]] = {}


def register_invariant(cls: _I) -> _I:
    """Have every run judged by an invariant of your own; a decorator of its class.

    A name that one of Replog's own has is refused when the first run is to be judged.

    Raises:
        BadInput: The name is taken, no text, or not in kebab-case; the source or the docstring is
            missing; there is no method `on_<event>`, or one for an event that does not exist.
    """
    problem = _problem(cls)
    if problem is not None:
        label = getattr(cls, "name", "") or getattr(cls, "__name__", cls)
        raise BadInput(f"invariant {label!r}: {problem}")
    _REGISTERED[cls.name] = cls
    return cls


def registered_invariants() -> dict[str, type[Invariant]]:
    """Those of other people's modules by name, in order of registration."""
    return dict(_REGISTERED)


def forget_invariants(since: int) -> None:
    """Take back what was registered after the first `since` ones."""
    for name in list(_REGISTERED)[since:]:
        del _REGISTERED[name]


def watch(cls: type[Invariant], history: Any, report: Report) -> dict[type, Callable[[Any], None]]:
    """A new object of a registered class for one run: class of event -> what takes it.

    Raises:
        PluginError: It cannot be made; its handlers raise it, when they raise anything or report
            what is no violation.
    """
    label = _label(cls)
    try:
        invariant = cls(history, report)
    except Exception as error:
        raise PluginError(f"{label}: raises {told(error)}") from error
    events = events_by_method()
    return {
        events[name]: Guarded(f"{label}, {name}", getattr(invariant, name))
        for name in _methods(cls)
    }


def _label(cls: type[Invariant]) -> str:
    return f"plugin {cls.__module__}: invariant {cls.name}"


def _problem(cls: object) -> str | None:
    """The first thing that is wrong with it."""
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
    events, methods = events_by_method(), _methods(cls)
    for name in methods:
        if name not in events:
            return f"{name}: there is no such event{did_you_mean(name, events)}"
    return None if methods else "it listens to nothing; it has a method on_<event>"


def _from_the_same_cell(cls: type[Invariant], before: type[Invariant]) -> bool:
    """Whether a cell of a notebook was executed once more: the newer one counts."""
    return cls.__module__ == before.__module__ == "__main__"


def _methods(cls: type[Invariant]) -> list[str]:
    return [name for name in dir(cls) if name.startswith("on_")]


@cache
def events_by_method() -> dict[str, type]:
    """`on_leader_elected` -> LeaderElected."""
    return {
        "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind
        for kind in get_args(Event)
    }
