"""The worker without Python, with this package's libraries and the torch that Python finds.

    python -m updraft.torch_worker --name=ps --rank=1 --world-size=2 --store=first.machine:29500

After installation with pip, it is the program `updraft-torch-worker`. The worker replaces this
process.
"""

import os
import sys
from importlib import util
from pathlib import Path

from .info import adapters, installed, other_torch, version_of

_PACKAGE = Path(__file__).resolve().parent
_UNUSABLE = 2  # the worker's exit code if a library can't be loaded


def _problem(torch: str | None) -> str | None:
    """The reason why the worker can't run beside this version of torch, or None."""
    versions = adapters()
    if not versions:
        return (
            "this build of Updraft has no worker: it was built without torch; install torch, then "
            "`pip install --force-reinstall --no-deps .` in Updraft's folder"
        )
    if torch is None:
        return f"the worker needs torch {' or '.join(versions)}, but torch is not installed"
    if version_of(torch) not in versions:
        return other_torch(versions, torch)
    return None


def main() -> int:
    """Replaces this process with the worker. Returns only if it can't run."""
    torch = installed("torch")
    problem = _problem(torch)
    if torch is None or problem:
        print(f"error: {problem}", file=sys.stderr)
        return _UNUSABLE
    program = _PACKAGE / "bin" / f"torch-{version_of(torch)}" / "updraft-torch-worker"
    [library] = _PACKAGE.glob("libupdraft.so*")
    spec = util.find_spec("torch")  # doesn't import torch
    assert spec is not None and spec.origin is not None
    # The program looks for torch beside this package, but torch may be elsewhere on Python's path.
    folders = [str(Path(spec.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {"UPDRAFT_LIBRARY": str(library)} | os.environ
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    os.execve(program, [str(program), *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
