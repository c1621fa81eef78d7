"""Classifies a function's parameters: inputs, hyperparameters, static arguments."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from .messages import error
from .names import check_name, is_name
from .places import Place, PythonFile
from .values import as_number, fits_double, kind_name

_T = TypeVar("_T")


class _StaticMark:
    def __repr__(self) -> str:
        return "updraft.lang.Static"


# An argument with a fixed value when the rule is traced: `layers: lang.Static[int] = 2`. Arguments
# whose default is a bool or text are static without the annotation.
Static = Annotated[_T, _StaticMark()]

_INPUTS = ("param", "grad", "state", "step", "first", "matrix")
TRANSFORM_INPUTS = (*_INPUTS, "new_param")
_BOOLS = ("first", "matrix")


class Signature:
    """The parameters of a function, by kind."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._places: dict[str, Place] | None = None
        self.inputs: list[str] = []
        # With defaults.
        self.hypers: dict[str, float] = {}
        self.statics: dict[str, Any] = {}
        self.positional_only: list[str] = []

    @property
    def places(self) -> dict[str, Place]:
        """Where each parameter is declared, if known; "" is the function's own name."""
        if self._places is None:
            self._places = declaration_places(self._function)
        return self._places

    def place(self, name: str) -> Place | None:
        """Where a parameter is declared, or else the function."""
        return self.places.get(name, self.places.get(""))


def is_bool_input(name: str) -> bool:
    """Whether an input is a bool."""
    return name in _BOOLS


def _is_static(annotation: Any) -> bool:
    if isinstance(annotation, str):
        # `from __future__ import annotations` makes it text.
        return annotation.split("[")[0].split(".")[-1].strip() == "Static"
    return any(isinstance(mark, _StaticMark) for mark in getattr(annotation, "__metadata__", ()))


def read_signature(function: Callable[..., Any], is_transform: bool) -> Signature:
    """Classifies a function's parameters."""
    import inspect

    known = TRANSFORM_INPUTS if is_transform else _INPUTS
    found = Signature(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind == parameter.VAR_POSITIONAL else "**"
            raise error(
                f"a rule takes no `{stars}{name}`; name its hyperparameters", found.place(name)
            )
        if parameter.kind == parameter.POSITIONAL_ONLY:
            found.positional_only.append(name)
        default = parameter.default
        if name in known:
            found.inputs.append(name)
        elif default is parameter.empty:
            kind = "transform" if is_transform else "rule"
            raise error(
                f"unknown input `{name}` of a {kind}; a hyperparameter needs a default, and the "
                f"inputs are `{'`, `'.join(known)}`",
                found.place(name),
            )
        elif _is_static(parameter.annotation) or isinstance(default, str):
            found.statics[name] = default
        elif (number := as_number(default)) is None:
            raise error(
                f"the default of `{name}` is {kind_name(default)}; a hyperparameter's is a number, "
                "a static argument's a bool or text, or anything with the annotation "
                "`updraft.lang.Static`",
                found.place(name),
            )
        elif isinstance(number, bool):
            found.statics[name] = number
        else:
            if not is_name(name):
                check_name(name, "a hyperparameter", found.place(name))
            if not fits_double(number):
                raise error(f"the default of `{name}` is too large for a number", found.place(name))
            found.hypers[name] = number
    return found


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function inside decorators and `functools.partial`."""
    import inspect

    function = inspect.unwrap(function)
    while hasattr(function, "func"):
        function = inspect.unwrap(function.func)
    return function


def declaration_places(function: Callable[..., Any]) -> dict[str, Place]:
    """Where a function and its parameters are declared."""
    function = plain_function(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return {}
    namespace = getattr(function, "__globals__", {})
    fallback = {"": Place(code.co_filename, namespace, code.co_firstlineno)}
    file = PythonFile(code.co_filename, namespace)
    node, above = _parse(file, code.co_firstlineno, code.co_name)
    if node is None:
        return fallback

    def at(line: int, begin: int, end_line: int, end: int) -> Place:
        return Place(code.co_filename, namespace, line + above, begin, end_line + above, end)

    import ast

    if isinstance(node, ast.Lambda):
        places = {
            "": at(node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        }
    else:
        line = file.line(node.lineno + above)
        begin = line.find(node.name.encode(), node.col_offset)
        places = {"": at(node.lineno, begin, node.lineno, begin + len(node.name.encode()))}
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [
        *([None] * (len(positional) - len(arguments.defaults))),
        *arguments.defaults,
        *arguments.kw_defaults,
        None,
        None,
    ]
    others = [given for given in (arguments.vararg, arguments.kwarg) if given is not None]
    for argument, default in zip(
        [*positional, *arguments.kwonlyargs, *others], defaults, strict=False
    ):
        last = default if default is not None else argument
        places[argument.arg] = at(
            argument.lineno, argument.col_offset, last.end_lineno or 0, last.end_col_offset or 0
        )
    return places


def _parse(file: PythonFile, first_line: int, name: str) -> tuple[Any, int]:
    """The syntax tree of the function that begins on a line, and the number of lines before it."""
    import ast
    import inspect

    block = [line.decode(errors="replace") for line in file.lines[first_line - 1 :]]
    if not block:
        return None, 0
    try:
        block = inspect.getblock(block)
        above = first_line - 1
        if block[0][:1].isspace():
            block = ["if 1:\n", *block]
            above -= 1
        tree = ast.parse("".join(block))
    except (SyntaxError, ValueError):
        return None, 0
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for node in ast.walk(tree):
        if isinstance(node, functions) and getattr(node, "name", "<lambda>") == name:
            return node, above
    return None, 0
