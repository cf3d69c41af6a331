"""Plugins: modules that register strategies, fixes, tombstone removal rules or invariants.

They are found as entry points of the group `replog.plugins`, or named with `--plugin MODULE`.
Workers of a sweep are told which, and where they were found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from sim.compaction.extending import (
    REGISTERED,
    Registered,
    forget,
    register_fix,
    register_strategy,
    register_tombstone_removal,
)
from sim.compaction.strategies import STRATEGIES, Version
from sim.errors import BadInput
from sim.invariant_plugins import (
    Invariant,
    forget_invariants,
    register_invariant,
    registered_invariants,
)
from sim.log import Record

__all__ = [
    "GROUP",
    "NO_PLUGINS",
    "Invariant",
    "Plugins",
    "as_options",
    "in_use",
    "invariants_by",
    "load_in_worker",
    "load_installed",
    "load_plugins",
    "named",
    "register_fix",
    "register_invariant",
    "register_strategy",
    "register_tombstone_removal",
    "registered_by",
    "registered_invariants",
    "registered_order",
]

GROUP = "replog.plugins"
"""The group of entry points; each names a module (`name = "package.module"`)."""

_PACKAGE_INFOS = ("*.dist-info", "*.egg-info", "EGG-INFO")
"""Where an installed package says what it is."""


class Plugins(NamedTuple):
    """What a worker process needs to know the same strategies, fixes and rules.

    Attributes:
        modules: Names of the modules, in order of loading.
        folder: Where the current folder was, which modules may be found in.
    """

    modules: tuple[str, ...] = ()
    folder: str = ""


NO_PLUGINS = Plugins()

_NAMED: list[str] = []
_INSTALLED: list[str] = []


def load_plugins(modules: Iterable[str]) -> None:
    """Import modules, each once, so that what they register can be used; also from this folder.

    Raises:
        BadInput: One cannot be imported, breaks the contract, or registers nothing.
    """
    for module in modules:
        if module not in (*_NAMED, *_INSTALLED):
            _load(module, folder=str(Path.cwd()))
            _NAMED.append(module)


def load_installed() -> None:
    """Import the plugins of installed packages: the entry points of `GROUP`.

    Raises:
        BadInput: As `load_plugins`.
    """
    if not any(map(_names_plugins, sys.path)):
        return
    from importlib.metadata import entry_points

    for point in sorted(entry_points(group=GROUP)):
        if point.module not in (*_NAMED, *_INSTALLED):
            _load(point.module, folder=None)
            _INSTALLED.append(point.module)


def _names_plugins(folder: str) -> bool:
    """Whether a package installed in a folder of `sys.path` may name plugins.

    Nearly always none does, and to hear that from `importlib.metadata` takes as long as a run. What
    is no folder, such as an archive, is left to that module.
    """
    if Path(folder).is_file():
        return True
    found = (Path(folder).glob(f"{info}/entry_points.txt") for info in _PACKAGE_INFOS)
    return any(GROUP.encode() in file.read_bytes() for file in chain.from_iterable(found))


def named() -> tuple[str, ...]:
    """The modules that were named, so that a command can be repeated with the same ones."""
    return tuple(_NAMED)


def as_options(modules: Iterable[str] | None = None) -> list[str]:
    """`--plugin=MODULE` for each of these; without any given, for those that were named.

    A command that is to reproduce what this one did needs them.
    """
    return [f"--plugin={module}" for module in (_NAMED if modules is None else modules)]


def in_use() -> Plugins:
    """All that were loaded, for a worker."""
    return Plugins((*_INSTALLED, *_NAMED), str(Path.cwd()))


def load_in_worker(plugins: Plugins) -> None:
    """Load in a worker what the leading process has."""
    for module in plugins.modules:
        if module not in (*_NAMED, *_INSTALLED):
            _load(module, folder=plugins.folder)
            _NAMED.append(module)


def registered_by(module: str) -> list[Registered]:
    """What a module, or a module below it, registered."""
    return [one for one in REGISTERED if f"{one.module}.".startswith(f"{module}.")]


def registered_order(strategy: str) -> Callable[[Record], Version]:
    """The version order of a strategy that a plugin registered, for whoever judges by it.

    Raises:
        KeyError: No plugin registered a strategy of that name.
    """
    if not any(one.rule == "strategy" and one.name == strategy for one in REGISTERED):
        raise KeyError(strategy)
    return STRATEGIES[strategy].version


def _load(module: str, *, folder: str | None) -> None:
    if folder is not None and folder not in sys.path:
        sys.path.append(folder)
    before, laws = len(REGISTERED), len(registered_invariants())
    try:
        import_module(module)
    except Exception as error:  # noqa: BLE001 - foreign code may raise anything
        forget(before)
        forget_invariants(laws)
        reason = " ".join(str(error).split())
        if not isinstance(error, BadInput):
            reason = f"cannot be imported: {type(error).__name__}: {reason}"
        raise BadInput(f"plugin {module}: {reason}") from None
    if (len(REGISTERED), len(registered_invariants())) == (before, laws) and not (
        registered_by(module) or invariants_by(module)
    ):
        raise BadInput(
            f"plugin {module}: registers nothing; allowed: register_strategy, register_fix, "
            "register_tombstone_removal, register_invariant of sim.plugins"
        )


def invariants_by(module: str) -> list[str]:
    """The invariants that a module, or a module below it, registered."""
    found = registered_invariants().items()
    return [name for name, cls in found if f"{cls.__module__}.".startswith(f"{module}.")]
