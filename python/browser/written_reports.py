"""Reports that `updraftc report` writes."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "rules"
UPDRAFTC = ROOT / "build" / "release" / "bin" / "updraftc"


def write_report(path, rule, *options, rules=RULES):
    command = [UPDRAFTC, "report", rules / f"{rule}.upd", "--target=x86-64-v3", *options]
    subprocess.run([*command, "-o", path], check=True)
