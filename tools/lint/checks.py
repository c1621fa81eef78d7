"""Lists the files to check, runs checks, and writes their results as JUnit XML."""

import pathlib
import subprocess
import time
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".venv" / "bin"


def files_of(root):
    """Lists the files that git tracks or would track. Outside a checkout, lists every file."""
    if not (root / ".git").exists():
        return sorted(path for path in root.rglob("*") if path.is_file())
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, check=True)
    names = {name for name in listing.stdout.decode().split("\0") if name}
    return sorted(root / name for name in names if (root / name).is_file())


def sources(*suffixes):
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard", "--"]
    command += [f"*{suffix}" for suffix in suffixes]
    names = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
    return sorted(name for name in set(names) if name and (ROOT / name).is_file())


def run_check(name, command, hint, stdin=""):
    """Runs one check and returns its JUnit element and whether it passed.

    A check without a command is skipped, with the hint as the reason.
    """
    if command is None:
        print(f"skipped {name}: {hint}", flush=True)
        case = ElementTree.Element("testcase", classname="lint", name=name, time="0")
        ElementTree.SubElement(case, "skipped", message=hint)
        return case, True
    started = time.monotonic()
    result = subprocess.run(
        command, cwd=ROOT, input=stdin, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    passed = result.returncode == 0
    seconds = time.monotonic() - started
    print(f"{'ok    ' if passed else 'FAILED'} {name} ({seconds:.1f} s)", flush=True)
    case = ElementTree.Element("testcase", classname="lint", name=name, time=f"{seconds:.2f}")
    if not passed:
        print(result.stdout, end="")
        print(f"to fix: {hint}", flush=True)
        ElementTree.SubElement(case, "failure", message=hint)
    return case, passed


def run_checks(checks, junit_xml, on_pass=lambda name: None):
    """Runs the checks one after another and returns an exit code."""
    suite = ElementTree.Element("testsuite", name="lint")
    all_passed = True
    for name, command, *rest in checks:
        case, passed = run_check(name, command, *rest)
        suite.append(case)
        all_passed &= passed
        if passed and command is not None:
            on_pass(name)
    if junit_xml:
        ElementTree.ElementTree(suite).write(junit_xml, encoding="utf-8")
    return 0 if all_passed else 1
