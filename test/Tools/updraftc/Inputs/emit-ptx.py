"""Writes the PTX of every rule that has kernels: emit-ptx.py UPDRAFTC RULES FOLDER."""

import pathlib
import subprocess
import sys

compiler, rules, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
#: Of those that work on rows and columns.
WITHOUT = {"adafactor", "rowwise_adagrad"}
STORAGE = (None, "param=bf16,grad=bf16,state=f32", "param=bf16,grad=bf16,state=bf16_stochastic")
for rule in sorted(rules.glob("*.upd")):
    for number, storage in enumerate(STORAGE):
        if rule.stem in WITHOUT:
            continue
        command = [compiler, rule, "--target=nvptx:sm_90", "-o", folder / f"{rule.stem}{number}.ptx"]
        if storage:
            command += ["--storage", storage]
        subprocess.run(command, check=True)
