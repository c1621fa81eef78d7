"""Rules whose reports are opened in a browser; `--rules=all` takes every shipped rule."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # of the modules below

import webdriver
from written_reports import RULES, write_report

FOUR = ["adamw", "adafactor", "muon", "lamb"]


def pytest_addoption(parser):
    parser.addoption("--rules", default=",".join(FOUR), help="names of rules, or all")


def pytest_generate_tests(metafunc):
    if "rule" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--rules")
        every = sorted(path.stem for path in RULES.glob("*.upd"))
        metafunc.parametrize("rule", every if chosen == "all" else chosen.split(","))


@pytest.fixture(scope="session")
def browser():
    if absent := webdriver.missing():
        pytest.skip(f"not installed: {', '.join(absent)}; tools/setup --for=browser installs them")
    opened = webdriver.Browser()
    yield opened
    opened.close()


@pytest.fixture
def page(browser, tmp_path):
    """Opens the report of AdamW."""
    path = tmp_path / "adamw.html"
    write_report(path, "adamw")
    browser.open(path)
    assert browser.messages() == []
    return browser
