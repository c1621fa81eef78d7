"""Checks the HTML of the site: links, anchors, and that nothing is loaded from elsewhere."""

import html.parser
import pathlib
import re
import urllib.parse
from collections.abc import Iterator

# Attributes that load something, by element. Links to other sites are allowed, loading isn't.
_LOADS = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "image": "href", "link": "href",
    "object": "data", "script": "src", "source": "src", "video": "src",
}  # fmt: skip
_EXTERNAL = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.styles: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if "id" in values:
            self.identifiers.add(values["id"])
        if tag == "a" and "name" in values:
            self.identifiers.add(values["name"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in _LOADS and values.get(_LOADS[tag]) and values.get("rel") != "canonical":
            self.loads.append(values[_LOADS[tag]])
        self.styles.append(values.get("style", ""))
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)


def _read(path: pathlib.Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _style_errors(name: str, text: str) -> Iterator[str]:
    for loaded in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)", text):
        if _EXTERNAL.match(address := "".join(loaded)):
            yield f"{name}: error: a style loads `{address}`; put the file into the site"


def errors(folder: pathlib.Path) -> Iterator[str]:
    """The errors of a site, as `PAGE: error: …`."""
    pages = {path: _read(path) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        for load in page.loads:
            if _EXTERNAL.match(load):
                yield f"{name}: error: the page loads `{load}`; put the file into the site"
        for style in page.styles:
            yield from _style_errors(name, style)
        inside = {*page.loads, *page.links}
        for link in sorted(inside):
            if re.match(r"[a-z]+:", link, re.IGNORECASE) or _EXTERNAL.match(link):
                continue
            address = urllib.parse.urlsplit(link)
            target = path
            if address.path:
                target = (path.parent / urllib.parse.unquote(address.path)).resolve()
                target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{name}: error: link to `{link}`, which doesn't exist"
                continue
            anchor = urllib.parse.unquote(address.fragment)
            if anchor and target in pages and anchor not in pages[target].identifiers:
                yield f"{name}: error: link to `{link}`, where the anchor `{anchor}` doesn't exist"
    for path in sorted(folder.rglob("*.css")):
        yield from _style_errors(
            path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8")
        )
