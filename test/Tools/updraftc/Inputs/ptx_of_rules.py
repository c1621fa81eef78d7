"""Compiles rules to PTX, for the scripts beside this one."""

import subprocess
import sys

#: These rules multiply matrices, which code for GPUs can't do yet.
MATRIX_RULES = {"muon"}


def compile_to_ptx(compiler, rule, *options):
    """Runs the compiler; returns whether there is code for the rule, and exits on other errors."""
    result = subprocess.run([compiler, rule, *options], capture_output=True, text=True)
    if rule.stem in MATRIX_RULES and "multiplies matrices" in result.stderr:
        return False
    if result.returncode != 0 or rule.stem in MATRIX_RULES:
        sys.exit(f"{rule.stem}: exit code {result.returncode}\n{result.stderr}")
    return True
