"""The program of docs/parameter-server.md."""

import re

from .conftest import ROOT


def test_the_page(addresses):
    text = (ROOT / "docs" / "parameter-server.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for port, address in zip(("7070", "7071"), addresses, strict=True):
        program = program.replace(f"127.0.0.1:{port}", address)
    names = {}
    exec(program, names)
    assert names["weight"].shape == (3,)
    assert (names["weight"] < 0).all()
