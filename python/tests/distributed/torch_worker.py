"""The path of `updraft-torch-worker`, and how a test's process has ended."""

import pathlib

BUILD = pathlib.Path(__file__).resolve().parents[3] / "build" / "release"
PROGRAM = BUILD / "bin" / "updraft-torch-worker"
LIMIT = 300  # seconds, for anything that such a process does


def outcome(process):
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err
