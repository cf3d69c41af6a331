"""Which code simulates here: a digest of its sources, whether they run compiled, and what else.

Two processes with the same digest and the same build make the same rows. The digest says more than
the version, which stays while somebody works on the code. The worker of an executor that joined
later, or one whose image has another version, would fill the table with rows that `replog run`
cannot make again: both are compared before each block.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from sim.plugins import Plugins
from sim.version import __version__

PURE = "pure Python"
COMPILED = "compiled"

NOT_SIMULATING = (
    "api/",
    "check/certify/",
    "cli/",
    "diagnose/draw/",
    "diagnose/failures/",
    "diagnose/shrink/",
    "diagnose/what_if/",
    "pytest_plugin.py",
    "shipped/",
    "study/causes/",
    "study/explore/",
    "study/gates/",
    "study/matrix/",
    "study/report/",
    "study/suite/",
)
"""Parts of `sim` that sweeps do not import, so that no row depends on them."""


@cache
def code_digest() -> str:
    """A digest of the sources that decide the rows of a sweep: 32 hex digits.

    It is that of the `.py` files, also where mypyc's libraries beside them are what runs: compiled
    and pure builds of the same sources have the same digest, and `build` tells them apart.
    """
    return _digest_of_sources(simulating())


@cache
def search_digest() -> str:
    """A digest of the sources that decide what a search of schedules finds: 32 hex digits."""
    return _digest_of_sources(searching())


@cache
def build() -> str:
    """How the sources run: "pure Python", or "compiled" and a digest of the libraries.

    Libraries are compared byte by byte: nobody can see what sources one was compiled from.
    """
    libraries = {name: path for name, path in simulating().items() if path.suffix == ".so"}
    return f"{COMPILED} {_digest(libraries)[:12]}" if libraries else PURE


@cache
def made_by(plugins: Plugins) -> dict[str, str]:
    """What must be the same in every process of a sweep, by what it is called in messages."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "replog": __version__,
        "pyarrow": version("pyarrow"),
        "simpy": version("simpy"),
        "code": code_digest(),
        "build": build(),
        **{
            f"plugin {name}": _digest(files_of_module(name.split(".", maxsplit=1)[0]))
            for name in plugins.modules
        },
    }


def difference(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """In what they differ, each with both values; None = in nothing."""
    found = [
        f"{name} {there.get(name, 'none')} there, {here.get(name, 'none')} here"
        for name in dict.fromkeys((*here, *there))
        if there.get(name) != here.get(name)
    ]
    return "; ".join(found) or None


def simulating() -> dict[str, Path]:
    """The files of `sim` that decide a row, by their names as in `files_of_module`."""
    return {
        name: path
        for name, path in files_of_module("sim").items()
        if not name.removeprefix("sim/").startswith(NOT_SIMULATING)
    }


def searching() -> dict[str, Path]:
    """The files of `sim` that decide what a search of schedules finds."""
    own = files_of_module("sim").items()
    return simulating() | {
        name: path for name, path in own if name.startswith("sim/study/explore/")
    }


def files_of_module(name: str) -> dict[str, Path]:
    """The files of a top-level module or package, bytecode apart, by their names beside others.

    A name is relative to the folder that is on `sys.path`: `package/module.py`.

    Raises:
        ModuleNotFoundError: There is none of that name.
    """
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations is None:
        file = Path(spec.origin or "")
        return {file.name: file} if file.is_file() else {}
    return {
        f"{name}/{path.relative_to(folder).as_posix()}": path
        for folder in spec.submodule_search_locations
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def _digest_of_sources(files: Mapping[str, Path]) -> str:
    return _digest({name: path for name, path in files.items() if path.suffix == ".py"})


def _digest(files: Mapping[str, Path]) -> str:
    total = blake2b(digest_size=16)
    for name, path in sorted(files.items()):
        content = blake2b(path.read_bytes(), digest_size=16)
        total.update(f"{name} {content.hexdigest()}\n".encode())
    return total.hexdigest()
