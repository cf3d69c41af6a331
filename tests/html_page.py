"""What is in a page of HTML."""

from html.parser import HTMLParser

EMPTY = frozenset({"meta", "br", "link", "img", "use", "path"})


class Page(HTMLParser):
    """A page, taken apart.

    Attributes:
        tags: Of its elements, but for those around a sign.
        attributes: Their attributes, with their values.
        text: All between tags.
        unclosed: Tags that are not closed, or not where they should be.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.unclosed: list[str] = []
        self.feed(text)
        self.close()

    @property
    def names(self) -> list[str]:
        """Of its attributes."""
        return [name for name, _ in self.attributes]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags += [] if tag == "span" else [tag]
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.unclosed += [] if tag in EMPTY else [tag]

    def handle_endtag(self, tag: str) -> None:
        if self.unclosed[-1:] == [tag]:
            self.unclosed.pop()
        elif tag not in EMPTY:
            self.unclosed.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.tags.append("comment")

    def handle_data(self, data: str) -> None:
        self.text += data
