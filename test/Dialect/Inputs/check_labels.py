"""Checks that every labelled constraint is documented, verified and tested.

A label such as `rule_c1` must be in the description of an operation or type (`- `rule_c1`: ...`),
in a comment of a verifier, and in a comment of a test of errors. Prints what is missing, and exits
with 1 then.
"""

import pathlib
import re
import sys

LABEL = r"\b[a-z]+_c[0-9]+\b"


def labels(folder: pathlib.Path, pattern: str, line: str) -> set[str]:
    """The labels in those lines of the files that match `line`."""
    found: set[str] = set()
    for path in folder.glob(pattern):
        for text in path.read_text().splitlines():
            if match := re.search(line, text):
                found.update(re.findall(LABEL, match.group(0)))
    return found


def main() -> int:
    dialect, tests = (pathlib.Path(argument) for argument in sys.argv[1:3])
    places = {
        "documentation": labels(dialect, "*.td", rf"^\s*- `{LABEL}`:"),
        "verifier": labels(dialect, "*.cpp", r"//.*"),
        "test": labels(tests, "*errors.mlir", r"^//.*"),
    }
    everything = set().union(*places.values())
    missing = [
        f"{label} is not in the {place}"
        for label in sorted(everything)
        for place, found in places.items()
        if label not in found
    ]
    print("\n".join(missing) or f"{len(everything)} labels, all documented, verified and tested")
    return 1 if missing or not everything else 0


if __name__ == "__main__":
    sys.exit(main())
