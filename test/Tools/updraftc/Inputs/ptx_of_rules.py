"""Compiles rules to PTX, for the scripts beside this one."""

import subprocess
import sys


def compile_to_ptx(compiler, rule, *options):
    """Runs the compiler; returns whether there is code for the rule, and exits on other errors."""
    result = subprocess.run([compiler, rule, *options], capture_output=True, text=True)
    if "has functions of matrices, which code for GPUs can't compute yet" in result.stderr:
        return False
    if result.returncode != 0:
        sys.exit(f"{rule.stem}: exit code {result.returncode}\n{result.stderr}")
    return True
