"""Any file that people write, read strictly: YAML, or JSON if its name says so."""

from __future__ import annotations

from pathlib import Path

from sim.files.document import Document
from sim.files.json_text import parse_json
from sim.files.opening import read_text


def read_document(path: Path) -> Document:
    """The one document in a file: JSON in a file named `.json`, else YAML.

    Raises:
        BadInput: The file cannot be read, is not UTF-8, is not what its name says, has a field
            twice, or is nested or sized beyond reason; YAML: or has an ambiguous plain value.
    """
    return document_in(read_text(path), path)


def document_in(text: str, path: Path) -> Document:
    """The one document in the text of the file at `path`. Raises like `read_document`."""
    if path.suffix == ".json":
        return parse_json(text, str(path))
    # A JSON file is read without PyYAML, which takes as long to import as a small story to run.
    from sim.files.yaml_text import parse_yaml

    return parse_yaml(text, str(path))


def read_json(path: Path) -> Document:
    """The JSON document in a file, whatever its name. Raises like `read_document`."""
    return parse_json(read_text(path), str(path))
