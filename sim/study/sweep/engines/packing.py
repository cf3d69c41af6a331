"""The environment that a cluster's executors run in: one archive, with an interpreter of its own.

It holds Python as it runs here, the installed distributions that a worker imports, and the code
that simulates, compiled or not, installed or not, with plugins. Spark unpacks it beside the working
folder of each executor (`spark.archives`), and starts workers with it (`spark.pyspark.python`):
machines need Java and Spark alone, and the operating system and kind of processor of this one.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points
from importlib.util import cache_from_source
from pathlib import Path

from sim.errors import BadInput
from sim.files.extras import install
from sim.plugins import GROUP, Plugins
from sim.simulate.run.timed import COMPILED
from sim.study.sweep.code_digest import files_of_module, searching

NAME = "environment"
PYTHON = f"./{NAME}/bin/python"
NEEDED = ("msgspec", "numpy", "pyarrow", "pydantic", "pyyaml", "simpy")
"""The distributions that a worker imports; what these require goes with them."""
LEFT_OUT = re.compile(
    r"__pycache__|/tests/|\.(pyc|pxd|pxi|pyx|h|a)$|pyarrow/(include|includes|src)/"
    # Libraries of services that no worker calls, and one once more under an unused name.
    r"|pyarrow/\w*flight|pyarrow/(lib)?_?(arrow_)?s3|pyarrow/lib\w+\.so\.\d+\.\d+\.\d+$"
)
"""Files that no worker reads, by their names on the path."""
NOT_OF_PYTHON = ("site-packages", "test", "idlelib", "tkinter", "ensurepip", "lib2to3", "config-")
"""Folders of the standard library that no worker needs, by how their names begin."""
COMPRESSION = 1
"""Of zlib: twice as quick as its default here, for files a tenth larger."""


def packed(plugins: Plugins) -> Path:
    """The archive for the workers of a sweep, made unless one of the same files is in the cache.

    Raises:
        BadInput: A distribution that workers need cannot be told from its files, or the archive
            cannot be written.
    """
    library = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    files = dict(_interpreter(library))
    packages = {**_of_distributions(plugins), **_code(plugins)}
    files |= {f"{library}/site-packages/{name}": path for name, path in packages.items()}
    total = blake2b(digest_size=8)
    for name, path in sorted(files.items()):
        found = path.stat()
        total.update(f"{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    archive = cache_folder() / f"replog-{total.hexdigest()}.tar.gz"
    if not archive.exists():
        _write(archive, files | dict(_bytecode(files)))
    return archive


def cache_folder() -> Path:
    """Where archives are kept: `replog` in XDG_CACHE_HOME or `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "replog"


def _write(archive: Path, files: dict[str, Path]) -> None:
    draft = archive.with_suffix(f".{os.getpid()}.draft")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(draft, "w:gz", compresslevel=COMPRESSION, dereference=True) as packing:
            for name, path in sorted(files.items()):
                packing.add(path, name, recursive=False)
        draft.replace(archive)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise BadInput(
            f"{archive}: {error.strerror or error}; the archive for the cluster's machines goes "
            "there (XDG_CACHE_HOME)"
        ) from None


def _bytecode(files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    """What this Python has compiled of them, so that no worker has to compile it."""
    for name, path in files.items():
        compiled = Path(cache_from_source(path))
        if path.suffix == ".py" and compiled.is_file():
            yield f"{Path(name).parent}/__pycache__/{compiled.name}", compiled


def _interpreter(library: str) -> Iterator[tuple[str, Path]]:
    """Python itself, its library and what it is linked to."""
    yield "bin/python", Path(os.path.realpath(sys.executable))
    shared = sysconfig.get_config_var("INSTSONAME") or ""
    if ".so" in shared:
        yield f"lib/{shared}", Path(sysconfig.get_config_var("LIBDIR")) / shared
    top = Path(sysconfig.get_path("stdlib"))
    for path in top.rglob("*"):
        name = path.relative_to(top).as_posix()
        if path.is_file() and not name.startswith(NOT_OF_PYTHON) and not LEFT_OUT.search(name):
            yield f"{library}/{name}", path


def _of_distributions(plugins: Plugins) -> dict[str, Path]:
    """The files of what workers and installed plugins need, by their place on the path."""
    names = [
        name
        for point in entry_points(group=GROUP)
        if point.module in plugins.modules and point.dist is not None
        for name in _required(point.dist)
    ]
    found: dict[str, Path] = {}
    for one in _with_requirements((*NEEDED, *names)):
        if one.files is None:
            raise BadInput(
                f"{one.name} {one.version} was installed without a list of its files, so that it "
                "cannot be sent to the cluster; install it with pip"
            )
        for file in one.files:
            path = Path(str(file.locate()))
            if ".." not in file.parts and not LEFT_OUT.search(file.as_posix()) and path.is_file():
                found[file.as_posix()] = path
    return found


def _with_requirements(names: Iterable[str]) -> list[Distribution]:
    """Installed distributions and all that they require; extras are not followed."""
    found: dict[str, Distribution] = {}
    waiting = [(name, True) for name in names]
    while waiting:
        name, must = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found or key == "replog":
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:
            if must:
                raise BadInput(
                    f"sweeps on a cluster need {name} here, to send it there: {install('sweep')}"
                ) from None
            continue  # for another platform or Python
        waiting += [(other, False) for other in _required(found[key])]
    return [found[key] for key in sorted(found)]


def _required(one: Distribution) -> list[str]:
    """The names of what a distribution requires, its extras apart."""
    requirements = (text for text in one.requires or () if "extra ==" not in text)
    return [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements]


def _code(plugins: Plugins) -> dict[str, Path]:
    """What simulates; plugins, and what they have imported from the current folder."""
    files = searching()
    if COMPILED:  # the library that mypyc puts beside a package for all of it
        own = [file for file in distribution("replog").files or () if "__mypyc." in file.name]
        files |= {file.name: Path(str(file.locate())) for file in own}
    for module in plugins.modules:
        files |= files_of_module(module.split(".", maxsplit=1)[0])
    folder = Path(plugins.folder).absolute()
    foreign = (sys.prefix, sys.base_prefix, str(folder / "sim"))
    for loaded in list(sys.modules.values()) if plugins.modules else ():
        file = getattr(loaded, "__file__", None)
        if file and Path(file).is_relative_to(folder) and not file.startswith(foreign):
            files[Path(file).relative_to(folder).as_posix()] = Path(file)
    return files
