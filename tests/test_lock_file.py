"""What a lock file may say."""

from tests.commands import ROOT


def test_the_lock_file_names_no_index() -> None:
    """Where packages come from is the installing machine's business.

    An address in the lock would send everybody to one registry, or publish a private mirror's name.
    """
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_the_lock_file_pins_every_package_once_and_with_hashes() -> None:
    """One version for all versions of Python, so that a run is the same on each of them."""
    entries = (ROOT / "requirements.lock").read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in entries if line and not line.lstrip().startswith("#")]
    packages = [line.split("==")[0] for line in pinned]

    assert [line.split()[0] for line in pinned if "--hash=sha256:" not in line] == []
    assert packages == sorted(set(packages))
