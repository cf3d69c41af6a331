"""Whether a worker simulates with what the driver has: compared before each of its blocks.

The worker of an executor that joined later, or one whose image has another version, would fill the
table with rows that `replog replay` cannot make again.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from sim.plugins import Plugins
from sim.sweeps.code_digest import build, code_digest, digest_of_module
from sim.version import __version__

COMPARED = ("pyarrow", "simpy")
"""Distributions that have a part in what is in the tables."""


@cache
def facts(plugins: Plugins) -> dict[str, str]:
    """What must be the same in every process of a sweep, by what it is called in messages."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "replog": __version__,
        **{name: _version(name) for name in COMPARED},
        "code": code_digest(),
        "build": build(),
        **{f"plugin {name}": _digest(name) for name in plugins.modules},
    }


def difference(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """In what they differ, each with both values; None = in nothing."""
    names = dict.fromkeys((*here, *there))
    found = [
        f"{name} {there.get(name, 'none')} there, {here.get(name, 'none')} here"
        for name in names
        if there.get(name) != here.get(name)
    ]
    return "; ".join(found) or None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _digest(module: str) -> str:
    try:
        return digest_of_module(module.split(".", maxsplit=1)[0])
    except ModuleNotFoundError:
        return "none"
