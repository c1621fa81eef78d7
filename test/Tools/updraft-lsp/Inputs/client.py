"""A client of a language server, for tests: uses JSON-RPC over the server's stdin and stdout."""

import json
import pathlib
import subprocess
import sys


class Client:
    """Starts `command`. As a context manager, it initializes the session, and shuts it down."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.next_id = 0
        self.diagnostics = {}  # by URI, as last published
        self.versions = {}

    def __enter__(self):
        self.initialize()
        return self

    def __exit__(self, *failure):
        if failure == (None, None, None):
            assert self.request("shutdown") is None
            self.exit()
        self.process.kill()

    def initialize(self):
        self.capabilities = self.request("initialize", processId=None, rootUri=None)["capabilities"]
        self.notify("initialized")

    def exit(self):
        """Ends the session, after `shutdown`."""
        self.notify("exit")
        assert self.process.wait(timeout=60) == 0, self.process.returncode

    def send_raw(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def send(self, **message):
        self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read(self):
        length = None
        while line := self.process.stdout.readline().strip():
            name, value = line.split(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length is not None, "the server has closed the connection"
        message = json.loads(self.process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        return message

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def request_raw(self, method, **params):
        self.next_id += 1
        self.send(id=self.next_id, method=method, params=params)
        while (message := self.read()).get("id") != self.next_id:
            pass
        return message

    def request(self, method, **params):
        message = self.request_raw(method, **params)
        assert "error" not in message, message
        return message["result"]

    def open(self, uri, text, language="upd"):
        """Opens a document, or replaces its text; returns its diagnostics."""
        self.diagnostics.pop(uri, None)
        version = self.versions[uri] = self.versions.get(uri, 0) + 1
        if version == 1:
            item = {"uri": uri, "languageId": language, "version": version, "text": text}
            self.notify("textDocument/didOpen", textDocument=item)
        else:
            self.notify(
                "textDocument/didChange",
                textDocument={"uri": uri, "version": version},
                contentChanges=[{"text": text}],
            )
        while uri not in self.diagnostics:
            self.read()
        return self.diagnostics[uri]

    def ask(self, what, uri, position=None):
        """Sends `textDocument/WHAT`, with a position if one is given."""
        place = {} if position is None else {"position": position}
        return self.request(f"textDocument/{what}", textDocument={"uri": uri}, **place)


def position(text, offset):
    """Converts an offset in a text to a position of the protocol."""
    line = text.count("\n", 0, offset)
    begin = text.rfind("\n", 0, offset) + 1
    units = len(text[begin:offset].encode("utf-16-le")) // 2
    return {"line": line, "character": units}


def at(text, words, within=0):
    """The position of `words` in a text, plus `within` characters."""
    assert text.count(words) == 1, f"{words!r} is there {text.count(words)} times"
    return position(text, text.index(words) + within)


def text_of(text, span):
    """The text in a range of the protocol, on one line."""
    line = text.split("\n")[span["start"]["line"]].encode("utf-16-le")
    assert span["start"]["line"] == span["end"]["line"]
    part = line[2 * span["start"]["character"] : 2 * span["end"]["character"]]
    return part.decode("utf-16-le")


def equal(found, expected):
    if found != expected:
        sys.exit(f"found    {found!r}\nexpected {expected!r}")


def uri_of(path):
    return pathlib.Path(path).resolve().as_uri()
