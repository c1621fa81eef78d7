"""Writes the PTX of every rule: emit-ptx.py UPDRAFTC RULES FOLDER [OPTION...]."""

import pathlib
import subprocess
import sys

compiler, rules, folder, *options = sys.argv[1:]
STORAGE = (
    None,
    "param=bf16,grad=bf16,state=f32",
    "param=bf16,grad=bf16,state=bf16_stochastic",
    "param=bf16_corrected,grad=bf16,state=f32",
)
for rule in sorted(pathlib.Path(rules).glob("*.upd")):
    for number, storage in enumerate(STORAGE):
        text = pathlib.Path(folder, f"{rule.stem}{number}.ptx")
        stored = ["--storage", storage] if storage else []
        arguments = ["--target=nvptx:sm_90", "-o", text, *options, *stored]
        subprocess.run([compiler, rule, *arguments], check=True)
