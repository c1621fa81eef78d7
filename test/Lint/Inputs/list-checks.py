"""Prints the names of the checks that run-all has, as ids.

usage: list-checks.py RUN-ALL
"""

import runpy
import sys

if __name__ == "__main__":
    checks = runpy.run_path(sys.argv[1])["short_checks"]()
    for name in sorted(check[0].replace(" ", "-") for check in checks):
        print(name)
