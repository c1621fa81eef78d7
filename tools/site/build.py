"""Makes the documentation site in build/site/html. `tools/docs` calls it."""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import output
import staging

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"


def main() -> int:
    started = time.monotonic()
    source = SITE / "source"
    try:
        staging.stage(source, SITE / "rules")
    except staging.BrokenLinkError as error:
        print(error)
        return 1
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--quiet"]
    command += ["--jobs", str(min(os.cpu_count() or 1, 4)), "--doctree-dir", str(SITE / "doctrees")]
    command += ["--conf-dir", str(pathlib.Path(__file__).parent), str(source), str(SITE / "html")]
    environment = os.environ | {"PYTHONPATH": str(pathlib.Path(__file__).parent)}
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    # Messages name the pages of the repository instead of their copies.
    print(ran.stdout.replace(f"{source}/", ""), end="")
    if ran.returncode != 0:
        shutil.rmtree(SITE / "doctrees", ignore_errors=True)
        return 1
    staging.copy_katex(SITE / "html" / "_static")
    errors = list(output.errors(SITE / "html"))
    print("\n".join(errors), end="\n" if errors else "")
    if errors:
        return 1
    pages = sum(1 for _ in (SITE / "html").rglob("*.html"))
    print(f"[docs] {pages} pages in build/site/html, in {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
