"""Prints the stub of `updraft.optim`, whose classes are made of rules; with --write, writes it.

Editors and type checkers read it: the classes themselves are made when they are first asked for.
"""

import inspect
import math
import pathlib
import subprocess
import sys
import textwrap

import updraft
import updraft.optim
from updraft.optim.documentation import comment
from updraft.optim.rule_classes import ShippedOptimizer

STUB = pathlib.Path(__file__).resolve().parents[1] / "updraft" / "optim" / "__init__.pyi"

HEAD = '''"""Made by python/tests/optim_stub.py; what there is, is said in __init__.py."""

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor
from torch.optim.optimizer import ParamsT

'''


def imports():
    """What `updraft.optim` has from its modules."""
    modules = {}
    for name in updraft.optim.__all__:
        module = getattr(updraft.optim, name).__module__.rpartition(".")[2]
        modules.setdefault(module, []).append(name)
    modules["rule_classes"] = ["ShippedOptimizer"]
    for module, names in sorted(modules.items()):
        for name in sorted(names, key=lambda name: (name != name.upper(), name)):
            yield f"from .{module} import {name} as {name}\n"


def type_of(name, default):
    if name == "params":
        return "ParamsT"
    if name == "storage":
        return "Mapping[str, Any] | None"
    if name == "numerics":
        return 'Literal["ieee", "torch", "fast"]'
    if name == "seed":
        return "int | None"
    if name == "betas":
        return f"tuple[{', '.join(['float | Tensor'] * len(default))}]"
    return "float | Tensor" if type(default) is float else type(default).__name__


def value_of(default):
    endless = isinstance(default, float) and math.isinf(default)
    return "..." if endless else repr(default).replace("'", '"')


def constructor(cls):
    yield "    def __init__(\n        self,\n"
    named = False
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not named:
            named = True
            yield "        *,\n"
        default = parameter.default
        given = "" if default is inspect.Parameter.empty else f" = {value_of(default)}"
        yield f"        {name}: {type_of(name, default)}{given},\n"
    yield "    ) -> None: ...\n"


def classes():
    for name in sorted(updraft.shipped_rules(), key=str.lower):
        cls = getattr(updraft.optim, name)
        if not issubclass(cls, ShippedOptimizer):
            continue
        source, equation, *_ = comment(cls.definition._path)
        text = "\n".join([textwrap.fill(" ".join(source.split()), 92), "", equation, '"""'])
        yield f'\nclass {name}(ShippedOptimizer):\n    """'
        yield textwrap.indent(text, "    ").removeprefix("    ") + "\n\n"
        yield from constructor(cls)


def stub():
    text = "".join([HEAD, *imports(), *classes()])
    for command in (["check", "--select=I", "--fix", "-q"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, f"--stdin-filename={STUB}", "-"]
        ran = subprocess.run(ruff, input=text, text=True, capture_output=True, check=True)
        text = ran.stdout
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        STUB.write_text(stub())
    else:
        print(stub(), end="")
