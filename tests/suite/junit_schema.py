"""What an element of a JUnit report may have, as in `junit-10.xsd` of Jenkins's xUnit plugin."""

from xml.etree import ElementTree as ET

REQUIRED = {
    "testsuite": "name tests failures errors",
    "testcase": "name",
    "property": "name value",
}
OPTIONAL = {
    "testsuite": "time skipped disabled timestamp hostname id package file",
    "testcase": "assertions time classname status class file line",
    "failure": "message type",
    "error": "message type",
}
CHILDREN = {
    "testsuite": "testcase properties system-out system-err",
    "testcase": "failure error skipped system-out system-err",
    "properties": "property",
}
"""Of each there may be any number."""
NUMBERS = ("tests", "failures", "errors", "skipped", "line")


def problems(element: ET.Element) -> list[str]:
    """Where an element, or one in it, is not what the schema says; empty = it is valid."""
    tag, given = element.tag, set(element.keys())
    required, optional, children = (
        set(what.get(tag, "").split()) for what in (REQUIRED, OPTIONAL, CHILDREN)
    )
    found = [f"{tag} lacks {name}" for name in sorted(required - given)]
    found += [f"{tag} has {name}" for name in sorted(given - required - optional)]
    found += [f"{tag}: {name}" for name in NUMBERS if not element.get(name, "0").isdecimal()]
    found += ["time below 0"] * (float(element.get("time", "0")) < 0)
    found += [f"{tag} holds {child.tag}" for child in element if child.tag not in children]
    return found + [problem for child in element for problem in problems(child)]
