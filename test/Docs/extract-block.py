"""Prints a code block of a language in a page: the first one, or that with a number from 1.

usage: extract-block.py PAGE.md LANGUAGE [NUMBER]
"""

import re
import sys


def main():
    path, language = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with open(path, encoding="utf-8") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    if len(blocks) < number:
        sys.exit(f"{path} has {len(blocks)} blocks of {language}")
    print(blocks[number - 1], end="")


if __name__ == "__main__":
    main()
