"""The section of a page about a run, in a browser without a network."""

import math

import pytest
from written_reports import write_report

ROWS = (
    "return [...document.querySelectorAll('#run-charts tbody')].map((body) =>"
    "[...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent)))"
)


def choose(page, name, value):
    page.run(
        "const select = document.getElementById(arguments[0]);"
        "select.value = arguments[1];"
        "select.dispatchEvent(new Event('change'))",
        name,
        value,
    )


def painted(page):
    """The colour of each pixel of the picture, by rows, after the next frames."""
    return page.run(
        "return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {"
        "const canvas = document.querySelector('#run-charts canvas');"
        "const {width, height} = canvas;"
        "const copy = Object.assign(document.createElement('canvas'), {width, height});"
        "const context = copy.getContext('2d', {willReadFrequently: true});"
        "context.drawImage(canvas, 0, 0);"
        "const data = context.getImageData(0, 0, width, height).data;"
        "done([...Array(height).keys()].map((y) => [...Array(width).keys()].map((x) =>"
        "[...data.slice(4 * (y * width + x), 4 * (y * width + x) + 4)])))})))"
    )


@pytest.fixture
def run(browser, tmp_path):
    """A page with two ranks. The second differs at step 3, and has NaN at step 4."""
    paths = []
    for rank in range(2):
        lines = ["step,parameter,ratio,sizes[-inf..0),sizes[0..1),sizes[1..inf]"]
        for step in range(1, 7):
            for at, name in enumerate(("first", "second", "third")):
                ratio = 10.0 ** (at - 2) * step
                if rank and step == 3 and at == 1:
                    ratio *= 2
                if rank and step == 4 and at == 2:
                    ratio = math.nan
                lines.append(f"{step},{name},{ratio},{step},0,{6 - step}")
        paths.append(tmp_path / f"rank{rank}.csv")
        paths[-1].write_text("\n".join(lines) + "\n")
    path = tmp_path / "run.html"
    write_report(path, "sgd", f"--run={paths[0]},{paths[1]}")
    browser.open(path)
    assert browser.messages() == []
    return browser


def test_without_a_run_there_is_no_section(page):
    shown = "return document.querySelector(arguments[0]).checkVisibility()"
    assert not page.run(shown, "#run")
    assert not page.run(shown, "nav a[href='#run']")


def test_a_heat_map_has_a_row_for_each_parameter(run):
    assert run.run("return document.querySelector('#run').checkVisibility()")
    colours = painted(run)
    assert [len(row) for row in colours] == [6, 6, 6]
    # Larger values are darker: from step to step, and from parameter to parameter.
    alphas = [[pixel[3] for pixel in row] for row in colours]
    assert all(row == sorted(row) for row in alphas)
    assert alphas[0][0] < alphas[1][0] < alphas[2][0]
    overview, lines = run.run(ROWS)
    assert overview[1] == ["second", "0.1", "0.6", "0.6", "0"]
    assert lines[2] == ["3", "0.03", "0.03"]


def test_nan_and_differences_are_marked_and_listed(run):
    texts = run.run(
        "return [...document.querySelectorAll('#run .warnings li')].map((one) => one.textContent)"
    )
    assert len(texts) == 2
    assert texts[0].startswith("Ranks differ: ratio of second is 0.6 in ")
    assert "at step 3" in texts[0]
    assert texts[1].startswith("1 row with NaN")
    choose(run, "run-file", 1)
    colours = painted(run)
    assert colours[2][3][:3] != colours[2][2][:3]
    assert colours[2][3][3] == 255
    choose(run, "run-parameter", 2)
    assert run.run("return document.querySelectorAll('#run-charts .dot.bad').length") == 1
    assert run.run(ROWS)[1][3] == ["4", "4", "NaN"]


def test_a_click_on_a_row_chooses_the_parameter(run):
    run.run("document.querySelector('#run-charts canvas').scrollIntoView({block: 'center'})")
    run.point_at("#run-charts canvas", click=True)
    assert run.run("return document.querySelector('#run-parameter').value") == "1"
    assert run.run(ROWS)[1][2] == ["3", "0.3", "0.6"]


def test_the_keyboard_chooses_a_probe(run):
    run.run("document.querySelector('#run-probe').focus()")
    run.press(run.DOWN)
    assert run.run("return document.querySelector('#run-probe').value") == "1"
    (table,) = run.run(ROWS)
    assert table[1] == ["2", "4", "0", "2"]


def test_histograms_are_heat_maps_of_buckets(run):
    choose(run, "run-probe", 1)
    colours = painted(run)
    alphas = [[pixel[3] for pixel in row] for row in colours]
    # The bucket of the largest elements is on top.
    assert alphas[0] == sorted(alphas[0], reverse=True)
    assert alphas[1] == [0] * 6
    assert alphas[2] == sorted(alphas[2])


def test_the_picture_follows_the_theme(run):
    run.prefer("light")
    light = painted(run)[0][5]
    run.prefer("dark")
    dark = painted(run)[0][5]
    run.prefer("light")
    assert light[:3] != dark[:3]


def test_everything_in_the_section_has_a_name(run):
    for probe in (0, 1):
        choose(run, "run-probe", probe)
        unnamed = run.run(
            "const parts = document.querySelectorAll('#run canvas, #run svg, #run select');"
            "return [...parts].filter((one) =>"
            "!(one.getAttribute('aria-label') || one.closest('label')?.textContent.trim())).length"
        )
        assert unnamed == 0
        # A table stands beside each picture.
        pictures, tables = run.run(
            "return ['canvas, #run-charts svg', 'table'].map((one) =>"
            "document.querySelectorAll(`#run-charts ${one}`).length)"
        )
        assert pictures == tables > 0
