"""The programs of docs/parameter-server.md and docs/how-to/parameter-server.md."""

import re

from .conftest import ROOT


def programs(page, addresses):
    """The programs of a page, for other workers."""
    text = (ROOT / "docs" / page).read_text()
    for port, address in zip(("7070", "7071"), addresses, strict=True):
        text = text.replace(f"127.0.0.1:{port}", address)
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_guide(addresses):
    (program,) = programs("how-to/parameter-server.md", addresses)
    names = {}
    exec(program, names)
    assert (names["weight"] == -0.5).all()


def test_the_page(addresses):
    program, repetition = programs("parameter-server.md", addresses)
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
