"""Plugins: modules that register strategies, fixes, tombstone removals, invariants or observers.

They are found as entry points of the group `replog.plugins`, or named with `--plugin MODULE`.
Workers of a sweep load the same modules.

A plugin is code. A plan or the folder of a sweep may name the plugins that it needs, but they are
imported only if the command names them, too, or if `TRUSTED` does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sim.check.invariant import Invariant
from sim.check.registry import (
    forget_invariants,
    register_invariant,
    registered_invariants,
)
from sim.errors import BadInput, in_one_line
from sim.files.foreign import command_line
from sim.protocol.compaction.extending import (
    REGISTERED,
    forget,
    register_fix,
    register_strategy,
    register_tombstone_removal,
)
from sim.protocol.compaction.fixes import Kept, Tail
from sim.protocol.compaction.tombstones import Circumstances, TombstoneRemoval

GROUP = "replog.plugins"
"""The group of entry points; each names a module (`name = "package.module"`)."""

TRUSTED = "REPLOG_TRUSTED_PLUGINS"
"""Environment variable: modules, separated by commas, that are imported when a plan, or the folder
of a sweep, names them; `*` for any module."""
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*", re.ASCII)
_PACKAGE_INFOS = ("*.dist-info", "*.egg-info", "EGG-INFO")
"""Folders with the metadata of an installed package."""


class Plugins(NamedTuple):
    """The plugins that a worker process has to load.

    Attributes:
        modules: Names of the modules, in order of loading.
        folder: The current folder of the leading process, in which modules may be found.
    """

    modules: tuple[str, ...] = ()
    folder: str = ""


NO_PLUGINS = Plugins()

Report = Callable[[str, str, str | None, int | None], None]
"""Takes a violation that an observer found: the invariant's name, a sentence, the replica and the
offset; None for a replica or an offset that it does not concern."""

Factory = Callable[[Any, Report], Any]
_F = TypeVar("_F", bound=Factory)
_OBSERVERS: list[Factory] = []

_NAMED: list[str] = []
_INSTALLED: list[str] = []
_ADDED: list[str] = []
"""Folders that were added to `sys.path` for a plugin: modules there are not installed."""


def register_observer(factory: _F) -> _F:
    """Registers an observer of every timed run; decorates the observer's class, or a function.

    The class or function is called before the replicas connect, with the cluster and with a
    `Report` for violations, which are judged like those of an invariant. Of the cluster it may read
    `nodes` (the replicas by name), `elections`, and `context` with `scenario` and `now_ms`; it
    changes nothing. The object that it returns has two methods:

    * `over(address, receive)` returns a function that takes the messages for a replica, or for the
      controller, and passes them on to `receive`.
    * `after(at_ms, events)` is called after events were recorded.
    """
    _OBSERVERS.append(factory)
    return factory


def observing(report: Report) -> list[Callable[[Any], Any]]:
    """Functions that make each registered observer for a cluster."""
    return [partial(_observer, make, report) for make in _OBSERVERS]


def _observer(make: Factory, report: Report, cluster: Any) -> Any:
    return make(cluster, report)


def forget_observers(since: int) -> None:
    """Removes the observers after the first `since` ones."""
    del _OBSERVERS[since:]


def load_plugins(modules: Iterable[str], *, folder: str | None = None) -> None:
    """Imports modules, each once.

    Args:
        modules: Their names.
        folder: A folder in which they may be found; None for the current one.

    Raises:
        BadInput: One cannot be imported, breaks the contract, or registers nothing.
    """
    for module in modules:
        if module not in (*_NAMED, *_INSTALLED):
            _load(module, folder=folder or str(Path.cwd()))
            _NAMED.append(module)


def require_plugins(modules: Iterable[str]) -> None:
    """Checks that the plugins that a file names are loaded; imports only those in `TRUSTED`.

    Raises:
        BadInput: One is neither loaded nor trusted, or cannot be loaded.
    """
    trusted = [name.strip() for name in os.environ.get(TRUSTED, "").split(",")]
    for module in modules:
        if module in (*_NAMED, *_INSTALLED):
            continue
        _check_name(module)
        if module not in trusted and "*" not in trusted:
            raise BadInput(
                f"plugin {module}: not imported because a file names it; if you trust it, give "
                f"--plugin {module} (in Python: plugins=[{module!r}])"
            )
        load_plugins([module])


def load_installed() -> None:
    """Imports the plugins of installed packages: the entry points of `GROUP`.

    Raises:
        BadInput: As `load_plugins`.
    """
    path = [folder for folder in sys.path if folder not in _ADDED]
    if not any(map(_names_plugins, path)):
        return
    from importlib.metadata import distributions

    points = (one.entry_points.select(group=GROUP) for one in distributions(path=path))
    for point in sorted(chain.from_iterable(points)):
        if point.module not in (*_NAMED, *_INSTALLED):
            _load(point.module, folder=None)
            _INSTALLED.append(point.module)


def _names_plugins(folder: str) -> bool:
    """True where a package installed in a folder of `sys.path` may name plugins.

    Nearly always none does, and `importlib.metadata` takes as long as a run to find that out. True
    also for a file, which is an archive that only that module reads.
    """
    if Path(folder).is_file():
        return True
    found = (Path(folder).glob(f"{info}/entry_points.txt") for info in _PACKAGE_INFOS)
    return any(GROUP.encode() in file.read_bytes() for file in chain.from_iterable(found))


def as_options(modules: Iterable[str] | None = None) -> list[str]:
    """`--plugin=MODULE` for each module, for a command that reproduces a run.

    Args:
        modules: None for the modules that were named.
    """
    return [f"--plugin={module}" for module in (_NAMED if modules is None else modules)]


def command_of(*words: object, modules: Iterable[str] | None = None) -> str:
    """A command of Replog for a shell, which loads the plugins that `as_options` names."""
    return command_line(["replog", *words, *as_options(modules)])


def in_use() -> Plugins:
    """All plugins that were loaded, for a worker."""
    return Plugins((*_INSTALLED, *_NAMED), str(Path.cwd()))


def load_in_worker(plugins: Plugins) -> None:
    """Loads the plugins of the leading process in a worker."""
    load_plugins(plugins.modules, folder=plugins.folder)


def _load(module: str, *, folder: str | None) -> None:
    _check_name(module)
    before, laws, observing = len(REGISTERED), len(registered_invariants()), len(_OBSERVERS)
    try:
        _make_findable(module, folder)
        import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may raise anything
        forget(before)
        forget_invariants(laws)
        forget_observers(observing)
        if isinstance(error, BadInput):
            raise BadInput(f"plugin {module}: {' '.join(str(error).split())}") from None
        raise BadInput(f"plugin {module}: cannot be imported: {in_one_line(error)}") from None
    grown = (len(REGISTERED), len(registered_invariants()), len(_OBSERVERS))
    places = [one.module for one in REGISTERED]  # of a module that was imported before, too
    places += [one.__module__ for one in (*registered_invariants().values(), *_OBSERVERS)]
    is_there = any(f"{place}.".startswith(f"{module}.") for place in places)
    if grown == (before, laws, observing) and not is_there:
        raise BadInput(
            f"plugin {module}: registers nothing; allowed: register_strategy, register_fix, "
            "register_tombstone_removal, register_invariant, register_observer of sim.plugins"
        )


def _check_name(module: object) -> None:
    if isinstance(module, str) and (module.endswith(".py") or {"/", os.sep} & {*module}):
        raise BadInput(f"plugin {module}: {_how_to_name(Path(module))}")
    if not isinstance(module, str) or not _MODULE.fullmatch(module):
        raise BadInput(f"plugin {module!r}: not the name of a module, such as longest or mine.laws")


def _how_to_name(path: Path) -> str:
    """The name to give instead of the path of a module, and the folder to start in."""
    plain = path.with_suffix("") if path.suffix == ".py" else path
    for name, started in ((".".join(plain.parts), ""), (plain.name, str(path.parent))):
        if _MODULE.fullmatch(name):
            where = f", in a command that is started in {started}" if started else ""
            return f"is a path; give the name of the module: --plugin {name}{where}"
    return "is a path of no module; give the name of one, such as longest or mine.laws"


def _make_findable(module: str, folder: str | None) -> None:
    """Adds a folder to `sys.path` if the plugin is found nowhere else.

    The folder comes last: nothing in it hides an installed module.
    """
    top = module.partition(".")[0]
    if folder is not None and folder not in sys.path and find_spec(top) is None:
        sys.path.append(folder)
        _ADDED.append(folder)
