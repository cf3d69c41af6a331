"""Optional dependencies: checks that they are installed, and the command that adds them."""

from __future__ import annotations

from importlib.util import find_spec

from sim.errors import BadInput
from sim.files.foreign import shell


def check_extra(what: str, extra: str, *modules: str) -> None:
    """Checks that modules are installed.

    Args:
        what: The beginning of the sentence, such as `reports need`.
        extra: The extra of `pyproject.toml` that brings it.
        modules: By their names when imported.

    Raises:
        BadInput: One is missing; the line ends on the command that installs it.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise BadInput(f"{what} {', '.join(missing)}: {install(extra)}")


def install(extra: str) -> str:
    """The command that adds an extra, from where this installation came (PEP 610)."""
    return f"pip install {shell.quoted(origin(extra))}"


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
