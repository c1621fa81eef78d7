"""Checks on import that torch is installed, before the modules that import it."""

from importlib.util import find_spec

from .info import adapters, all_of


def require_torch() -> None:
    """Says which versions of torch this build of Updraft supports if there is none.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """
    if find_spec("torch") is not None:
        return
    versions = adapters()
    supported = (
        f"this build of Updraft supports torch {all_of(versions)}"
        if versions
        else "install torch, then `pip install --force-reinstall --no-deps .` in Updraft's folder"
    )
    raise ModuleNotFoundError(
        "`updraft.optim` and `updraft.distributed` need torch, which is not installed; "
        f"{supported}; `updraft.ArrayOptimizer` needs only numpy",
        name="torch",
    )


require_torch()
