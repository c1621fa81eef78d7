"""docs/rules.md agrees with the rule files."""

import updraft

from . import rule_table
from .conftest import RULES


def test_page_has_the_table():
    _, found, _ = rule_table.split_page()
    assert found == rule_table.table(), "run .venv/bin/python python/tests/rule_table.py --write"


def test_files_are_read_as_the_compiler_does():
    for path in RULES.glob("*.upd"):
        name, source, parameters, states = rule_table.parse(path)
        rule = updraft.compile_file(path)
        assert rule.name == name
        assert source
        for hyper in rule.hypers:
            assert f"{hyper} = " in parameters
        assert set(rule.states) <= {state.split()[0] for state in states}
