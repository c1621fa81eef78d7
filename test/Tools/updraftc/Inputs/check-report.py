"""Checks the document of a report: `check-report.py REPORT [ASSEMBLY]`.

Every line of every source is linked to each stage or has a reason, but not both. ASSEMBLY is the
output of
`updraftc --emit=asm`, which the report must have. Prints what was checked.
"""

import json
import re
import sys


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    stages = {stage["stage"]: report["texts"][stage["text"]] for stage in report["stages"]}
    linked = {}
    for name, text in stages.items():
        lines = text["text"].removesuffix("\n").split("\n")
        assert len(text["places"]) == len(lines), (name, len(text["places"]), len(lines))
        used = set(text["places"])
        linked[name] = {tuple(line) for place in used for line in report["places"][place]}
    pairs = 0
    for line in report["lines"]:
        key = line["source"], line["line"]
        for stage in stages:
            reason = line.get("missing", {}).get(stage) or line.get("reason")
            where = f"{report['sources'][key[0]]['path']}:{key[1]} in {stage}"
            assert (key in linked[stage]) != bool(reason), f"{where}: reason {reason}"
            pairs += 1
    numbers = [(line["source"], line["line"]) for line in report["lines"]]
    assert numbers == sorted(set(numbers))
    for number, source in enumerate(report["sources"]):
        count = source["text"].count("\n")
        shown = [line for index, line in numbers if index == number]
        assert shown == list(range(source["first"], source["first"] + count)), source["path"]
    for line in set().union(*linked.values()):
        assert line in set(numbers), line
    if len(sys.argv) > 2:
        with open(sys.argv[2]) as file:
            expected = file.read()
        # Labels of the ends of functions are the only ones that debuggers use.
        kept = re.sub(r"^\.?\$?L?func_(begin|end).*\n", "", stages["asm"]["text"], flags=re.M)
        assert instructions(kept) == instructions(expected)
    print("stages:", " ".join(stages))
    print("all lines are linked or have a reason:", pairs > 0)


def instructions(assembly):
    lines = (line.strip() for line in assembly.split("\n"))
    return [line for line in lines if line and not line.startswith(".") and ":" not in line]


if __name__ == "__main__":
    main()
