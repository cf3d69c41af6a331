"""The verdict that the README quotes: the sentences that open `reports/leo_fixes.md`.

`make reports` runs this module, which writes them between two comments of the README.
"""

import re

from tests.commands import ROOT

PLACE = re.compile(r"(?<=<!-- verdict of leo_fixes.yaml -->\n).*?(?=<!-- end -->)", re.DOTALL)


def sentences(page: str) -> list[str]:
    """The paragraphs between the title of a page and its grid, without links."""
    text = (ROOT / f"reports/{page}.md").read_text(encoding="utf-8").partition("\n| ")[0]
    return re.sub(r"\[(\w+)\]\(#\w+\)", r"\1", text).strip().split("\n\n")[1:]


if __name__ == "__main__":
    readme = ROOT / "README.md"
    verdict = "".join(f"\n{one}\n" for one in sentences("leo_fixes"))
    text, places = PLACE.subn(lambda _found: f"{verdict}\n", readme.read_text(encoding="utf-8"))
    assert places == 1
    readme.write_text(text, encoding="utf-8")
