"""Collects the site's pages in one folder for Sphinx: those of the repository and generated ones.

Links of pages are those that work on GitHub: relative paths of files. Here a link to a page, a rule
or a header leads to its page in the site, and a link to another file to a page with its text.
"""

import os
import pathlib
import posixpath
import re
import shutil

import header_pages
import headers
import python_pages
import rule_pages
import tablegen_pages

ROOT = pathlib.Path(__file__).resolve().parents[2]
KATEX = pathlib.Path("/usr/share/javascript/katex")

# Generated pages that the site lists in a section of docs/README.md, or below a page.
IN_SECTIONS = {
    "Reference": {
        "api/python": "the package `updraft`, from its docstrings",
        "api/c": "the C headers",
        "api/cpp": "the C++ headers",
        "dialect-operations": "the dialect `updraft`, from TableGen",
        "passes": "every pass, from TableGen",
    }
}
TITLES = {
    "api/python": "Python API",
    "api/c": "C API",
    "api/cpp": "C++ API",
    "dialect-operations": "Operations, types and attributes",
    "passes": "Passes",
}
LANGUAGES = {
    ".h": "c++", ".cpp": "c++", ".c": "c", ".py": "python", ".upd": "upd", ".proto": "proto",
    ".toml": "toml", ".yaml": "yaml", ".cmake": "cmake", ".mlir": "mlir", ".json": "json",
}  # fmt: skip

_LINK = re.compile(
    r"(?P<code>`+)(?:.|\n)*?(?<!`)(?P=code)(?!`)|(?P<before>\]\()(?P<href>[^)\s]+)(?=\))"
)
_FENCE = re.compile(r"^( *)(```+)[^\n]*\n.*?^\1\2$", re.MULTILINE | re.DOTALL)


class BrokenLinkError(Exception):
    """A link to a file that doesn't exist."""


def sources() -> dict[str, str]:
    """The page of each file in the repository that is one, by the file's path."""
    result = {"README.md": "index", "docs/README.md": "index"}
    result |= {
        "CONTRIBUTING.md": "contributing",
        "CHANGELOG.md": "changelog",
        "deploy/README.md": "deploy",
    }
    for path in (ROOT / "docs").rglob("*.md"):
        name = path.relative_to(ROOT / "docs")
        result.setdefault(f"docs/{name.as_posix()}", name.with_suffix("").as_posix())
    for path in (ROOT / "examples").glob("*/README.md"):
        result[path.relative_to(ROOT).as_posix()] = f"examples/{path.parent.name}"
    return result


class Staging:
    """The pages of the site and the files that they show."""

    def __init__(self, cache: pathlib.Path) -> None:
        self.pages: dict[str, str] = {}
        self.files: dict[str, pathlib.Path] = {}
        self.targets = sources()
        self.extra: dict[str, str] = {}
        generated = {
            **rule_pages.pages(cache),
            **header_pages.pages(),
            **python_pages.pages(),
            **tablegen_pages.pages(),
        }
        self.pages |= generated
        for name in generated:
            if name.startswith("rules/") and name != "rules/transforms":
                self.targets[f"{name}.upd"] = name
        self.targets["rules"] = "rules"
        for header in (ROOT / "include").rglob("*.h"):
            path = header.relative_to(ROOT / "include").as_posix()
            name = headers.docname(path)
            if name in generated:
                self.targets[f"include/{path}"] = name
        for path, name in sources().items():
            if path != "README.md":
                self.pages[name] = self._page(path, name)
        self.pages |= self.extra
        self.pages["index"] = self._index()
        self.pages["rules"] += self._children("rules/", first="rules/transforms")

    def _page(self, path: str, name: str) -> str:
        text = (ROOT / path).read_text(encoding="utf-8")
        pieces, end = [], 0
        for fence in _FENCE.finditer(text):
            pieces += [self._linked(text[end : fence.start()], path, name), fence[0]]
            end = fence.end()
        return "".join([*pieces, self._linked(text[end:], path, name)])

    def _linked(self, text: str, path: str, name: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            if match["href"] is None or re.match(r"[a-z]+:|#", match["href"]):
                return match[0]
            return match["before"] + self._target(match["href"], path, name)

        return _LINK.sub(replaced, text)

    def _target(self, href: str, path: str, name: str) -> str:
        file, mark, anchor = href.partition("#")
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        source = ROOT / found
        if not source.exists() or found.startswith(".."):
            raise BrokenLinkError(f"{path}: error: link to `{href}`, which doesn't exist")
        folder = posixpath.dirname(name)
        if found in self.targets:
            return posixpath.relpath(self.targets[found] + ".md", folder or ".") + mark + anchor
        if source.suffix in (".svg", ".png"):
            place = posixpath.normpath(posixpath.join(folder, posixpath.basename(found)))
            self.files[place] = source
            return posixpath.basename(found)
        if not source.is_file():
            raise BrokenLinkError(f"{path}: error: link to the folder `{href}`; name a file in it")
        page = f"source/{found}"
        text = source.read_text(encoding="utf-8").rstrip()
        language = LANGUAGES.get(source.suffix, "text")
        self.extra[page] = (
            f"---\norphan: true\n---\n\n# `{found}`\n\n`````{language}\n{text}\n`````\n"
        )
        return posixpath.relpath(page + ".md", folder or ".") + mark + anchor

    def _index(self) -> str:
        """docs/README.md with the generated pages, and its lists as the site's navigation."""
        sections = re.split(r"^(?=## )", self.pages["index"], flags=re.MULTILINE)
        result = [sections[0]]
        trees = []
        for section in sections[1:]:
            title = section.splitlines()[0].removeprefix("## ")
            lines = section.rstrip().splitlines()
            for name, about in IN_SECTIONS.get(title, {}).items():
                lines.append(f"- [{TITLES[name]}]({name}.md): {about}")
            text = "\n".join(lines)
            result.append(text + "\n\n")
            pattern = r"^(?:-|\d+\.) \[([^\]]*)\]\(([^)#:]+)\.md\)"
            pages = re.findall(pattern, text, re.MULTILINE)
            names = "\n".join(f"{link} <{page}>" for link, page in pages)
            trees.append(f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n{names}\n```\n")
        return "".join(result) + "\n" + "\n".join(trees)

    def _children(self, prefix: str, first: str) -> str:
        names = sorted(name for name in self.pages if name.startswith(prefix) and name != first)
        listed = "\n".join(f"{self._title(name)} <{name}>" for name in names)
        return f"\n```{{toctree}}\n:hidden:\n\nTransforms <{first}>\n{listed}\n```\n"

    def _title(self, name: str) -> str:
        return re.search(r"^# (.*)$", self.pages[name], re.MULTILINE)[1]

    def write(self, folder: pathlib.Path) -> None:
        """Writes the pages that have changed, so that Sphinx reads only these again."""
        kept = {folder / f"{name}.md" for name in self.pages} | {
            folder / name for name in self.files
        }
        for name, text in self.pages.items():
            path = folder / f"{name}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
        for name, source in self.files.items():
            path = folder / name
            if not path.exists() or path.read_bytes() != source.read_bytes():
                shutil.copyfile(source, path)
        for path in folder.rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()


def copy_katex(folder: pathlib.Path) -> None:
    """Copies KaTeX with its fonts, so that the site loads nothing from elsewhere."""
    if not KATEX.exists():
        raise FileNotFoundError(f"{KATEX} is missing; run tools/setup --for=docs")
    (folder / "katex" / "fonts").mkdir(parents=True, exist_ok=True)
    for source in (KATEX / "katex.js", KATEX / "katex.min.css"):
        shutil.copyfile(source, folder / "katex" / source.name)
    for source in (KATEX / "fonts").glob("*.woff2"):
        shutil.copyfile(source, folder / "katex" / "fonts" / source.name)
    # Names only the fonts that were copied.
    style = folder / "katex" / "katex.min.css"
    fonts = r",url\([^)]*\.(?:woff|ttf)\) format\(.(?:woff|truetype).\)"
    style.write_text(re.sub(fonts, "", style.read_text(encoding="utf-8")), encoding="utf-8")


def stage(folder: pathlib.Path, cache: pathlib.Path) -> None:
    os.makedirs(folder, exist_ok=True)  # noqa: PTH103
    Staging(cache).write(folder)
