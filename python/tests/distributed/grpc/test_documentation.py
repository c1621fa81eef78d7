"""The programs of docs/parameter-server.md."""

import re

from .conftest import ROOT


def test_the_page(addresses):
    text = (ROOT / "docs" / "parameter-server.md").read_text()
    program, repetition = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for port, address in zip(("7070", "7071"), addresses, strict=True):
        program = program.replace(f"127.0.0.1:{port}", address)
    names = {}
    exec(program, names)
    assert names["weight"].shape == (3,)
    assert (names["weight"] < 0).all()

    exec(repetition, names)
    with names["Client"](addresses) as client:
        optimizer = client.optimizer("sgd", "SGD", [{"params": ["weight"], "lr": 1.0}])
        gradient = names["np"].ones(3, "f")
        assert names["step"](optimizer, {"weight": gradient}) == 1
        assert (client.get(["weight"])["weight"] == names["weight"] - 1).all()
