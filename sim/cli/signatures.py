"""A command is a function: its signature says what it takes, and its docstring what that means.

A parameter is an argument; one behind the `*` is an option of its name. A default makes it
optional, `bool` a flag, a list an option that may be repeated, or any number of arguments. What
else there is to say stands in `Annotated`, as an `Argument`. A parameter that is a dataclass stands
for options that belong together, one for each of its fields.
"""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_origin

_SECTION = re.compile(r"\n(?:Args|Attributes):\n")
_ENTRY = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", re.MULTILINE)


class Argument(NamedTuple):
    """What the signature alone does not say of a parameter.

    Attributes:
        read: Makes the value of a text, or raises ArgumentTypeError; None = a path or a text, as
            the parameter is annotated.
        metavar: Stands for the value in the help; None = the parameter's name.
        flags: The names of the option; empty = one, after the parameter.
        nargs: As argparse has it, where it is not what follows from the signature; an option with
            `?` has the empty text where it is given without a value.
        help: What it means, where several commands share it; empty = the docstring says so.
    """

    read: Callable[[str], Any] | None = None
    metavar: str | None = None
    flags: tuple[str, ...] = ()
    nargs: str | None = None
    help: str = ""


def about(function: Callable[..., Any]) -> str:
    """A docstring without what it says of parameters."""
    return _SECTION.split(getdoc(function) or "")[0].rstrip()


def declare(parser: ArgumentParser, function: Callable[..., Any]) -> None:
    """Adds what a function takes to a parser."""
    told = _told(function)
    for one in _parameters(function):
        if group := _group_of(one):
            declare(parser, group)
        else:
            _add(parser, one, told.get(one.name, ""))


def call(function: Callable[..., int], given: dict[str, Any]) -> int:
    """Calls a function with the values of its arguments by name."""
    for one in _parameters(function):
        if group := _group_of(one):
            given[one.name] = group(
                **{field.name: given.pop(field.name) for field in fields(group)}
            )
    return function(**given)


def _group_of(one: Parameter) -> type[Any] | None:
    """The dataclass that a parameter is annotated as; None = it is one argument."""
    kind = one.annotation
    return kind if isinstance(kind, type) and is_dataclass(kind) else None


@cache
def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    return tuple(signature(function, eval_str=True).parameters.values())


def _told(function: Callable[..., Any]) -> Mapping[str, str]:
    """What a docstring says of each parameter, in one line each."""
    _, *section = _SECTION.split(getdoc(function) or "")
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall("\n".join(section))}


def _add(parser: ArgumentParser, one: Parameter, told: str) -> None:
    parts = set(_parts(one.annotation))
    said = next((part for part in parts if isinstance(part, Argument)), Argument())
    is_option = one.kind is Parameter.KEYWORD_ONLY
    settings: dict[str, Any] = {"help": said.help or told}
    names = [one.name]
    if is_option:
        names = list(said.flags or [f"--{one.name.replace('_', '-')}"])
        settings["dest"] = one.name
    if bool in parts:
        parser.add_argument(*names, action="store_true", **settings)
        return
    settings |= {"type": said.read or (Path if Path in parts else None), "metavar": said.metavar}
    has_default = one.default is not Parameter.empty
    if has_default:
        settings["default"] = one.default
    if is_option:
        settings["required"] = not has_default
    nargs = said.nargs
    if list in parts and is_option:
        settings["action"] = "append"
    elif not is_option:
        nargs = nargs or ("*" if list in parts else "?" if has_default else None)
    if nargs is not None:
        settings |= {"nargs": nargs} | ({"const": ""} if is_option else {})
    parser.add_argument(*names, **settings)


def _parts(annotation: Any) -> Iterator[Any]:
    """An annotation and what it is made of: of `list[str] | None` also `list` and `str`."""
    yield annotation
    yield get_origin(annotation)
    for part in get_args(annotation):
        yield from _parts(part)
