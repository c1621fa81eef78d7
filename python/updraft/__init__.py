"""Updraft: a JIT compiler for optimizer update rules.

A rule is text in a small functional language; it is compiled to one fused kernel for this machine
and applied in place to numpy arrays and to anything with `__dlpack__`:

    import updraft

    rule = updraft.compile_file("rules/adamw.upd")
    optimizer = updraft.Optimizer(rule, [weights, bias], lr=1e-3)
    optimizer.step([weights_grad, bias_grad])
"""

from .compiler import STAGES, Rule, compile, compile_file, version
from .errors import (
    CompileError,
    FileError,
    FileMissingError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OutOfMemoryError,
    UnsupportedError,
    UpdraftError,
)
from .optimizer import Group, Optimizer, Rows

__version__ = version().split()[1]

__all__ = [
    "STAGES",
    "CompileError",
    "FileError",
    "FileMissingError",
    "Group",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "Optimizer",
    "OutOfMemoryError",
    "Rows",
    "Rule",
    "UnsupportedError",
    "UpdraftError",
    "__version__",
    "compile",
    "compile_file",
    "version",
]
