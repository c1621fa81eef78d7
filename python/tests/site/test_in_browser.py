"""Every page of the site in a headless browser, on a desktop and on a phone.

`tools/test --long=site` builds the site and sets UPDRAFT_SITE to its folder.
"""

import functools
import http.server
import os
import pathlib
import threading

import pytest

if not os.environ.get("UPDRAFT_SITE"):
    pytest.skip("tools/test --long=site runs it", allow_module_level=True)

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SITE = pathlib.Path(os.environ["UPDRAFT_SITE"]).resolve()
PAGES = sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html"))
WIDTHS = {"desktop": 1280, "phone": 390}

# The elements that reach beyond the page and don't scroll by themselves.
OVERFLOWING = """
const width = document.documentElement.clientWidth;
const scrolls = element => element && (
    ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX) ||
    scrolls(element.parentElement));
return document.documentElement.scrollWidth <= width ? [] :
    [...document.querySelectorAll("article *")]
        .filter(it => it.getBoundingClientRect().right > width + 1 && !scrolls(it))
        .map(it => it.outerHTML.slice(0, 200))
        .concat(`the page: ${document.documentElement.scrollWidth} pixels`);
"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without printing requests."""

    def log_message(self, format, *arguments):
        """Prints nothing."""


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(QuietHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def resize(browser, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600},
    )


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS.keys())
@pytest.mark.parametrize("page", PAGES)
def test_page(page, width, browser, address):
    resize(browser, width)
    browser.get(f"{address}/{page}")
    assert browser.get_log("browser") == []
    assert browser.execute_script(OVERFLOWING) == []
    article = browser.find_element(By.CSS_SELECTOR, "article, #search-results, .sidebar-drawer")
    assert article.is_displayed() or page in ("genindex.html", "py-modindex.html")
    # Formulas are typeset, and none is shown as an error.
    formulas = browser.find_elements(By.CSS_SELECTOR, ".math")
    assert all(formula.find_elements(By.CSS_SELECTOR, ".katex-html") for formula in formulas)
    assert browser.find_elements(By.CSS_SELECTOR, ".katex-error") == []
    # Everything that the page has loaded is a part of the site.
    script = "return performance.getEntriesByType('resource').map(it => it.name)"
    assert all(name.startswith((address, "data:")) for name in browser.execute_script(script))


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("AdamW", "rules/adamw.html"),
        ("Prodigy", "rules/prodigy.html"),
        ("upd_optimizer_step_rows", "api/c/optimizer.html"),
        ("updraft-simplify", "passes/updraft-simplify.html"),
        ("ArrayOptimizer", "api/updraft.html"),
    ],
)
def test_search(words, page, browser, address):
    resize(browser, WIDTHS["desktop"])
    browser.get(f"{address}/search.html?q={words}")

    def found(driver):
        links = driver.find_elements(By.CSS_SELECTOR, "#search-results li a")
        return [link.get_attribute("href") for link in links]

    links = WebDriverWait(browser, 20).until(found)
    assert any(link.split("#")[0].split("?")[0] == f"{address}/{page}" for link in links[:10]), (
        links
    )
