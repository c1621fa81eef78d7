#!/usr/bin/env python3
"""Writes the stub of `updraft.optim`, whose classes are made of rules when they are asked for.

Editors and type checkers read it. Installing the package runs this on what was installed, with
nothing else on the path: torch need not be there.

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

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor
from torch.optim.optimizer import ParamsT

'''

BASE = ("rule_classes", "ShippedOptimizer")


def exports(package):
    """The (module, name) pairs that `updraft.optim` has from its modules, as its text says."""
    tree = ast.parse((package / "optim" / "__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from ((node.module, alias.name) for alias in node.names)
    yield BASE


def imports(names):
    """The imports in isort's order: constants first, then others, without regard to case."""
    for module, name in sorted(names, key=lambda n: (n[0], n[1] != n[1].upper(), n[1].lower())):
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


def classes(others):
    """A class for each rule that no module has one for."""
    updraft = importlib.import_module("updraft")
    shipped = importlib.import_module("updraft.shipped")
    constructors = importlib.import_module("updraft.shipped_constructor")
    for name in sorted(set(updraft.shipped_rules()) - others, key=str.lower):
        source, equation, *_ = constructors.comment(shipped.require_path(name))
        text = "\n".join([textwrap.fill(" ".join(source.split()), 92), "", equation, '"""'])
        yield f'\nclass {name}({BASE[1]}):\n    """'
        yield textwrap.indent(text, "    ").removeprefix("    ") + "\n\n"
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
    names = [*exports(package)]
    text = "".join([HEAD, *imports(names), *classes({name for _, name in names})])
    (package / "optim" / "__init__.pyi").write_text(text)


if __name__ == "__main__":
    main()
