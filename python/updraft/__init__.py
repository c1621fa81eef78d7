"""Updraft: a JIT compiler for optimizer update rules.

A rule is text in a small functional language. It is compiled to one fused kernel for this machine,
and applied in place to numpy arrays and to anything with `__dlpack__`:

    import updraft

    rule = updraft.compile_file("rules/adamw.upd")
    optimizer = updraft.ArrayOptimizer(rule, [weights, bias], lr=1e-3)
    optimizer.step([weights_grad, bias_grad])

A rule may also be a Python function, with `@updraft.rule`. `updraft.lang` has the functions of the
language for such rules. `updraft.optim` has the optimizers of `torch.optim`, compiled.
"""

from . import main_interpreter  # before the native module is loaded

# isort: split
from . import _updraft, lang, transforms
from .array_optimizer import ArrayOptimizer, Group, Rows
from .chain import chain
from .compiled_rule import CompiledRule
from .compiler import compile, compile_file
from .definition import RuleDefinition
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
from .loading import load
from .meta_optimizer import MetaOptimizer
from .recording import timeline, timeline_span
from .shipped import shipped_rules
from .torch_optimizer import optimizer
from .tracing.rule import rule, transform

__version__ = _updraft.version().split()[1]

__all__ = [
    "ArrayOptimizer",
    "CompileError",
    "CompiledRule",
    "FileError",
    "FileMissingError",
    "Group",
    "InternalError",
    "InvalidArgumentError",
    "MetaOptimizer",
    "NotFoundError",
    "OutOfMemoryError",
    "Rows",
    "RuleDefinition",
    "UnsupportedError",
    "UpdraftError",
    "chain",
    "compile",
    "compile_file",
    "lang",
    "load",
    "optimizer",
    "rule",
    "shipped_rules",
    "timeline",
    "timeline_span",
    "transform",
    "transforms",
]
