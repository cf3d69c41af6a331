"""What may happen to the files of a sweep while nobody looks."""

import shutil
from pathlib import Path
from random import Random

DOCUMENTS = ("plan.json",)


def damaged(folder: Path, chance: Random) -> str | None:
    """Do something to a file of the sweep in `folder`; what and to which, None = there is none."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _counts(path, folder))
    if not files:
        return None
    path = chance.choice(files)
    how = chance.choice(sorted(WAYS))
    if not WAYS[how](path, chance):
        return None
    return f"{path.relative_to(folder)} {how}"


def _counts(path: Path, folder: Path) -> bool:
    """Whether a sweep is not the same without it; the plan's words are nobody's."""
    inside = path.relative_to(folder)
    return inside.parts[0] not in {"set-aside", ".staging", ".lock", *DOCUMENTS}


def _removed(path: Path, chance: Random) -> bool:
    path.unlink()
    return True


def _truncated(path: Path, chance: Random) -> bool:
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])
    return True


def _doubled(path: Path, chance: Random) -> bool:
    if not path.parent.name.startswith("wave"):
        return False  # one file more outside the tables and the manifests is nobody's business
    shutil.copy(path, path.with_name(f"copy-{path.name}"))
    return True


def _twice_as_long(path: Path, chance: Random) -> bool:
    path.write_bytes(path.read_bytes() * 2)
    return True


def _flipped(path: Path, chance: Random) -> bool:
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    return True


def _exchanged(path: Path, chance: Random) -> bool:
    others = [one for one in path.parent.parent.rglob(path.name) if one != path]
    others = [one for one in others if one.is_file() and one.read_bytes() != path.read_bytes()]
    if not others:
        return False
    shutil.copy(chance.choice(others), path)
    return True


WAYS = {
    "removed": _removed,
    "truncated": _truncated,
    "doubled": _doubled,
    "made twice as long": _twice_as_long,
    "changed in one bit": _flipped,
    "exchanged for another": _exchanged,
}
