"""The requirements of the base protocol, and the order of messages in a session.

usage: protocol.py SERVER [--relative-cache]
"""

import json
import sys

from client import Client, at, equal

RULE = """\
fn twice(x) = 2 * x
rule R(lr = 1) {
  update(param, grad) { next param = lerp(param, twice(grad), lr) }
}
"""
START = {"line": 0, "character": 3}
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, NOT_INITIALIZED = -32700, -32600, -32602, -32002


def refused(answer, code, message, number=None):
    equal(answer["id"], number)
    equal((answer["error"]["code"], answer["error"]["message"]), (code, message))


def check_order(server):
    """Requests before `initialize` and after `shutdown` are refused; notifications are dropped."""
    client = Client(server)
    item = {"uri": "file:///r.upd", "languageId": "upd", "version": 1, "text": "rule"}
    client.notify("textDocument/didOpen", textDocument=item)
    hover = {"textDocument": {"uri": "file:///r.upd"}, "position": START}
    answer = client.request_raw("textDocument/hover", **hover)
    refused(answer, NOT_INITIALIZED, "`textDocument/hover` before `initialize`", 1)
    refused(client.request_raw("shutdown"), NOT_INITIALIZED, "`shutdown` before `initialize`", 2)
    equal(client.diagnostics, {})
    client.initialize()
    refused(client.request_raw("initialize"), INVALID_REQUEST, "`initialize` was already sent", 4)
    assert client.open("file:///r.upd", "rule")
    equal(client.request("shutdown"), None)
    answer = client.request_raw("textDocument/hover", **hover)
    refused(answer, INVALID_REQUEST, "`textDocument/hover` after `shutdown`", 6)
    refused(client.request_raw("shutdown"), INVALID_REQUEST, "`shutdown` after `shutdown`", 7)
    client.exit()


def check_messages(server):
    """An invalid message is refused, and the session continues."""
    deep = b'{"jsonrpc": "2.0", "id": 9, "method": "x", "params": ' + b"[" * 10**5
    no_object = "expected an object with `jsonrpc`: `2.0`"
    with Client(server) as client:
        for body, code, message in [
            (b"{ this is no JSON", PARSE_ERROR, "the message isn't valid JSON: "),
            (b"", PARSE_ERROR, "the message isn't valid JSON: "),
            (
                b'{"jsonrpc": "2.0", "method": "\xff"}',
                PARSE_ERROR,
                "the message isn't valid JSON: ",
            ),
            (deep, PARSE_ERROR, "the message is nested more than 200 deep"),
            (
                b'[{"jsonrpc": "2.0", "id": 9, "method": "shutdown"}]',
                INVALID_REQUEST,
                "the protocol has no batches",
            ),
            (b"[]", INVALID_REQUEST, "the protocol has no batches; send each message separately"),
            (b'"text"', INVALID_REQUEST, no_object),
            (b'{"jsonrpc": "1.0", "id": 9, "method": "shutdown"}', INVALID_REQUEST, no_object),
            (b'{"jsonrpc": "2.0"}', INVALID_REQUEST, "missing `method`"),
            (
                b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "shutdown"}',
                INVALID_REQUEST,
                "expected a number or a string as `id`",
            ),
        ]:
            client.send_raw(body)
            answer = client.read()
            equal((body[:60], answer["id"], answer["error"]["code"]), (body[:60], None, code))
            assert answer["error"]["message"].startswith(message), answer
        client.send_raw(b'{"jsonrpc": "2.0", "id": 9, "method": 7}')
        refused(client.read(), INVALID_REQUEST, "expected a string as `method`", 9)
        # Answers to requests that the server didn't send.
        client.send_raw(b'{"jsonrpc": "2.0", "id": 1000, "result": null}')
        client.send_raw(b'{"jsonrpc": "2.0", "id": 1000, "error": 5}')


def check_headers(server):
    """Header names in any case, optional blanks, and line breaks with or without CR."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).encode()
    unknown = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "unknown/request"}).encode()
    for start in [
        b"Content-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length:\t%d  \r\n\r\n",
        b"Content-Length: %d\n\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc\r\n\r\n",
        b"Long: " + b"x" * 10**6 + b"\r\nContent-Length: %d\r\n\r\n",
    ]:
        client = Client(server)
        for message in body, unknown:
            client.process.stdin.write(start % len(message) + message)
        client.process.stdin.flush()
        assert "capabilities" in client.read()["result"]
        equal((client.read()["error"]["code"], start[:20]), (-32601, start[:20]))
        client.process.kill()
    with Client(server) as client:
        for length in (
            b"-5",
            b"abc",
            b"0x10",
            b"",
            b"1e3",
            b"99999999999999999999999",
            b"1073741825",
        ):
            client.process.stdin.write(b"Content-Length: " + length + b"\r\n\r\n")
            client.process.stdin.flush()
            message = "expected a number of bytes as `Content-Length`, at most 1073741824"
            refused(client.read(), INVALID_REQUEST, message)
        # After a message without a length, or one that is longer than stated, the next one is
        # found.
        client.process.stdin.write(b'X: 1\r\n\r\n{"jsonrpc": "2.0"}')
        client.process.stdin.flush()
        refused(client.read(), INVALID_REQUEST, "missing header `Content-Length`")
        equal(client.ask("hover", "file:///r.upd", START), None)
        client.process.stdin.write(b'Content-Length: 5\r\n\r\n{"jsonrpc": "2.0"}')
        client.process.stdin.flush()
        equal(client.read()["error"]["code"], PARSE_ERROR)
        equal(client.ask("hover", "file:///r.upd", START), None)


def check_documents_that_are_no_files(server):
    with Client(server) as client:
        for uri in [
            "untitled:Untitled-1",
            "untitled:Untitled 2",
            "untitled:/home/me/new.upd",
            "vscode-notebook-cell:/a.ipynb#cell",
            "git+x.y:r.upd?ref",
        ]:
            (found,) = client.open(uri, RULE.replace("2 * x", "2 * y"))
            equal(found["message"].split(";")[0], "unknown name `y`")
            twice = RULE.replace("fn twice", "fn twice(x) = x\nfn twice")
            (found,) = client.open(uri, twice)
            equal(found["relatedInformation"][0]["location"]["uri"], uri)
            equal(client.open(uri, RULE), [])
            (found,) = client.ask("definition", uri, at(RULE, "twice(grad"))
            equal((found["uri"], found["range"]["start"]), (uri, at(RULE, "twice(x)")))
            assert client.ask("hover", uri, at(RULE, "twice(grad"))
            equal(len(client.ask("documentSymbol", uri)), 2)
            assert client.ask("completion", uri, START)["items"] == []
            client.notify("textDocument/didClose", textDocument={"uri": uri})
            equal(client.ask("hover", uri, START), None)
        # A file with the same path is another document.
        client.open("untitled:/r.upd", "rule")
        equal(client.open("file:///r.upd", RULE), [])
        equal(client.ask("documentSymbol", "untitled:/r.upd"), [])
        for uri in "", "r.upd", ":r.upd", "1:/r.upd", "file:r.upd":
            answer = client.request_raw(
                "textDocument/hover", textDocument={"uri": uri}, position=START
            )
            equal((uri, answer["error"]["code"]), (uri, INVALID_PARAMS))


def check_relative_cache(server):
    with Client(server) as client:
        equal(client.open("file:///r.upd", RULE), [])
        equal(client.ask("definition", "file:///r.upd", at(RULE, "lerp(")), [])


def main():
    server = sys.argv[1]
    if "--relative-cache" in sys.argv:
        check_relative_cache(server)
    else:
        check_order(server)
        check_messages(server)
        check_headers(server)
        check_documents_that_are_no_files(server)
    print("all answered")


if __name__ == "__main__":
    main()
