"""Prints the first code block of a language in a page.

usage: extract-block.py PAGE.md LANGUAGE
"""

import re
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = re.search(rf"^```{sys.argv[2]}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"no block of {sys.argv[2]} in {sys.argv[1]}")
    print(found.group(1), end="")


if __name__ == "__main__":
    main()
