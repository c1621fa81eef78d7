"""The server for the dialect knows its operations.

usage: mlir.py SERVER
"""

import sys

from client import Client, at, equal

RULE = """\
updraft.rule @R compute f32 {
  %lr = updraft.hyper "lr" = 1.0
  %param = updraft.param stored f32 : f32
  %grad = updraft.grad stored f32 : f32
  %rate = arith.truncf %lr : f64 to f32
  %change = arith.mulf %rate, %grad : f32
  %next = arith.subf %param, %change : f32
  updraft.next %next : f32
}
"""


def completed(client, uri, place):
    return {item["label"] for item in client.ask("completion", uri, place)["items"]}


def main():
    uri = "file:///r.mlir"
    with Client(sys.argv[1]) as client:
        equal(client.open(uri, RULE, "mlir"), [])
        (found,) = client.ask("definition", uri, at(RULE, "%rate, %grad", 1))
        equal(found["range"]["start"], at(RULE, "%rate = arith"))
        hover = client.ask("hover", uri, at(RULE, "updraft.hyper"))
        assert "updraft.hyper" in hover["contents"]["value"], hover
        # Operations at the start of one, and values at a use of one.
        begun = RULE.replace("  updraft.next %next", "  updraft.\n  updraft.next %next")
        client.open(uri, begun, "mlir")
        operations = completed(client, uri, at(begun, "updraft.\n", len("updraft.")))
        assert {"state", "reduce", "next"} <= operations, sorted(operations)
        assert "mulf" not in operations, sorted(operations)
        begun = RULE.replace("updraft.next %next", "updraft.next %")
        client.open(uri, begun, "mlir")
        values = completed(client, uri, at(begun, "updraft.next %", len("updraft.next %")))
        assert {"%param", "%change", "%next"} <= values, sorted(values)
        broken = RULE.replace("%rate, %grad", "%rate, %lr")
        assert "different type" in client.open(uri, broken, "mlir")[0]["message"]
        (wrong,) = client.open(uri, RULE.replace("stored f32", "stored i7", 1), "mlir")
        equal(wrong["severity"], 1)
    print("all as expected")


if __name__ == "__main__":
    main()
