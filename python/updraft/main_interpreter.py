"""Checks the interpreter on import, before the native module is loaded."""

import importlib


def require_main_interpreter() -> None:
    """Refuses subinterpreters, because the native module has one state per process.

    Raises:
        ImportError: this is not the main interpreter.
    """
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "updraft supports only the main interpreter of a process, but is imported in a "
                "subinterpreter; use `multiprocessing` for another process"
            )
        return


require_main_interpreter()
