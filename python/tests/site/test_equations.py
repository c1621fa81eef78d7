"""Equations of rules as LaTeX."""

import doctest
import re

import equations
import pytest
import rule_pages

import updraft
from updraft.shipped import path_of
from updraft.shipped_constructor import comment


def test_examples():
    results = doctest.testmod(equations)
    assert results.attempted > 2
    assert results.failed == 0


@pytest.mark.parametrize("name", updraft.shipped_rules())
def test_equations_of_rules(name):
    rule = updraft.load(name)
    names = [*rule.hypers, *rule.statics]
    blocks = [block for block in comment(path_of(name)) if equations.is_equation_block(block)]
    assert blocks
    for block in blocks:
        latex = equations.typeset(block, names)
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")
        # One row for each line at least, and every name in it.
        rows = latex.count("\\\\\n") + 1
        lines = [line for line in block.splitlines() if re.search(r"\w' +=", line)]
        assert rows >= len(lines)
        for used in set(re.findall(r"\w+", block)) & {"weight_decay", "momentum"}:
            assert used.replace("_", r"\_") in latex


def test_division_binds_as_in_the_language():
    latex = equations.typeset("  x = a / (b + 1) c / 2", [])
    assert r"\dfrac{a}{b + 1} \, \dfrac{c}{2}" in latex


def test_norms_and_powers():
    latex = equations.typeset("  u' = |d| / |u|_1 beta1^(t+1) m'^-2", ["beta1"])
    assert r"\dfrac{\left\lvert d \right\rvert}{\left\lvert u \right\rvert_{1}}" in latex
    assert r"\beta_{1}^{t \, + \, 1}" in latex
    assert r"m^{\prime\,-2}" in latex


def test_prose_stays_text():
    latex = equations.typeset("  v' = g^2 at the first step, then `x`    for a matrix", [])
    assert r"\text{at}\ \text{the}\ \text{first}\ \text{step}" in latex
    assert r"\texttt{x}" in latex
    assert r"\text{for}\ \text{a}\ \text{matrix}" in latex


@pytest.mark.parametrize("wrong", ["  p' = (p - g", "  p' = p ? g", "  p' = |p", "  p' = p - "])
def test_an_error_names_the_line(wrong):
    with pytest.raises(equations.NotationError, match=r"p' = "):
        equations.typeset(wrong, [])


def test_names_in_prose():
    text = rule_pages.prose(
        "lr times weight_decay, as torch.optim.SGD does [1]", ["lr", "weight_decay"]
    )
    assert text == "`lr` times `weight_decay`, as `torch.optim.SGD` does \\[1\\]"
