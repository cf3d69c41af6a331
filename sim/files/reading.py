"""Any file that people write, read strictly: YAML, or JSON if its name says so."""

from __future__ import annotations

from pathlib import Path

from sim.errors import BadInput
from sim.files.document import Document
from sim.files.json_text import parse_json


def read_document(path: Path) -> Document:
    """The one document in a file: JSON in a file named `.json`, else YAML.

    Raises:
        BadInput: The file cannot be read, is not UTF-8, is not what its name says, has a field
            twice, or is nested or sized beyond reason; YAML: or has an ambiguous plain value.
    """
    if path.suffix == ".json":
        return read_json(path)
    # A JSON file is read without PyYAML, which takes as long to import as a small story to run.
    from sim.files.yaml_text import parse_yaml

    return parse_yaml(_text_in(path), str(path))


def read_json(path: Path) -> Document:
    """The JSON document in a file, whatever its name. Raises like `read_document`."""
    return parse_json(_text_in(path), str(path))


def _text_in(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: is not UTF-8 text (byte {error.start})") from None
