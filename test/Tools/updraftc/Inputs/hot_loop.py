"""Prints the loop with an instruction, from llvm-objdump's disassembly.

    hot_loop.py PATTERN < DISASSEMBLY

It is the longest innermost loop with a line that matches the pattern. The first line of the output
is the number of its instructions.
"""

import re
import sys

LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S.*)$")
# jl 0x1c0 <AdamW_sweep0+0xc0>; b.lt 0x80 <AdamW_sweep0+0x80>; cbnz x9, 0x80 <…>; tbnz w9, #0, …
BRANCH = re.compile(r"^(?:j\w+|b(?:\.\w+)?|[ct]bn?z)\s+(?:.*,\s*)?(?:0x)?([0-9a-f]+) <")


def innermost_loops(code):
    """The code between each backward branch and its target that doesn't contain another loop."""
    spans = []
    for address, instruction in code:
        branch = BRANCH.match(instruction)
        if branch and int(branch[1], 16) <= address:
            spans.append((int(branch[1], 16), address))
    for start, end in spans:
        if not any((s, e) != (start, end) and start <= s and e <= end for s, e in spans):
            yield [text for address, text in code if start <= address <= end]


def main():
    matches = filter(None, map(LINE.match, sys.stdin))
    code = [(int(match[1], 16), " ".join(match[2].split())) for match in matches]
    loops = [loop for loop in innermost_loops(code) if re.search(sys.argv[1], "\n".join(loop))]
    if not loops:
        sys.exit(f"no loop has `{sys.argv[1]}`")
    loop = max(loops, key=len)
    print(f"the loop of {len(loop)} instructions:")
    print("\n".join(loop))


if __name__ == "__main__":
    main()
