"""What an element of a JUnit report may have, as in `junit-10.xsd` of Jenkins's xUnit plugin."""

from typing import NamedTuple
from xml.etree import ElementTree as ET


class Element(NamedTuple):
    """What the schema says of one element; of the children each may occur any number of times."""

    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()


_RESULT = Element(frozenset(), frozenset({"message", "type"}))
SCHEMA = {
    "testsuite": Element(
        frozenset({"name", "tests", "failures", "errors"}),
        frozenset(
            {"time", "skipped", "disabled", "timestamp", "hostname", "id", "package", "file"}
        ),
        frozenset({"testcase", "properties", "system-out", "system-err"}),
    ),
    "testcase": Element(
        frozenset({"name"}),
        frozenset({"assertions", "time", "classname", "status", "class", "file", "line"}),
        frozenset({"failure", "error", "skipped", "system-out", "system-err"}),
    ),
    "properties": Element(frozenset(), children=frozenset({"property"})),
    "property": Element(frozenset({"name", "value"})),
    "failure": _RESULT,
    "error": _RESULT,
}
_NUMBERS = ("tests", "failures", "errors", "skipped", "line")


def problems(element: ET.Element) -> list[str]:
    """Where an element, or one in it, is not what the schema says; empty = it is valid."""
    allowed = SCHEMA[element.tag]
    given = set(element.keys())
    found = [f"{element.tag} lacks {name}" for name in sorted(allowed.required - given)]
    unknown = given - allowed.required - allowed.optional
    found += [f"{element.tag} has {name}" for name in sorted(unknown)]
    for name in _NUMBERS:
        if not element.get(name, "0").isdecimal():
            found.append(f"{element.tag}: {name} is {element.get(name)}")
    if "time" in given and float(element.get("time", "")) < 0:
        found.append(f"{element.tag}: time is {element.get('time')}")
    for child in element:
        if child.tag in allowed.children:
            found += problems(child)
        else:
            found.append(f"{element.tag} holds {child.tag}")
    return found
