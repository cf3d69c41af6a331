"""`replog completion`: what makes a shell complete commands, options, names and files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from sim.cli.arguments import Argument, place, shipped, told
from sim.errors import BadInput
from sim.extras import check_extra

SHELLS = ("bash", "zsh", "fish", "tcsh")
INSTALL = {
    "bash": 'eval "$(replog completion bash)"          # in ~/.bashrc',
    "zsh": "replog completion zsh > ~/.zfunc/_replog   # a folder of $fpath",
    "fish": "replog completion fish > ~/.config/fish/completions/replog.fish",
    "tcsh": "replog completion tcsh > ~/.replog.tcsh    # and source it in ~/.tcshrc",
}


def completion(shell: Annotated[str, Argument(metavar="SHELL")]) -> int:
    """Print what makes a shell complete this command; for bash: eval "$(replog completion bash)".

    It is made of the command's own parser: commands, options, names of tables, rules with their
    values, invariants, and files and folders where these are meant.

    Args:
        shell: bash, zsh, fish or tcsh.
    """
    if shell not in SHELLS:
        raise BadInput(f"completion {told(shell)}: allowed: {', '.join(SHELLS)}")
    check_extra("completion needs", "completion", "shtab")
    import shtab

    print(f"# {INSTALL[shell]}")
    print(shtab.complete(whole_parser(), shell=shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands in one parser, as shells know them; it completes, and reads nothing."""
    from sim.cli import ABOUT, COMMANDS, GROUPS

    root = argparse.ArgumentParser(prog="replog", description=ABOUT, add_help=False)
    root.add_argument("--version", action="store_true", help="Print the version.")
    _take_help(root)
    commands = root.add_subparsers()
    groups: dict[str, Any] = {}
    for group, about in GROUPS.items():
        parser = commands.add_parser(group, help=about, add_help=False)
        _take_help(parser)
        groups[group] = parser.add_subparsers()
    for name, command in COMMANDS.items():
        group, _, last = name.rpartition(" ")
        if group and group not in groups:
            continue  # argparse cannot have both: `sweep PLAN`, and `sweep check`
        parser = groups.get(group, commands).add_parser(last, help=command.summary, add_help=False)
        command.declare(parser)
        _take_help(parser)
        for action in parser._actions:  # noqa: SLF001 -- argparse lists them nowhere else
            _complete(action, name)
    return root


def _take_help(parser: argparse.ArgumentParser) -> None:
    """`--help` alone: argparse would add `-h`, which this command does not know."""
    parser.add_argument("--help", action="store_true", help="Show this message and exit.")


def _complete(action: argparse.Action, command: str) -> None:
    """Says what stands in the place of a value."""
    import shtab

    if action.choices is None:
        names = _names_of(command).get(action.dest)
        if names:
            action.choices = names
    if action.choices is None and action.type in (Path, shipped, place):
        kind = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
        action.complete = kind  # type: ignore[attr-defined]


def _names_of(command: str) -> Mapping[str, list[str]]:
    """Values by the name of the argument, of a command that knows them as texts."""
    from sim.check.checker import known_invariants
    from sim.cli import listing, new
    from sim.rules import PRESETS, RULES
    from sim.rules.rules import shown

    rules = [f"{name}={shown(value)}" for name, rule in RULES.items() for value in rule.values]
    invariants = known_invariants()
    everywhere = {"rule": [*(f"preset={name}" for name in PRESETS), *rules]}
    everywhere |= dict.fromkeys(("invariant", "explain", "fail_on"), invariants)
    own: dict[str, dict[str, Any]] = {
        "list": {"what": [*listing.TABLES, *listing.FILE_TABLES]},
        "new": {"kind": list(new.KINDS)},
        "sweep": {"engine": ["spark", "process"]},
        "completion": {"shell": list(SHELLS)},
    }
    return everywhere | own.get(command, {})
