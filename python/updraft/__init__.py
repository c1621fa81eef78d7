"""Updraft: a JIT compiler for optimizer update rules.

A rule is text in a small functional language; it is compiled to one fused kernel for this machine
and applied in place to numpy arrays and to anything with `__dlpack__`:

    import updraft

    rule = updraft.compile_file("rules/adamw.upd")
    optimizer = updraft.Optimizer(rule, [weights, bias], lr=1e-3)
    optimizer.step([weights_grad, bias_grad])

A rule may also be a Python function, with `@updraft.rule`. `updraft.where`, `updraft.norm` and the
other functions of the language are for these; `abs`, `max`, `min`, `pow` and `sum` are among them,
but not among what `from updraft import *` takes.
"""

from . import transforms
from .chain import chain
from .compiler import STAGES, Rule, compile, compile_file, version
from .definition import RuleDefinition, load
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
from .shipped import shipped_rules
from .tracing.functions import (
    abs as abs,
)
from .tracing.functions import (
    add,
    addcdiv,
    addcmul,
    batch_count,
    batch_dot,
    batch_max,
    batch_mean,
    batch_norm,
    batch_sum,
    ceil,
    clamp,
    column_dot,
    column_max,
    column_mean,
    column_norm,
    column_sum,
    columns,
    count,
    decayed,
    dot,
    exp,
    floor,
    fma,
    global_norm,
    group_dot,
    group_max,
    group_mean,
    group_size,
    group_sum,
    hold_when,
    inverse_erf,
    isfinite,
    isnan,
    lerp,
    log,
    mean,
    nearer_lerp,
    norm,
    normal,
    quotient,
    random,
    require,
    rms,
    rounded,
    row_dot,
    row_max,
    row_mean,
    row_norm,
    row_sum,
    rows,
    scalar_product,
    sign,
    size,
    skip_when,
    sqrt,
    square,
    tanh,
    where,
)
from .tracing.functions import (
    max as max,
)
from .tracing.functions import (
    min as min,
)
from .tracing.functions import (
    pow as pow,
)
from .tracing.functions import (
    sum as sum,
)
from .tracing.rule import rule, transform
from .tracing.signature import Static
from .tracing.values import Value

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
    "RuleDefinition",
    "Static",
    "UnsupportedError",
    "UpdraftError",
    "Value",
    "__version__",
    "add",
    "addcdiv",
    "addcmul",
    "batch_count",
    "batch_dot",
    "batch_max",
    "batch_mean",
    "batch_norm",
    "batch_sum",
    "ceil",
    "chain",
    "clamp",
    "column_dot",
    "column_max",
    "column_mean",
    "column_norm",
    "column_sum",
    "columns",
    "compile",
    "compile_file",
    "count",
    "decayed",
    "dot",
    "exp",
    "floor",
    "fma",
    "global_norm",
    "group_dot",
    "group_max",
    "group_mean",
    "group_size",
    "group_sum",
    "hold_when",
    "inverse_erf",
    "isfinite",
    "isnan",
    "lerp",
    "load",
    "log",
    "mean",
    "nearer_lerp",
    "norm",
    "normal",
    "quotient",
    "random",
    "require",
    "rms",
    "rounded",
    "row_dot",
    "row_max",
    "row_mean",
    "row_norm",
    "row_sum",
    "rows",
    "rule",
    "scalar_product",
    "shipped_rules",
    "sign",
    "size",
    "skip_when",
    "sqrt",
    "square",
    "tanh",
    "transform",
    "transforms",
    "version",
    "where",
]
