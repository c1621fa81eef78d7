"""A browser without a window: Debian's chromium, through its driver and the WebDriver protocol."""

import base64
import contextlib
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

DRIVER = "chromedriver"
BROWSER = "chromium"
_START_SECONDS = 30
_SCRIPT_SECONDS = 120


def missing():
    """Returns the programs that are not installed."""
    return [name for name in (DRIVER, BROWSER) if shutil.which(name) is None]


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Browser:
    """One window. Keys are those of the protocol: `DOWN`, `ENTER`, `ESCAPE`."""

    DOWN, ENTER, ESCAPE, TAB = "\ue015", "\ue007", "\ue00c", "\ue004"

    def __init__(self, width=1500, height=1000):
        port = _free_port()
        self._url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            # Pages are opened from the disk; whatever else one asks for fails.
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--window-size={width},{height}",
        ]
        options = {"args": arguments, "binary": shutil.which(BROWSER)}
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": 1000 * _SCRIPT_SECONDS},
        }
        try:
            self._wait_for_driver()
            session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self._process.kill()
            raise
        self._session = f"/session/{session['sessionId']}"

    def _wait_for_driver(self):
        deadline = time.monotonic() + _START_SECONDS
        while True:
            with contextlib.suppress(OSError):
                if self._call("GET", "/status")["ready"]:
                    return
            if time.monotonic() > deadline:
                raise TimeoutError(f"{DRIVER} did not start in {_START_SECONDS} s")
            time.sleep(0.05)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def open(self, path):
        """Opens a file and waits until its scripts say that they are done."""
        self._call("POST", f"{self._session}/url", {"url": path.resolve().as_uri()})
        deadline = time.monotonic() + _START_SECONDS
        while self.run("return document.documentElement.dataset.ready") != "true":
            assert time.monotonic() < deadline, self.messages()
            time.sleep(0.02)

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns its result."""
        body = {"script": script, "args": arguments}
        return self._call("POST", f"{self._session}/execute/sync", body)

    def press(self, *keys):
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": actions})

    def point_at(self, selector, *, click=False):
        """Moves the mouse to the middle of an element."""
        script = (
            "const one = document.querySelector(arguments[0]);"
            "one.scrollIntoView({block: 'center'});"
            "const box = one.getBoundingClientRect();"
            "return [box.left + 40, box.top + box.height / 2].map(Math.round)"
        )
        x, y = self.run(script, selector)
        actions = [{"type": "pointerMove", "x": x, "y": y}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._act({"type": "pointer", "id": "mouse", "actions": actions})

    def _act(self, source):
        self._call("POST", f"{self._session}/actions", {"actions": [source]})

    def command(self, name, **parameters):
        """Runs a command of the DevTools protocol."""
        body = {"cmd": name, "params": parameters}
        return self._call("POST", f"{self._session}/goog/cdp/execute", body)

    def prefer(self, scheme):
        """Prefers "light" or "dark" pages."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.command("Emulation.setEmulatedMedia", features=[feature])

    def messages(self):
        """Returns the errors and warnings since the last call."""
        log = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in log]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("GET", f"{self._session}/screenshot")))

    def close(self):
        try:
            self._call("DELETE", self._session)
        finally:
            self._process.terminate()
            self._process.wait()
