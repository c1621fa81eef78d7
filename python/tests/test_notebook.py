"""The display of a rule in a notebook is complete, and shows special characters as text."""

import html
import html.parser
import json
import pathlib
import re

import numpy
import pytest

import updraft
from updraft import notebook
from updraft.tracing import names

GRAMMAR = (
    pathlib.Path(__file__)
    .resolve()
    .parents[2]
    .joinpath("tools", "updraft-lsp", "editors", "upd.tmLanguage.json")
)
HOSTILE = """\
// </pre><script>alert("&amp;")</script> ```
rule Plain(lr = 0.5)
  require lr >= 0 && lr < 1 else "<b>{lr}</b> & |"
{
  state velocity = 0 : f64
  update(param, grad) {
    next velocity = velocity + square(grad)
    next param = param - lr * velocity
  }
}"""


class Page(html.parser.HTMLParser):
    """Checks that tags are closed in order, and collects them and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append((tuple(self.open), data))

    def within(self, tag):
        return "".join(data for tags, data in self.text if tag in tags)


@updraft.rule
def hostile(param, grad, lr=0.5, mode="<i>|`*_\\"):
    return param - lr * grad if mode else param


def shown_by(thing):
    return Page(thing._repr_html_()), thing._repr_markdown_()


def test_a_compiled_rule_in_html():
    page, _ = shown_by(updraft.compile(HOSTILE, storage={"param": "bf16"}, numerics="torch"))
    assert page.within("pre") == HOSTILE
    assert set(page.tags) <= {
        *("div", "b", "br", "table", "tr", "th", "td", "code", "details", "summary", "pre", "span")
    }
    text = "".join(data for _, data in page.text)
    assert text.startswith("Plain computed in f64, numerics torch")
    assert page.within("b") == "Plain"
    assert page.within("td") == "lr0.5parambf16gradf32velocityf64"


def test_a_compiled_rule_in_markdown():
    _, shown = shown_by(updraft.compile(HOSTILE))
    assert shown.startswith("**`Plain`** computed in f64, numerics ieee\n\n| hyperparameter |")
    assert "\n| `lr` | 0.5 |\n" in shown
    assert "\n| `velocity` | f64 |\n" in shown
    # The source has three backticks in a row.
    assert shown.endswith(f"\n\n````upd\n{HOSTILE}\n````\n")


def test_a_rule_for_a_gpu_says_so():
    _, shown = shown_by(updraft.compile(HOSTILE, target="emulator"))
    assert shown.startswith("**`Plain`** computed in f64, numerics ieee, for emulator\n")


def test_values_are_text():
    page, shown = shown_by(hostile)
    assert repr("<i>|`*_\\") in page.within("td")
    assert "i" not in page.tags
    (row,) = (line for line in shown.splitlines() if line.startswith("| `mode` |"))
    assert row.count("|") == 3
    assert not re.search(r"[<`*_\\]", row.removeprefix("| `mode` |"))
    assert html.unescape(row).removeprefix("| `mode` | ") == repr("<i>|`*_\\") + " |"


def test_markdown_of_text():
    text = "a*b_c`d|e\\f<g>[h](i)~#j&k;\n 1.5e-3"
    shown = notebook._plain(text)
    assert html.unescape(shown) == text
    assert not re.search(r"[*_`|\\<>\[\]()~\n]", shown)


@pytest.mark.parametrize("name", updraft.shipped_rules())
def test_every_rule_of_the_package(name):
    definition = updraft.load(name)
    page, shown = shown_by(definition)
    assert page.within("pre") == definition.to_upd()
    assert page.within("b") == name
    for part in (*definition.hypers, *definition.statics, *definition.states):
        assert f"| `{part}` |" in shown
    rule = definition.compile()
    assert shown_by(rule)[0].within("pre") == definition.to_upd()


def test_chains_and_transforms():
    chain = updraft.chain(updraft.transforms.clip_by_value(bound=0.5), hostile)
    page, shown = shown_by(chain)
    assert page.within("pre") == chain.to_upd()
    assert "| `bound` | 0.5 |" in shown


def test_a_transform_alone():
    @updraft.transform
    def scaled(grad, by=2.0):
        return by * grad

    page, shown = shown_by(scaled)
    assert "next grad = by * grad" in page.within("pre")
    assert "| `by` | 2 |" in shown
    assert "stored" not in shown


def test_numbers_that_text_has_no_word_for():
    definition = updraft.load("AdamW")(lr=numpy.inf)
    assert "| `lr` | inf |" in definition._repr_markdown_()


def test_words_of_the_language():
    patterns = json.loads(GRAMMAR.read_text())["repository"]
    words = {
        word
        for pattern in patterns["keyword"]["patterns"]
        for word in re.search(r"\(\?:(.*)\)", pattern["match"])[1].split("|")
    }
    assert words == names.KEYWORDS
    inputs = re.search(r"\(\?:(.*)\)", patterns["input"]["match"])[1].split("|")
    assert set(inputs) == names.RESERVED


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("let x = 1.5e-3", ["keyword", "number"]),
        ('require lr < 1 else "no // comment"', ["keyword", "number", "keyword", "string"]),
        ("// let x", ["comment"]),
        ("sqrt(param) + letter", ["call", "input"]),
        ('"unclosed', ["string"]),
        ('"a \\" b" if', ["string", "keyword"]),
    ],
)
def test_tokens(text, kinds):
    styles = {style: kind for kind, style in notebook._STYLES.items()}
    found = re.findall(r'<span style="([^"]*)">', notebook.highlighted(text))
    assert [styles[style] for style in found] == kinds
