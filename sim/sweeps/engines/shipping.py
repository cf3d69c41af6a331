"""What travels to the machines of a cluster: this package as it runs here, and what it needs.

Two archives. One holds the installed distributions that a worker imports, some 40 MB; it is made
once and kept in a cache under a digest of what is in it. The other holds the code that simulates,
compiled or not, installed or not, with plugins; it is made for each sweep. Spark unpacks both
beside the working folder of each executor (`SparkContext.addArchive`), whatever the cluster manager
is, and a worker puts them on its path before it imports anything of them (see `on_worker`).
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from fnmatch import fnmatch
from hashlib import blake2b
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distribution,
    entry_points,
)
from pathlib import Path

from sim.errors import BadInput
from sim.extras import install
from sim.plugins import GROUP, Plugins
from sim.sweeps.code_digest import files_of_module, simulating
from sim.timed_run import COMPILED

NEEDED = ("msgspec", "pyarrow", "pydantic", "pyyaml", "simpy")
"""The distributions that a worker imports; what these require goes with them."""

LEFT_OUT = (
    "*/__pycache__/*",
    "*.pyc",
    "*.pxd",
    "*.pxi",
    "*.pyx",
    "*.h",
    "pyarrow/include/*",
    "pyarrow/includes/*",
    "pyarrow/src/*",
    "pyarrow/tests/*",
    # Libraries of services that no worker calls, half of the rest in size.
    "pyarrow/*flight*",
    "pyarrow/libarrow_s3*",
    "pyarrow/_s3fs*",
    "pyarrow/_pyarrow_cpp_tests*",
    # The same library once more, under a name that nothing links to.
    "pyarrow/lib*.so.*.*.*",
)
"""Files of distributions that no worker reads, as patterns of their names."""

COMPRESSION = 1
"""Of zlib: twice as quick as its default here, for files a tenth larger."""

_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The same bytes for the same files, whenever they were written."""


def pack(plugins: Plugins, *, folder: Path) -> tuple[Path, ...]:
    """The archives for the workers of a sweep, those of the code in `folder`.

    Raises:
        BadInput: A distribution that workers need cannot be told from its files, or an archive
            cannot be written.
    """
    try:
        return _pack_needs(plugins), _pack_code(plugins, folder)
    except OSError as error:
        raise BadInput(
            f"{error.filename or folder}: {error.strerror or error}; "
            "the archive for the cluster's machines goes there"
        ) from None


def cache_folder() -> Path:
    """Where archives of distributions are kept: `replog` in XDG_CACHE_HOME or `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "replog"


def _pack_needs(plugins: Plugins) -> Path:
    found = with_requirements((*NEEDED, *_needed_by(plugins)))
    total = blake2b(repr((sysconfig.get_platform(), sys.version_info[:2], LEFT_OUT)).encode())
    for one in found:
        # The record has a checksum of each file.
        total.update(f"{one.name} {one.version} {one.read_text('RECORD')}\n".encode())
    name = f"replog-needs-{total.hexdigest()[:16]}.zip"
    return _in_cache(name, {name: path for one in found for name, path in files_of(one).items()})


def _needed_by(plugins: Plugins) -> list[str]:
    """What the distributions of installed plugins require."""
    if not plugins.modules:
        return []
    return sorted(
        name
        for point in entry_points(group=GROUP)
        if point.module in plugins.modules and point.dist is not None
        for name in _required(point.dist)
        if name != "replog"
    )


def _in_cache(name: str, files: Mapping[str, Path]) -> Path:
    """The archive of that name, made unless it is there; where no cache can be, in a folder."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        folder = Path(tempfile.gettempdir()) / f"replog-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / name
    if not path.is_file():
        write_archive(path, files)
    return path


def _pack_code(plugins: Plugins, folder: Path) -> Path:
    files = {**simulating(), **_compiled_together(), **_plugin_files(plugins)}
    total = blake2b()
    for name, path in sorted(files.items()):
        total.update(name.encode() + blake2b(path.read_bytes()).digest())
    path = folder / f"replog-code-{total.hexdigest()[:16]}.zip"
    write_archive(path, files)
    return path


def _compiled_together() -> dict[str, Path]:
    """The library that mypyc puts beside a package for all of it; those of others are theirs."""
    if not COMPILED:
        return {}
    found = [file for file in distribution("replog").files or () if "__mypyc." in file.name]
    return {file.name: Path(str(file.locate())) for file in found}


def _plugin_files(plugins: Plugins) -> dict[str, Path]:
    """The plugins, and what they have imported from the current folder."""
    files: dict[str, Path] = {}
    for module in plugins.modules:
        files |= files_of_module(module.split(".", maxsplit=1)[0])
    if not files:
        return files
    folder = Path(plugins.folder).absolute()
    foreign = (sys.prefix, sys.base_prefix, str(folder / "sim"))
    for loaded in list(sys.modules.values()):
        file = getattr(loaded, "__file__", None)
        if file and Path(file).is_relative_to(folder) and not file.startswith(foreign):
            files[Path(file).relative_to(folder).as_posix()] = Path(file)
    return files


def with_requirements(names: Iterable[str]) -> list[Distribution]:
    """Installed distributions and all that they require, by name; extras are not followed.

    Raises:
        BadInput: One of `names` is not installed.
    """
    found: dict[str, Distribution] = {}
    waiting = [(name, True) for name in names]
    while waiting:
        name, must = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            one = distribution(name)
        except PackageNotFoundError:
            if must:
                raise BadInput(
                    f"sweeps on a cluster need {name} here, to send it there: {install('sweep')}"
                ) from None
            continue  # for another platform or Python
        found[key] = one
        waiting += [(name, False) for name in _required(one)]
    return [found[key] for key in sorted(found)]


def _required(one: Distribution) -> list[str]:
    """The names of what a distribution requires, its extras apart."""
    return [
        re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        for requirement in one.requires or ()
        if "extra ==" not in requirement
    ]


def files_of(one: Distribution) -> dict[str, Path]:
    """The files of a distribution that workers may need, by their place on the path.

    Raises:
        BadInput: It was installed without a list of its files.
    """
    if one.files is None:
        raise BadInput(
            f"{one.name} {one.version} was installed without a list of its files, so that it cannot"
            " be sent to the cluster; install it with pip, or have it on every machine"
        )
    return {
        file.as_posix(): Path(str(file.locate()))
        for file in one.files
        if ".." not in file.parts
        and not any(fnmatch(file.as_posix(), pattern) for pattern in LEFT_OUT)
        and Path(str(file.locate())).is_file()
    }


def write_archive(path: Path, files: Mapping[str, Path]) -> None:
    """A zip file, whole or not at all; the same files make the same bytes."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
    try:
        with (
            os.fdopen(handle, "wb") as file,
            zipfile.ZipFile(
                file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION
            ) as archive,
        ):
            for name, source in sorted(files.items()):
                entry = zipfile.ZipInfo(name, date_time=_FIRST_DATE)
                entry.external_attr = 0o644 << 16
                archive.writestr(
                    entry, source.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION
                )
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
