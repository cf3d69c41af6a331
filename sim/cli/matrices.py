"""`replog matrix`: what one rule decides, scenario by scenario, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sim.cli.arguments import (
    Argument,
    GivenRules,
    Json,
    Output,
    plugin_arguments,
    rule_values,
    shipped,
)
from sim.cli.output import print_json, print_table, tell
from sim.errors import BadInput
from sim.files.foreign import shell


def matrix(
    paths: Annotated[list[Path], Argument(shipped, "paths...", nargs="+")],
    *,
    vary: Annotated[str, Argument(metavar="RULE[=V,…]")],
    under: Annotated[list[str] | None, Argument(metavar="RULE[=V,…][+RULE…]")] = None,
    rule: GivenRules = None,
    skip: Annotated[list[str] | None, Argument(metavar="PATTERN")] = None,
    sweep: Annotated[list[Path] | None, Argument(metavar="DIR")] = None,
    output: Output = None,
    as_json: Json = False,
) -> int:
    """Run scenarios under every value of one rule: what holds, under which rules, at what price.

    Args:
        paths: Stories, timed scenarios, folders of them; or names of shipped ones.
        vary: The rule in question, and its values.
        under: Another rule, or several joined by +: try every combination of values beside it; may
            be given more than once.
        skip: Leave out files so named; may be given repeatedly.
        sweep: With -o: add what a finished sweep says of the rule.
        output: Write a page of Markdown there.
    """
    from sim.files.atomic import check_writable, replace_text
    from sim.study.matrix import matrix_page as page
    from sim.study.matrix.matrix import choice_of, choices_of, make_matrix

    if output is not None:
        check_writable(output, what=f"--output {output}", read=paths)
    elif sweep:
        raise BadInput("--sweep: needs a page to write to: -o OUT")
    varied = choice_of(vary, option="--vary")
    sections = []
    if sweep:
        from sim.study.report import grid_as_markdown, read_folder

        sections = [grid_as_markdown(read_folder(folder), varied.rule) for folder in sweep]
    made = make_matrix(
        paths,
        varied,
        under=[choices_of(text, option="--under") for text in under or []],
        rules=rule_values(rule),
        skip=skip or (),
    )
    if output is not None:
        command = _command(paths, vary, output, under=under, rule=rule, skip=skip, sweep=sweep)
        text = page.as_markdown(made, command=command, folder=output.parent)
        replace_text(output, "\n".join([text, *sections]))
    if as_json:
        print_json(page.as_document(made))
        return 0
    if under:
        print_table(page.conditions_table(made), texts=True)
        print(*page.conditions_list(made), "", sep="\n")
    tables = [page.invariants_table(made), page.prices_table(made), page.scenarios_table(made)]
    for rows in tables:
        print_table(rows)
        print()
    differing = sum(line.differs for line in made.lines)
    print(f"{made.varied.rule} makes a difference in {differing} of {len(made.lines)} scenarios")
    if output is not None:
        tell(str(output))
    return 0


def _command(paths: list[Path], vary: str, output: Path, **repeated: object) -> str:
    """The command as it was given, the options in one order."""
    words: list[object] = [*paths, "--vary", vary]
    for name, given in repeated.items():
        values: list[object] = given if isinstance(given, list) else []
        words += [word for value in values for word in (f"--{name}", str(value))]
    return f"replog matrix {shell.command([*words, *plugin_arguments(), '-o', output])}"
