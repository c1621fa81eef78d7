"""A browser without a window: Debian's chromium, driven by selenium."""

import shutil

from selenium.webdriver import ActionChains, Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

DRIVER = "chromedriver"
BROWSER = "chromium"
_START_SECONDS = 30
_SCRIPT_SECONDS = 120


def missing():
    """Returns the programs that are not installed."""
    return [name for name in (DRIVER, BROWSER) if shutil.which(name) is None]


class Browser:
    """One window."""

    DOWN, ENTER, ESCAPE, TAB = Keys.DOWN, Keys.ENTER, Keys.ESCAPE, Keys.TAB

    def __init__(self, width=1500, height=1000):
        options = ChromeOptions()
        options.binary_location = shutil.which(BROWSER)
        for argument in (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            # Pages are opened from the disk; whatever else one asks for fails.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--window-size={width},{height}",
        ):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self._driver = Chrome(options=options, service=Service(shutil.which(DRIVER)))
        self._driver.set_script_timeout(_SCRIPT_SECONDS)

    def open(self, path):
        """Opens a file and waits until its scripts say that they are done."""
        self._driver.get(path.resolve().as_uri())
        WebDriverWait(self._driver, _START_SECONDS, 0.02).until(
            lambda _: self.run("return document.documentElement.dataset.ready") == "true"
        )

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns its result."""
        return self._driver.execute_script(script, *arguments)

    def press(self, *keys):
        for key in keys:
            ActionChains(self._driver).send_keys(key).perform()

    def point_at(self, selector, *, click=False):
        """Moves the mouse to the middle of an element."""
        script = (
            "const one = document.querySelector(arguments[0]);"
            "one.scrollIntoView({block: 'center'});"
            "const box = one.getBoundingClientRect();"
            "return [box.left + 40, box.top + box.height / 2].map(Math.round)"
        )
        actions = ActionBuilder(self._driver)
        actions.pointer_action.move_to_location(*self.run(script, selector))
        if click:
            actions.pointer_action.click()
        actions.perform()

    def command(self, name, **parameters):
        """Runs a command of the DevTools protocol."""
        return self._driver.execute_cdp_cmd(name, parameters)

    def prefer(self, scheme):
        """Prefers "light" or "dark" pages."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def messages(self):
        """Returns the errors and warnings since the last call."""
        return [entry["message"] for entry in self._driver.get_log("browser")]

    def screenshot(self, path):
        path.write_bytes(self._driver.get_screenshot_as_png())

    def close(self):
        self._driver.quit()
