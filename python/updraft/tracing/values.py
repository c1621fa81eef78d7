"""The values in a traced function: each records how it was computed."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NoReturn

from .. import _updraft
from .messages import UnknownAttributeError, called, error
from .places import Place, assigned_name, here, user_frame

# numpy's names of the language's operators: the spelling in the language, and in Python.
_NUMPY_OPERATORS = {
    "add": ("+", "+"),
    "bitwise_and": ("&&", "&"),
    "bitwise_or": ("||", "|"),
    "divide": ("/", "/"),
    "equal": ("==", "=="),
    "greater": (">", ">"),
    "greater_equal": (">=", ">="),
    "less": ("<", "<"),
    "less_equal": ("<=", "<="),
    "logical_and": ("&&", "&"),
    "logical_or": ("||", "|"),
    "matmul": ("@", "@"),
    "multiply": ("*", "*"),
    "not_equal": ("!=", "!="),
    "power": ("^", "**"),
    "subtract": ("-", "-"),
    "true_divide": ("/", "/"),
}

# In Python, the operators for functions and methods of numpy and torch.
_OPERATORS = {name: shown for name, (_, shown) in _NUMPY_OPERATORS.items()} | {
    "div": "/",
    "eq": "==",
    "ge": ">=",
    "gt": ">",
    "le": "<=",
    "lt": "<",
    "mm": "@",
    "mul": "*",
    "ne": "!=",
    "neg": "-",
    "pow": "**",
    "sub": "-",
}

# The rule's functions with other names in numpy and torch.
_OTHER_NAMES = {
    "amax": "max",
    "clip": "clamp",
    "maximum": "max",
    "minimum": "min",
    "numel": "size",
    "t": "transpose",
    "mT": "transpose",
}

#: The rule's functions for numpy functions, by their names there. `updraft.lang` fills it.
from_numpy: dict[str, Callable[..., "Value"]] = {}

_order = itertools.count()

# Replacements for operators that the language lacks.
_INSTEAD = {
    "//": "; write `updraft.lang.floor(a / b)`",
    "%": "; write `a - b * updraft.lang.floor(a / b)`",
    "^": "; a power is written `**`",
}


def kind_name(thing: Any) -> str:
    """The class of an object, for messages: `list`, `numpy.ndarray`."""
    kind = type(thing)
    prefix = "" if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "."
    return f"`{prefix}{kind.__qualname__}`"


class Value:
    """A value in the rule that is being traced: a tensor, a scalar or a bool.

    It isn't a number yet: it records the operations on it. Compute with operators and with the
    functions of `updraft.lang`. To choose between values, use `updraft.lang.where`.
    """

    def __init__(
        self,
        kind: str,
        text: str,
        operands: "tuple[Value, ...]" = (),
        *,
        is_bool: bool = False,
        place: Place | None = None,
        name: str | None = None,
        trace: Any = None,
    ) -> None:
        # "number", "bool", "text", "list", "name", "unary", "binary", "if" or "call".
        self.kind = kind
        # A literal, a name, an operator of the language, or the name of the called function.
        self.text = text
        self.operands = operands
        self.is_bool = is_bool
        self.place = place
        # The variable that it was assigned to.
        self.name = name
        # The state whose next value it is, as a possible name.
        self.state: str | None = None
        # For a name, the trace that it belongs to.
        self.trace = trace
        self.depth: int = 1 + max((operand.depth for operand in operands), default=0)
        # Operands have lower numbers than their results.
        self.order = next(_order)

    def __repr__(self) -> str:
        what = self.text if self.kind == "name" else self.name or self.text
        return f"<value {what} of a rule>"

    def __format__(self, spec: str) -> str:
        # In an f-string for `require`, a hyperparameter is replaced with its value.
        is_hyper = self.kind == "name" and not spec and self.trace is not None
        return "{" + self.text + "}" if is_hyper else repr(self)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **arguments: Any) -> "Value":
        # Includes operators whose left operand is a number of numpy.
        is_call = method == "__call__"
        name = ufunc.__name__ if is_call else f"{ufunc.__name__}.{method}"
        return _apply_numpy(name, operands, is_call and not arguments)

    def __array_function__(
        self, function: Any, types: Any, operands: Any, arguments: Any
    ) -> "Value":
        return _apply_numpy(function.__name__, operands, False, function.__module__)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, operands: Any = (), arguments: Any = None
    ) -> Any:
        from torch.overrides import resolve_name

        name = (resolve_name(function) or function.__name__).replace("torch.functional.", "torch.")
        # An operator, whose left operand is a tensor. Python calls the one of the value.
        if name.startswith("torch.Tensor."):
            return NotImplemented
        frame = user_frame()
        # Some functions are in Python.
        while frame and str(frame.f_globals.get("__name__")).partition(".")[0] == "torch":
            frame = frame.f_back
        hint = _hint(name.rpartition(".")[2])
        raise error(f"`{name}` is not supported in a rule; {hint}", here(frame))

    def __getattr__(self, name: str) -> NoReturn:
        # Python and libraries ask for names like `__array__` and `_repr_html_`.
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise error(
            f"a value of a rule has no attribute `{name}`; {_hint(name)}",
            here(),
            kind=UnknownAttributeError,
        )

    def __add__(self, other: Any) -> "Value":
        return binary("+", self, other)

    def __radd__(self, other: Any) -> "Value":
        return binary("+", other, self)

    def __sub__(self, other: Any) -> "Value":
        return binary("-", self, other)

    def __rsub__(self, other: Any) -> "Value":
        return binary("-", other, self)

    def __mul__(self, other: Any) -> "Value":
        return binary("*", self, other)

    def __rmul__(self, other: Any) -> "Value":
        return binary("*", other, self)

    def __matmul__(self, other: Any) -> "Value":
        return binary("@", self, other)

    def __rmatmul__(self, other: Any) -> "Value":
        return binary("@", other, self)

    @property
    def T(self) -> "Value":  # noqa: N802
        """The transpose of a matrix, in each batch."""
        return record("call", "transpose", (self,))

    def __truediv__(self, other: Any) -> "Value":
        return binary("/", self, other)

    def __rtruediv__(self, other: Any) -> "Value":
        return binary("/", other, self)

    def __pow__(self, other: Any) -> "Value":
        return binary("^", self, other, "**")

    def __rpow__(self, other: Any) -> "Value":
        return binary("^", other, self, "**")

    def __lt__(self, other: Any) -> "Value":
        return binary("<", self, other)

    def __le__(self, other: Any) -> "Value":
        return binary("<=", self, other)

    def __gt__(self, other: Any) -> "Value":
        return binary(">", self, other)

    def __ge__(self, other: Any) -> "Value":
        return binary(">=", self, other)

    def __eq__(self, other: Any) -> "Value":  # type: ignore[override]
        return binary("==", self, other)

    def __ne__(self, other: Any) -> "Value":  # type: ignore[override]
        return binary("!=", self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> "Value":
        return binary("&&", self, other, "&")

    def __rand__(self, other: Any) -> "Value":
        return binary("&&", other, self, "&")

    def __or__(self, other: Any) -> "Value":
        return binary("||", self, other, "|")

    def __ror__(self, other: Any) -> "Value":
        return binary("||", other, self, "|")

    def __neg__(self) -> "Value":
        return record("unary", "-", (self,))

    def __pos__(self) -> "Value":
        return self

    def __invert__(self) -> "Value":
        return record("unary", "!", (self,), is_bool=True)

    def __abs__(self) -> "Value":
        return record("call", "abs", (self,))

    def __bool__(self) -> bool:
        place = here()
        function = called(place)
        if function in ("max", "min"):
            raise error(
                f"Python's `{function}` cannot compare values of a rule; use "
                f"`updraft.lang.{function}`",
                place,
            )
        raise error(
            "a value of a rule is neither true nor false while it is traced; choose with "
            "`updraft.lang.where(condition, a, b)`, join conditions with `&` and `|`, or make its "
            "inputs static arguments",
            place,
        )

    def _no_number(self, what: str) -> NoReturn:
        raise error(
            f"a value of a rule has no {what} while it is traced; "
            "use the functions of `updraft.lang`, or make it a static argument",
            here(),
        )

    def __float__(self) -> float:
        self._no_number("number")

    def __int__(self) -> int:
        self._no_number("number")

    def __index__(self) -> int:
        self._no_number("number")

    def __round__(self, digits: int | None = None) -> int:
        self._no_number("number")

    def __len__(self) -> int:
        self._no_number("length")

    def __iter__(self) -> Any:
        self._no_number("length")

    def __getitem__(self, index: Any) -> Any:
        raise error(
            "a value of a rule cannot be indexed; a rule applies to every element",
            here(),
        )

    def _unknown(self, operator: str) -> NoReturn:
        raise error(f"unsupported operator `{operator}` in a rule{_INSTEAD[operator]}", here())

    def __floordiv__(self, other: Any) -> "Value":
        self._unknown("//")

    def __rfloordiv__(self, other: Any) -> "Value":
        self._unknown("//")

    def __mod__(self, other: Any) -> "Value":
        self._unknown("%")

    def __rmod__(self, other: Any) -> "Value":
        self._unknown("%")

    def __xor__(self, other: Any) -> "Value":
        self._unknown("^")

    def __rxor__(self, other: Any) -> "Value":
        self._unknown("^")


_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=", "&&", "||")


def record(kind: str, text: str, operands: tuple[Value, ...], *, is_bool: bool = False) -> Value:
    """Creates a value at the user's current line."""
    frame = user_frame()
    return Value(
        kind,
        text,
        operands,
        is_bool=is_bool,
        place=here(frame),
        name=assigned_name(frame),
    )


# The compiler's limit on operators in a row.
_MAX_DEPTH = 256


def shallow(value: Value, what: str) -> Value:
    """Refuses a value that is nested too deeply without names for its parts."""
    if value.depth > _MAX_DEPTH:
        raise error(f"{what} has more than {_MAX_DEPTH} operators in a row", here())
    return value


def leaves(value: Value) -> list[str]:
    """The names that a value depends on, in the order of first use."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value.order not in seen:
            seen.add(value.order)
            if value.kind == "name":
                found[value.text] = None
            pending += reversed(value.operands)
    return [*found]


def binary(operator: str, left: Any, right: Any, shown: str | None = None) -> Value:
    """Records an operator, which the user wrote as `shown`."""
    what = f"an operand of `{shown or operator}`"
    operands = (operand(left, what), operand(right, what))
    return record("binary", operator, operands, is_bool=operator in _COMPARISONS)


def literal_text(number: float) -> str:
    """Formats a number exactly, as in the language."""
    if isinstance(number, int) and abs(number) < 1 << 53:
        return str(int(number))
    number = float(number)
    if math.isfinite(number):
        # Omits the decimal point of a whole number. Zero keeps it for its sign.
        is_whole = number.is_integer() and 0 < abs(number) < 1e6
        return repr(int(number)) if is_whole else repr(number)
    # The language doesn't have literals for these.
    return "0 / 0" if math.isnan(number) else "1 / 0" if number > 0 else "-1 / 0"


def text_literal(text: str) -> str:
    """Formats a string of the language."""
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return '"' + "".join(c if c.isprintable() else " " for c in text) + '"'


def as_number(thing: Any) -> float | bool | None:
    """A number or bool of Python or numpy; None for anything else."""
    if isinstance(thing, bool | int | float):
        return thing
    # numpy's scalars, and arrays without dimensions, of numpy or torch.
    if getattr(thing, "shape", None) == () and hasattr(thing, "item"):
        number = thing.item()
        if isinstance(number, bool | int | float):
            return number
    return None


def fits_double(number: float) -> bool:
    """Whether a number fits: Python's integers are unbounded."""
    try:
        float(number)
    except OverflowError:
        return False
    return True


def operand(thing: Any, what: str) -> Value:
    """Converts an object from the user to a value; `what` names it in messages."""
    if isinstance(thing, Value):
        return thing
    number = as_number(thing)
    if number is None:
        raise error(f"{what} is {kind_name(thing)}; give a value of the rule or a number", here())
    if isinstance(number, bool):
        return Value("bool", "true" if number else "false", is_bool=True)
    try:
        return Value("number", literal_text(number))
    except OverflowError:
        raise error(f"{what} is too large for a number", here()) from None


def _hint(name: str) -> str:
    """The replacement in a rule for a function or a method of numpy or torch."""
    # In torch, methods that change their tensor end in `_`.
    name = name.rstrip("_")
    if name in _OPERATORS:
        return f"use the operator `{_OPERATORS[name]}`"
    name = _OTHER_NAMES.get(name, name)
    known = {"where"}.union(function for function, _ in _updraft.functions())
    return f"use `updraft.lang.{name}`" if name in known else "use the functions of `updraft.lang`"


def _apply_numpy(
    name: str, operands: tuple[Any, ...], is_plain: bool, module: str = "numpy"
) -> Value:
    """Records a call of a numpy function; `is_plain` unless it has further arguments."""
    if is_plain and name in _NUMPY_OPERATORS:
        left, right = operands
        return binary(_NUMPY_OPERATORS[name][0], left, right, _NUMPY_OPERATORS[name][1])
    if is_plain and name in from_numpy:
        return from_numpy[name](*operands)
    if is_plain and name == "negative":
        return record("unary", "-", operands)
    if is_plain and name in ("invert", "logical_not"):
        return record("unary", "!", operands, is_bool=True)
    raise error(f"`{module}.{name}` is not supported in a rule; {_hint(name)}", here())
