"""Assembles the kernels of every rule: assemble-ptx.py UPDRAFTC PTXAS RULES FOLDER [OPTION…].

Prints for each the most registers that one needs, and fails if one needs local memory. The options
are the compiler's.
"""

import pathlib
import re
import subprocess
import sys

compiler, assembler, rules, folder, *options = sys.argv[1:]
files = sorted(pathlib.Path(rules).glob("*.upd"))
assembled = set()
for architecture in ("sm_80", "sm_90", "sm_100"):
    for rule in files:
        text = pathlib.Path(folder, f"{rule.stem}-{architecture}.ptx")
        target = f"--target=nvptx:{architecture}"
        subprocess.run([compiler, rule, *options, target, "-o", text], check=True)
        said = subprocess.run(
            [assembler, "-v", f"-arch={architecture}", text, "-o", text.with_suffix(".cubin")],
            check=True,
            capture_output=True,
            text=True,
        ).stderr
        local = [int(size) for size in re.findall(r"(\d+) bytes (?:stack frame|spill)", said)]
        registers = [int(count) for count in re.findall(r"Used (\d+) registers", said)]
        if not registers or not local:
            sys.exit(f"{assembler} says nothing of registers or local memory:\n{said}")
        if any(local):
            sys.exit(f"{rule.stem} needs local memory on {architecture}:\n{said}")
        assembled.add(rule)
        print(f"{architecture} {rule.stem}: at most {max(registers)} registers")
print(f"kernels of {len(assembled)} rules, none with local memory")
