"""The worker without Python, with the libraries of this package and the torch that Python finds.

    python -m updraft.torch_worker --name=ps --rank=1 --world-size=2 --store=first.machine:29500

Installed by pip, it is the program `updraft-torch-worker`. The process becomes that of the worker.
"""

import os
import sys
from importlib import util
from pathlib import Path

from .info import adapters, installed, other_torch

_PACKAGE = Path(__file__).resolve().parent
_UNUSABLE = 2  # the worker's own exit code where a library does not load


def _problem() -> str | None:
    """Why the worker cannot run here."""
    versions, torch = adapters(), installed("torch")
    if not versions:
        return (
            "this build of Updraft has no worker: there was no torch where it was built; install "
            "torch first, then `pip install --no-build-isolation --force-reinstall` Updraft"
        )
    if torch is None:
        return f"the worker is for torch {' and '.join(versions)}, and there is none"
    if ".".join(torch.split(".")[:2]) not in versions:
        return other_torch(versions, torch)
    return None


def main() -> int:
    """Becomes the worker; returns only where it cannot run."""
    problem = _problem()
    if problem:
        print(f"error: {problem}", file=sys.stderr)
        return _UNUSABLE
    program = _PACKAGE / "bin" / "updraft-torch-worker"
    [library] = _PACKAGE.glob("libupdraft.so*")
    spec = util.find_spec("torch")  # which does not import it
    assert spec is not None and spec.origin is not None
    # The program looks for torch beside this package; it may be elsewhere on Python's path.
    folders = [str(Path(spec.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    environment = {"UPDRAFT_LIBRARY": str(library)} | os.environ
    environment["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))
    os.execve(program, [str(program), *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(main())
