"""Any file is read by what its name says it is, and what cannot be read is named."""

from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.files.reading import read_document, read_json


@pytest.mark.parametrize("name", ["x.yaml", "x.json"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n')

    assert read_document(path).data == {"a": 1}


def test_only_json_is_json(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\n")

    assert read_document(path).data == {"a": 1}
    with pytest.raises(BadInput, match=r"x\.yaml:1: is not JSON"):
        read_json(path)
