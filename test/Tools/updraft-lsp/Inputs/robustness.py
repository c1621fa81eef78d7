"""The server answers any message, for files with any text.

usage: robustness.py SERVER RULES
"""

import pathlib
import random
import sys

from client import Client, equal, position, uri_of


def check_messages(client):
    client.send_raw(b"{ this is no JSON")
    client.send_raw(b"[1, 2]")
    client.send_raw(b'{"jsonrpc": "2.0", "id": 1000, "params": ' + b"[" * 10**6)
    client.send_raw(b'"text"')
    client.send_raw(b'{"jsonrpc": "2.0"}')
    client.send_raw(b'{"jsonrpc": "2.0", "method": 7, "id": 1000}')
    client.send_raw(b'{"jsonrpc": "2.0", "id": 1000, "result": null}')
    client.notify("textDocument/didOpen", wrong="parameters")
    client.notify("unknown/notification")
    equal(client.request_raw("textDocument/hover", nothing=1)["error"]["code"], -32602)
    equal(client.request_raw("unknown/request")["error"]["code"], -32601)
    place = {"line": 0, "character": 0}
    equal(client.ask("hover", "file:///not/open.upd", place), None)
    equal(client.ask("definition", "file:///not/open.upd", place), [])
    client.notify("textDocument/didClose", textDocument={"uri": "file:///not/open.upd"})


def ask_everything(client, uri, places):
    for place in places:
        client.ask("hover", uri, place)
        client.ask("definition", uri, place)
        client.ask("completion", uri, place)
    client.ask("documentSymbol", uri)
    client.ask("formatting", uri)


def check_texts(client, uri):
    for text in [
        "",
        "\n",
        "\r\n\r",
        "\ufeff",
        "\0",
        "fn",
        'rule R("',
        "🙂" * 100,
        "}" * 100,
        "(" * 5000,
        "rule " * 5000,
        "rule R(" * 500,
        "x" * 70000,
        "//" * 40000,
        'import "tested.upd"',
        "rule\nrule C = unscale |> ",
        "rule |> ",
        "rule = |> ",
        "transform |> ",
        "rule (lr = 1) { update(param) { let next = 1 } }\nrule C = |> ",
    ]:
        client.open(uri, text)
        far = 10**9
        places = [(0, 0), (0, 3), (0, far), (1, far), (far, far), (1, 1), (2**31 - 1, 2**31 - 1)]
        ask_everything(client, uri, [{"line": line, "character": c} for line, c in places])


def check_damage(client, uri, rules):
    source = random.Random(7)
    words = [
        "(",
        ")",
        "{",
        "}",
        '"',
        "//",
        "if ",
        "then ",
        "next ",
        "let ",
        "rule R(",
        "fn f",
        "é🙂",
        ",",
        ":",
        "=",
        "update",
        "\n",
        "require ",
        "state ",
        "1e",
        "{lr}",
        "static ",
    ]
    for path in rules:
        whole = path.read_text()
        # While it is typed, and with parts missing, duplicated and reordered.
        for step in range(12):
            text = whole[: source.randrange(len(whole))] if step % 2 else whole
            for _ in range(step):
                begin = source.randrange(len(text) + 1)
                length = source.choice([0, 1, 5, 40])
                text = text[:begin] + source.choice(words) + text[begin + length :]
            found = client.open(uri, text)
            for diagnostic in found:
                assert diagnostic["range"]["start"]["line"] <= text.count("\n"), diagnostic
            offsets = [source.randrange(len(text) + 1) for _ in range(3)] + [len(text)]
            ask_everything(client, uri, [position(text, offset) for offset in offsets])


def main():
    server, folder = sys.argv[1:]
    rules = sorted(pathlib.Path(folder).rglob("*.upd"))
    uri = uri_of("tested.upd")
    with Client(server) as client:
        check_messages(client)
        check_texts(client, uri)
        check_damage(client, uri, rules)
        for path in rules:
            equal((path.name, client.open(uri_of(path), path.read_text())), (path.name, []))
    print("all answered")


if __name__ == "__main__":
    main()
