"""Parts of an installation: the scenarios that come with it, and optional dependencies.

In a checkout, and in an environment with an editable installation, scenarios are the repository's
`scenarios/`; a wheel has a copy of them next to the code. So a command that works in the repository
works wherever Replog is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from sim.errors import BadInput, did_you_mean
from sim.files.foreign import quoted

SUFFIXES = (".yaml", ".json")
PREFIX = "scenarios"
"""The folder that documents write before the path of a scenario."""

_CODE = Path(__file__).resolve().parents[1]
IN_A_WHEEL = _CODE / "shipped"
"""Folder that `pyproject.toml` includes by `force-include`."""
_REPOSITORY = _CODE.parent


def shipped_folder() -> Path:
    """The folder of the scenarios, absolute.

    Raises:
        BadInput: This installation has none.
    """
    if IN_A_WHEEL.is_dir():
        return IN_A_WHEEL
    here = _REPOSITORY / PREFIX
    if (_REPOSITORY / "pyproject.toml").is_file() and here.is_dir():
        return here
    raise BadInput(f"{IN_A_WHEEL}: this installation has no scenarios; name a file or a folder")


def shipped_path(text: str) -> Path:
    """The file or folder that `text` names: an existing one, else a shipped one of that name.

    A shipped file is named by its path below `scenarios/`, with or without that folder, or by its
    id: the name of the file without its suffix, or a beginning of it that fits no other file.
    Beginnings that end before a `_` are tried first.

    Args:
        text: A path, or a name. Any other text is returned as a path, which cannot be read then.

    Raises:
        BadInput: Several shipped files fit, or none does and one has nearly that id.
    """
    path = Path(text)
    if path.exists() or path.is_absolute():
        return path
    try:
        folder = shipped_folder()
    except BadInput:
        return path
    parts = path.parts[1:] if path.parts[:1] == (PREFIX,) else path.parts
    inside = folder.joinpath(*parts)
    if ".." not in parts and inside.exists():
        return inside
    return path if path.suffix or len(path.parts) > 1 else _by_id(text, folder) or path


def _by_id(name: str, folder: Path) -> Path | None:
    """The file of that id; None without one. Raises BadInput as `shipped_path`."""
    files = list(_files(folder))
    found = [one for one in files if one.stem == name]
    found = found or [one for one in files if one.stem.startswith(f"{name}_")]
    found = found or [one for one in files if one.stem.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        names = [one.relative_to(folder).as_posix() for one in found[:5]]
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise BadInput(f"{name}: {len(found)} shipped files: {', '.join(names)}{more}")
    close = did_you_mean(name, [one.stem for one in files])
    if close:
        raise BadInput(f"{name}: no such file, and no shipped one{close}; replog list scenarios")
    return None


def _files(folder: Path) -> Iterator[Path]:
    """Files that a command can be given: all but the schema."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.name != "schema.json":
            yield path


def check_extra(what: str, extra: str, *modules: str) -> None:
    """Checks that modules are installed.

    Args:
        what: The beginning of the sentence, such as `reports need`.
        extra: The extra of `pyproject.toml` that brings them.
        modules: The names by which they are imported.

    Raises:
        BadInput: One is missing; the line ends on the command that installs it.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise BadInput(f"{what} {', '.join(missing)}: {install(extra)}")


def install(extra: str) -> str:
    """The command that adds an extra, from where this installation came (PEP 610)."""
    return f"pip install {quoted(origin(extra))}"


def origin(extra: str) -> str:
    """Requirement for pip that adds an extra, from where this installation came."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        text = distribution("replog").read_text("direct_url.json")
    except PackageNotFoundError:  # a checkout that is not installed
        return f".[{extra}]"
    if text is None:
        return f"replog[{extra}]"
    found = json.loads(text)
    if "vcs_info" in found:
        vcs = found["vcs_info"]
        return f"replog[{extra}] @ {vcs['vcs']}+{found['url']}@{vcs['commit_id']}"
    address = urlsplit(found["url"])
    if address.scheme == "file":
        return f"{url2pathname(address.path)}[{extra}]"
    return f"replog[{extra}] @ {found['url']}"
