"""The documentation site is built without warnings, and its checks find errors."""

import doctest
import importlib.util
import re
import shutil
import subprocess
import sys

import docstrings
import output
import pytest

import updraft

from .conftest import ROOT


def test_examples():
    results = doctest.testmod(docstrings)
    assert results.attempted > 0
    assert results.failed == 0


@pytest.fixture(scope="module")
def site():
    """The site, built from the repository."""
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("Sphinx is not installed; run tools/setup --for=docs")
    if not (ROOT / "build" / "release" / "docs" / "Dialect.md").exists():
        pytest.skip("the target updraft-docs is not built")
    command = [sys.executable, "tools/site/build.py"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ROOT / "build" / "site" / "html"


def test_a_page_for_each_rule(site):
    index = (site / "rules.html").read_text()
    for name in updraft.shipped_rules():
        pages = [
            page for page in (site / "rules").glob("*.html") if f">{name}<a" in page.read_text()
        ]
        (page,) = (page for page in pages if f"<h1>{name}<" in page.read_text())
        text = page.read_text()
        assert f'href="rules/{page.name}"' in index
        assert '<div class="math" data-tex="' in text
        assert len(re.findall(r'<svg role="img" aria-label="updates of', text)) == 4
        assert "bytes moved per element" in text
        assert f'id="updraft.optim.{name}"' in text


def test_a_page_for_each_pass(site):
    listed = set(re.findall(r"^### `-([\w-]+)`", passes(), re.MULTILINE))
    assert len(listed) > 10
    assert listed == {page.stem for page in (site / "passes").glob("*.html")}


def passes():
    folder = ROOT / "build" / "release" / "docs"
    return "\n".join((folder / f"{name}.md").read_text() for name in ("Transforms", "Conversion"))


def test_every_operation_is_on_the_page_of_the_dialect(site):
    page = (site / "dialect-operations.html").read_text()
    operations = (ROOT / "build" / "release" / "docs" / "Dialect.md").read_text()
    listed = re.findall(r"^### `(updraft\.\w+)`", operations, re.MULTILINE)
    assert len(listed) > 20
    for name in listed:
        assert f">{name}</span>" in page, name


def test_the_public_names_of_the_package_are_on_a_page(site):
    page = (site / "api" / "updraft.html").read_text()
    for name in updraft.__all__:
        if name not in ("lang", "transforms"):
            assert f'id="updraft.{name}"' in page, name


def test_errors_of_a_site(tmp_path):
    (tmp_path / "other.html").write_text('<p id="there">text</p>')
    (tmp_path / "index.html").write_text(
        '<link rel="stylesheet" href="https://a.example/style.css">'
        '<style>p { background: url("//a.example/b.png") }</style>'
        '<a href="none.html">a</a> <a href="other.html#there">b</a> <a href="other.html#gone">c</a>'
        '<a href="https://a.example/">d</a> <a href="#here">e</a>'
    )
    (tmp_path / "style.css").write_text('@import "https://a.example/fonts.css";')
    elsewhere = "put the file into the site"
    assert [*output.errors(tmp_path)] == [
        f"index.html: error: the page loads `https://a.example/style.css`; {elsewhere}",
        f"index.html: error: a style loads `//a.example/b.png`; {elsewhere}",
        "index.html: error: link to `#here`, where the anchor `here` doesn't exist",
        "index.html: error: link to `none.html`, which doesn't exist",
        "index.html: error: link to `other.html#gone`, where the anchor `gone` doesn't exist",
        f"style.css: error: a style loads `https://a.example/fonts.css`; {elsewhere}",
    ]


def test_a_broken_link_in_a_page(tmp_path):
    """On GitHub, a link is the path of a file."""
    import staging

    if not staging.KATEX.exists() or not shutil.which("ninja"):
        pytest.skip("KaTeX is not installed; run tools/setup --for=docs")
    site = staging.Staging.__new__(staging.Staging)
    site.targets, site.extra, site.files = staging.sources(), {}, {}
    text = "[a](language.md#text) `[code](none.md)` [b](../LICENSE) [c](#here)\n"
    assert site._linked(text, "docs/tools.md", "tools") == (
        "[a](language.md#text) `[code](none.md)` [b](source/LICENSE.md) [c](#here)\n"
    )
    assert "Apache License" in site.extra["source/LICENSE"]
    with pytest.raises(staging.BrokenLinkError, match=r"docs/tools.md: error: link to `none.md`"):
        site._linked("[a](none.md)", "docs/tools.md", "tools")
