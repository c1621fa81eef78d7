"""Runs the examples of a page, one after another: `page.py PAGE`.

Fails if an example's output differs from the page; prints the number of examples with output.
"""

import contextlib
import io
import pathlib
import re
import sys


def main():
    page = pathlib.Path(sys.argv[1])
    text = page.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert blocks
    names = {}
    shown = 0
    for block in blocks:
        above = text.count("\n", 0, block.start(1))
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * above + block[1], str(page), "exec"), names)
        # The page's folder and line numbers differ here.
        printed = re.sub(rf"\S*{page.name}:\d+:", f"{page.name}:4:", output.getvalue())
        if printed:
            shown += 1
            below = text[block.end() :].split("```")[1].partition("\n")[2]
            assert below == printed, f"line {above} prints:\n{printed}"
    print(shown)


if __name__ == "__main__":
    main()
