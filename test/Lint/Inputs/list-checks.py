"""Prints the names of the checks that run-all has, as ids.

usage: list-checks.py RUN-ALL
"""

import pathlib
import runpy
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(sys.argv[1]).parent))
    checks = runpy.run_path(sys.argv[1])["checks_of_text"]()
    for name in sorted(check[0].replace(" ", "-") for check in checks):
        print(name)
