"""What is missing for an optional part is told with the command that installs it."""

import json
from importlib import metadata
from typing import Any, NamedTuple

import pytest

from sim.errors import BadInput
from sim.files.shipped import check_extra, install

GIT = {"url": "https://git.example/r", "vcs_info": {"vcs": "git", "commit_id": "872c"}}
WHEEL = {"url": "https://x.example/replog.whl", "archive_info": {}}


class Installed(NamedTuple):
    """An installation that says where it came from, as `direct_url.json` of PEP 610 does."""

    origin: dict[str, Any] | None

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'replog[report]'"),
        ({"url": "file:///a%20b/r", "dir_info": {}}, "pip install '/a b/r[report]'"),
        (GIT, "pip install 'replog[report] @ git+https://git.example/r@872c'"),
        (WHEEL, "pip install 'replog[report] @ https://x.example/replog.whl'"),
    ],
)
def test_an_extra_is_installed_from_where_the_rest_came(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "distribution", lambda _: Installed(origin))

    assert install("report") == command


def test_in_a_checkout_that_nobody_installed_it_is_that_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nowhere)

    with pytest.raises(BadInput, match=r"^plots need no_such: pip install '\.\[report\]'$"):
        check_extra("plots need", "report", "json", "no_such")
