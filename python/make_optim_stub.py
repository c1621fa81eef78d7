#!/usr/bin/env python3
"""Writes the stub of `updraft.optim`, whose classes are created from rules on first use.

Editors and type checkers read the stub. Installing the package runs this on the installed files,
with nothing else on the path, so torch isn't needed.

example: python3 -I -S python/make_optim_stub.py .venv/lib/python3.11/site-packages/updraft
"""

import argparse
import ast
import importlib
import inspect
import math
import pathlib
import sys
import textwrap

HEAD = '''"""Made when the package was installed; what there is, is said in __init__.py."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from torch import Tensor
from torch.optim.optimizer import ParamsT

'''

BASE = ("rule_classes", "ShippedOptimizer")

_ADAM = "lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay={}, "
_FLAGS = "*, foreach=None, maximize=False, capturable=False, differentiable=False, "
#: The parameters of torch's constructors after `params`. A test compares them with torch's.
TORCH = {
    "SGD": "lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *, "
    "maximize=False, foreach=None, differentiable=False, fused=None",
    "Adam": _ADAM.format(0.0) + "amsgrad=False, " + _FLAGS + "fused=None, "
    "decoupled_weight_decay=False",
    "AdamW": _ADAM.format(0.01) + "amsgrad=False, " + _FLAGS + "fused=None",
    "NAdam": "lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, momentum_decay=4e-3, "
    "decoupled_weight_decay=False, " + _FLAGS,
    "RAdam": _ADAM.format(0.0) + "decoupled_weight_decay=False, " + _FLAGS,
    "Adamax": "lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, foreach=None, *, "
    "maximize=False, differentiable=False, capturable=False",
    "Adagrad": "lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, "
    "foreach=None, *, maximize=False, differentiable=False, fused=None",
    "Adadelta": "lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, foreach=None, *, capturable=False, "
    "maximize=False, differentiable=False",
    "RMSprop": "lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, "
    "capturable=False, foreach=None, maximize=False, differentiable=False",
    "Rprop": "lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50.0), *, capturable=False, "
    "foreach=None, maximize=False, differentiable=False",
    "ASGD": "lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, foreach=None, "
    "maximize=False, differentiable=False, capturable=False",
    "Adafactor": "lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, "
    "foreach=None, maximize=False",
    "Muon": "lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, "
    "ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None",
    "SparseAdam": "lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False",
}


def exports(package):
    """The (module, name) pairs that `updraft.optim` imports from its modules, from its text."""
    tree = ast.parse((package / "optim" / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from ((node.module, alias.name) for alias in node.names)
    yield BASE


def imports(names):
    """The imports in isort's order: constants first, then others, ignoring case."""
    for module, name in sorted(names, key=lambda n: (n[0], n[1] != n[1].upper(), n[1].lower())):
        yield f"from .{module} import {name} as {'_' if name in TORCH else ''}{name}\n"


def type_of(name, default):
    if name == "params":
        return "ParamsT"
    if name == "storage":
        return "Mapping[str, Any] | None"
    if name == "numerics":
        return 'Literal["ieee", "torch", "fast"]'
    if name == "seed":
        return "int | None"
    if name == "probes":
        return "Sequence[str]"
    if name in ("foreach", "fused"):
        return "bool | None"
    if isinstance(default, tuple):
        return f"tuple[{', '.join(type_of(name, each) for each in default)}]"
    if name == "adjust_lr_fn":
        return 'Literal["original", "match_rms_adamw", "spectral_unclamped"] | None'
    if default is None:
        return "float | None"
    return "float | Tensor" if type(default) is float else type(default).__name__


def value_of(default):
    endless = isinstance(default, float) and math.isinf(default)
    return "..." if endless else repr(default).replace("'", '"')


def constructor(signature):
    yield "    def __init__(\n        self,\n"
    named = False
    for name, parameter in signature.parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            named = True
            yield "        *,\n"
        default = parameter.default
        given = "" if default is inspect.Parameter.empty else f" = {value_of(default)}"
        line = f"        {name}: {type_of(name, default)}{given},\n"
        yield line if len(line) <= 101 else line.replace(" = (", " = (\n            ")
    yield "    ) -> None: ...\n"


def classes():
    """A class for each rule, because its constructor isn't written anywhere else."""
    updraft = importlib.import_module("updraft")
    shipped = importlib.import_module("updraft.shipped")
    constructors = importlib.import_module("updraft.shipped_constructor")
    for name in sorted(updraft.shipped_rules(), key=str.lower):
        source, equation, *_ = constructors.comment(shipped.require_path(name))
        # Titles have words with hyphens; a line break inside one would read as a blank.
        beginning = textwrap.fill(" ".join(source.split()), 92, break_on_hyphens=False)
        text = "\n".join([beginning, "", equation, '"""'])
        yield f'\nclass {name}({"_" + name if name in TORCH else BASE[1]}):\n    """'
        yield textwrap.indent(text, "    ").removeprefix("    ") + "\n\n"
        if name in TORCH:
            given = inspect.signature(eval(f"lambda params, {TORCH[name]}: None"))
            taken = [*given.parameters.values(), *constructors.choices("torch")]
            yield from constructor(given.replace(parameters=taken))
        else:
            yield from constructor(constructors.signature(updraft.load(name)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="\n".join(__doc__.splitlines()[2:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("package", type=pathlib.Path, help="the folder of an installed `updraft`")
    package = parser.parse_args().package.resolve()
    sys.path.insert(0, str(package.parent))
    text = "".join([HEAD, *imports(exports(package)), *classes()])
    (package / "optim" / "__init__.pyi").write_text(text)


if __name__ == "__main__":
    main()
