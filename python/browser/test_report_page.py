"""The page of a report, in a browser without a network."""

import html.parser
import json

from written_reports import write_report

# For each line of each source: its stages with the numbers of lit lines there, and what is said.
LIT_LINES = """
const found = [];
const choice = document.querySelector('#source-head select');
const stage = document.querySelectorAll('.stage-pane select')[1];
const text = document.querySelectorAll('.stage-pane .text')[1];
const choose = (select, value) => {
  select.value = value;
  select.dispatchEvent(new Event('change'));
};
for (const name of stage.options) {
  choose(stage, name.value);
  const numbers = new Map([...text.children].map((one, at) => [one, at]));
  for (const source of choice.options) {
    choose(choice, source.value);
    for (const line of document.querySelectorAll('#source-text .line')) {
      line.dispatchEvent(new MouseEvent('mouseenter'));
      const lit = [...text.getElementsByClassName('lit')].map((one) => numbers.get(one));
      const why = [...document.querySelectorAll('#trail .why')].map((one) => one.textContent);
      found.push([line.dataset.key, name.value, lit, why.join(' ')]);
    }
  }
}
choose(choice, 0);
return found;
"""


def test_every_line_lights_up_what_became_of_it_or_says_why_not(browser, tmp_path, rule):
    path, document = tmp_path / "report.html", tmp_path / "report.json"
    write_report(path, rule, "--also-for=nvptx:sm_90")
    write_report(document, rule, "--also-for=nvptx:sm_90", "--json")
    assert path.stat().st_size <= 2 << 20
    report = json.loads(document.read_text())
    texts = {stage["stage"]: report["texts"][stage["text"]] for stage in report["stages"]}
    expected = {stage: {} for stage in texts}
    for stage, text in texts.items():
        for number, place in enumerate(text["places"]):
            for source, line in report["places"][place]:
                expected[stage].setdefault(f"{source}:{line}", []).append(number)
    browser.open(path)
    found = browser.run(LIT_LINES)
    assert browser.messages() == []
    lines = sum(source["text"].count("\n") for source in report["sources"])
    assert len(found) == lines * len(texts)
    for key, stage, lit, why in found:
        assert lit == expected[stage].get(key, []), (key, stage)
        assert lit or why, (key, stage)


def test_a_click_pins_a_line_and_escape_unpins_it(page):
    lit = "return document.querySelectorAll('.stage-pane .lit').length"
    page.point_at("[data-key='0:32']")
    assert page.run(lit) > 0
    page.point_at("h1")
    assert page.run(lit) == 0
    page.point_at("[data-key='0:32']", click=True)
    pinned = page.run(lit)
    assert pinned > 0
    page.point_at("[data-key='0:27']")
    assert page.run(lit) == pinned
    assert "adamw.upd:32, pinned" in page.run("return document.querySelector('#trail').textContent")
    page.press(page.ESCAPE)
    page.point_at("h1")
    assert page.run(lit) == 0


def test_a_line_of_a_stage_lights_up_the_rule(page):
    page.run(
        "const lit = [...document.querySelectorAll('.stage-pane .text')[0].children];"
        "lit.find((line) => line.textContent.includes('math.sqrt %v')).id = 'root'"
    )
    page.point_at("#root")
    script = (
        "return [...document.querySelectorAll('#source-text .lit')].map((one) => one.dataset.key)"
    )
    assert page.run(script) == ["0:32"]


def test_the_keyboard_moves_between_lines_and_says_what_became_of_them(page):
    page.run("document.querySelector(\"[data-key='0:1']\").focus()")
    said = "return document.querySelector('#said').textContent"
    assert page.run(said).endswith("adamw.upd:1; a comment")
    page.press(*[page.DOWN] * 26)
    assert page.run("return document.activeElement.dataset.key") == "0:27"
    assert "asm 1" in page.run(said)
    page.press(page.ENTER)
    selected = "return document.querySelector('[aria-selected=true]')?.dataset.key ?? ''"
    assert page.run(selected) == "0:27"
    page.press(page.ESCAPE)
    assert page.run(selected) == ""


def test_screen_readers_find_names_for_everything(page):
    tree = page.command("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "combobox", "link", "image", "listbox", "option", "region", "spinbutton"}
    found = set()
    for node in tree:
        role = node.get("role", {}).get("value")
        if role in roles and not node.get("ignored"):
            found.add(role)
            assert node["name"]["value"].strip() or role == "option", node
    assert {"button", "combobox", "link", "image", "listbox", "option", "region"} <= found
    assert page.run("return document.documentElement.lang") == "en"


def luminance(colour):
    parts = [int(part) / 255 for part in colour[4:-1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_both_themes_are_readable(page):
    script = (
        "const style = (selector) => getComputedStyle(document.querySelector(selector));"
        "const behind = [style('body').backgroundColor, style('.pane').backgroundColor];"
        "const text = ['body', '.dim', '.c-comment', '.c-keyword', '.c-name', 'nav a'];"
        "return [behind, text.map((selector) => style(selector).color)]"
    )
    backgrounds = []
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        behind, text = page.run(script)
        backgrounds.append(luminance(behind[0]))
        for background in behind:
            for colour in text:
                values = sorted([luminance(background), luminance(colour)])
                assert (values[1] + 0.05) / (values[0] + 0.05) >= 4.5, (scheme, background, colour)
    page.prefer("light")
    assert backgrounds[0] > 0.8 > 0.1 > backgrounds[1]
    # The button overrides the system.
    button = "document.querySelector('#theme').click();"
    page.run(button * 2)
    assert luminance(page.run(script)[0][0]) < 0.1


def test_passes_show_what_they_changed_and_fold_those_that_changed_nothing(page):
    script = (
        "for (const one of document.querySelectorAll('#pass-list details')) one.open = true;"
        "return [...document.querySelectorAll('#pass-list > ol > li')].map((one) => one.innerText)"
    )
    page.run(script)
    # Differences are computed when the browser has told that they are open.
    entries = page.run("return new Promise((done) => setTimeout(done, 200))") or page.run(script)
    simplify = next(entry for entry in entries if entry.startswith("updraft-simplify"))
    assert "1 line removed" in simplify
    assert "arith.fptosi" in simplify
    assert any("changed nothing" in entry and "updraft-relax" in entry for entry in entries)


def test_the_plan_is_drawn_with_its_streams(page):
    names = "return [...document.querySelectorAll('.lane-name')].map((one) => one.textContent)"
    assert page.run(names) == ["param", "grad", "exp_avg", "exp_avg_sq"]
    assert page.run("return document.querySelectorAll('.picture .read').length") == 4
    assert page.run("return document.querySelectorAll('.picture .write').length") == 3


def test_products_have_costs_for_a_shape(browser, tmp_path):
    path = tmp_path / "muon.html"
    write_report(path, "muon")
    browser.open(path)
    script = (
        "const costs = [...document.querySelectorAll('.costs')].at(-1);"
        "const before = costs.textContent;"
        "const rows = costs.querySelector('input');"
        "rows.value = 2 * rows.value;"
        "rows.dispatchEvent(new Event('input'));"
        "return [before, costs.textContent]"
    )
    before, after = browser.run(script)
    assert "symmetry saves" in before
    assert before != after


def test_two_reports_are_compared(browser, tmp_path):
    before, after = tmp_path / "before.html", tmp_path / "after.html"
    write_report(before, "adamw")
    write_report(after, "adamw", "--set", "amsgrad=true", f"--compare={before}")
    browser.open(after)
    rows = (
        "return [...document.querySelectorAll('#compare-body tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    shown = browser.run(rows)
    assert ["static amsgrad", "false", "true"] in shown
    assert ["all tensors: bytes per element", "28", "36"] in shown
    script = (
        "const select = document.querySelector('#compare-stage');"
        "select.value = 'schedule';"
        "select.dispatchEvent(new Event('change'));"
        "return document.querySelector('#compare-body .diff').textContent"
    )
    assert "max_exp_avg_sq" in browser.run(script)


class Links(html.parser.HTMLParser):
    """Collects what a page refers to."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        names = ("src", "href", "data", "action")
        self.found += [value for name, value in attributes if name in names]


def test_the_page_is_complete_in_itself(page, tmp_path):
    path = tmp_path / "adamw.html"
    links = Links()
    links.feed(path.read_text())
    assert links.found
    assert all(link.startswith("#") for link in links.found)
    names = "return performance.getEntriesByType('resource').map((one) => one.name)"
    assert page.run(names) == []
    # The page's own data, read again, gives the same page.
    again = tmp_path / "again.html"
    write_report(again, "adamw", f"--compare={path}")
    page.open(again)
    assert "say the same" in page.run("return document.querySelector('#compare-body').textContent")
