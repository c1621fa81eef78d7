"""The functions of the language, for rules written in Python.

    import updraft
    from updraft import lang

    @updraft.rule
    def Clipped(param, grad, state, lr=1e-3):
        return param - lr * grad / lang.max(lang.norm(grad), 1)

Each function takes numbers and values of a rule, and returns a value of the rule. docs/language.md
defines the results and their rounding.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

from .tracing import values
from .tracing.messages import error
from .tracing.names import check_name
from .tracing.places import here
from .tracing.signature import Static as Static
from .tracing.trace import Condition, current
from .tracing.values import (
    Value,
    as_number,
    kind_name,
    leaves,
    literal_text,
    operand,
    record,
    shallow,
    text_literal,
)

# An argument of a function: a value of a rule, or a number of Python or numpy.
Operand: TypeAlias = Value | float


# The coefficients of each step of `newton_schulz`.
Coefficients: TypeAlias = Value | Sequence[tuple[float, float, float]]


def _list_of_triples(coefficients: Any) -> Value:
    if isinstance(coefficients, Value):
        return coefficients
    what = "the coefficients of `newton_schulz`"
    triples = []
    for triple in coefficients if isinstance(coefficients, Sequence) else ():
        found = map(as_number, triple) if isinstance(triple, Sequence) else ()
        numbers = [each for each in found if isinstance(each, int | float)]
        if len(numbers) != 3 or len(triple) != 3 or any(type(each) is bool for each in numbers):
            raise error(f"{what} have the element {triple!r}; give three numbers", here())
        triples.append(f"({', '.join(map(literal_text, numbers))})")
    if not triples:
        given = "an empty list" if coefficients in ([], ()) else kind_name(coefficients)
        raise error(f"{what} are {given}; give a list of triples", here())
    return Value("list", f"[{', '.join(triples)}]")


def _known_set(name: Any) -> Value:
    """The name of a set of coefficients, which the rule requires to exist."""
    if not isinstance(name, str):
        raise error(f"the name of a set is {kind_name(name)}; give text", here())
    text = Value("text", text_literal(name))
    known = record("call", "is_newton_schulz_set", (text,), is_bool=True)
    message = f"unknown set of coefficients `{name}`; docs/language.md lists them"
    message = message.replace("{", "{{").replace("}", "}}")
    current("require").requirements.append(Condition("require", known, here(), message))
    return text


def _call(name: str, *arguments: Any, is_bool: bool = False) -> Value:
    current(name)
    what = f"an argument of `{name}`"
    operands = tuple(operand(argument, what) for argument in arguments)
    return record("call", name, operands, is_bool=is_bool)


@overload
def where(condition: bool, a: Operand, b: Operand) -> Operand: ...
@overload
def where(condition: Value, a: Operand, b: Operand) -> Value: ...
def where(condition: Value | bool, a: Operand, b: Operand) -> Operand:
    """Chooses a if the condition holds, else b: per element, if the condition is per element.

    A static condition is evaluated when the function is traced. Python always evaluates both a and
    b. In the rule, operations that only one of them needs run only if that one is chosen.
    """
    if not isinstance(condition, Value):
        chosen = as_number(condition)
        if not isinstance(chosen, bool):
            raise error(
                f"the condition of `where` is {kind_name(condition)}; give a bool of the rule",
                here(),
            )
        return a if chosen else b
    branches = (operand(a, "a branch of `where`"), operand(b, "a branch of `where`"))
    is_bool = branches[0].is_bool and branches[1].is_bool
    return record("if", "where", (condition, *branches), is_bool=is_bool)


def max(x: Operand, y: Operand | None = None) -> Value:
    """The larger of two, or with one argument the maximum over the parameter; NaN if any is NaN."""
    return _call("max", x) if y is None else _call("max", x, y)


def min(x: Operand, y: Operand) -> Value:
    """The smaller of two; NaN if either is NaN."""
    return _call("min", x, y)


def require(condition: Value | bool, message: str) -> None:
    """Refuses hyperparameters for which the condition doesn't hold.

    The condition may depend on hyperparameters and static arguments. In the message, `{name}` is
    replaced with the value of the one with that name.
    """
    trace = current("require")
    if not isinstance(message, str):
        raise error(f"the message of `require` is {kind_name(message)}; give text", here())
    if isinstance(condition, Value):
        # Static arguments don't exist in the language.
        filled = _fill(message, trace.statics, keeps_braces=True)
        value = shallow(condition, "the condition of `require`")
        for leaf in leaves(value):
            if leaf not in trace.hypers:
                raise error(
                    f"a requirement cannot depend on `{leaf}`; it is checked when hyperparameters "
                    "are set, and may depend only on these and on static arguments",
                    here(),
                )
        trace.requirements.append(Condition("require", value, here(), filled))
    elif not condition:
        raise error(_fill(message, trace.statics, keeps_braces=False), here())


def _fill(message: str, values: dict[str, Any], *, keeps_braces: bool) -> str:
    """Replaces names in a message with values. `{{` and `}}` are escaped braces."""
    import re

    def replace(found: "re.Match[str]") -> str:
        if found[1] is None:
            return found[0] if keeps_braces else found[0][0]
        if found[1] not in values:
            return found[0]
        value = values[found[1]]
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return text.replace("{", "{{").replace("}", "}}") if keeps_braces else text

    return re.sub(r"\{\{|\}\}|\{(\w+)\}", replace, message)


def _when(function: str, keyword: str, condition: Value | bool) -> None:
    trace = current(function)
    value = operand(condition, f"the condition of `{function}`")
    if value.kind == "bool" and value.text == "false":
        return
    trace.body.conditions.append(Condition(keyword, value, here()))


def skip_when(condition: Value | bool) -> None:
    """Skips the step if the condition holds: parameter, states and step count don't change.

    The condition must be a single value for the parameter or the group, such as
    `lang.skip_when(~lang.isfinite(lang.norm(grad)))`.
    """
    _when("skip_when", "skip", condition)


def hold_when(condition: Value | bool) -> None:
    """In a transform before the rule, skips the later stages if the condition holds."""
    _when("hold_when", "hold", condition)


def histogram(x: Operand, bounds: Sequence[float]) -> Value:
    """How many elements are below the first bound, from each bound to below the next, and from the
    last one on. The bounds are numbers of Python in ascending order. Only `probe` takes the result:
    `lang.probe("sizes", lang.histogram(lang.abs(grad), [1e-6, 1e-3, 1]))`.
    """
    current("histogram")
    what = "the bounds of `histogram`"
    found = [as_number(bound) for bound in bounds] if isinstance(bounds, Sequence) else []
    numbers = [each for each in found if isinstance(each, int | float) and type(each) is not bool]
    if not found or len(numbers) != len(found):
        raise error(f"{what} are {bounds!r}; give a list of numbers", here())
    values = operand(x, "an argument of `histogram`")
    listed = Value("list", f"[{', '.join(map(literal_text, numbers))}]")
    return record("call", "histogram", (values, listed))


def probe(name: str, value: Operand) -> None:
    """Reports a number of the parameter in each probed step, such as
    `lang.probe("ratio", lang.norm(new - param) / lang.norm(param))`.

    The value must be a single one for the parameter, or a `histogram`. The optimizer's
    `probe_values` returns it.
    """
    trace = current("probe")
    check_name(name, "a probe", here())
    if name in trace.body.probes:
        raise error(f"the probe `{name}` is given twice; choose another name", here())
    trace.body.probes[name] = (operand(value, f"the probe `{name}`"), here())


# Arithmetic.


def abs(x: Operand) -> Value:
    """The absolute value."""
    return _call("abs", x)


def floor(x: Operand) -> Value:
    """The largest whole number that isn't greater than x."""
    return _call("floor", x)


def ceil(x: Operand) -> Value:
    """The smallest whole number that isn't less than x."""
    return _call("ceil", x)


def sqrt(x: Operand) -> Value:
    """The square root, correctly rounded."""
    return _call("sqrt", x)


def exp(x: Operand) -> Value:
    """The exponential, within the error of docs/numerics.md."""
    return _call("exp", x)


def log(x: Operand) -> Value:
    """The natural logarithm, within the error of docs/numerics.md."""
    return _call("log", x)


def tanh(x: Operand) -> Value:
    """The hyperbolic tangent, within the error of docs/numerics.md."""
    return _call("tanh", x)


def pow(x: Operand, y: Operand) -> Value:
    """x to the power y. `x ** y` is expanded to multiplications if y is a small integer."""
    return _call("pow", x, y)


def fma(x: Operand, y: Operand, z: Operand) -> Value:
    """`x * y + z`, rounded once."""
    return _call("fma", x, y, z)


def rounded(x: Operand) -> Value:
    """A scalar, rounded to the type in which tensors are computed; a tensor is unchanged."""
    return _call("rounded", x)


def square(x: Operand) -> Value:
    """`x * x`."""
    return _call("square", x)


def sign(x: Operand) -> Value:
    """-1, 0 or 1; 0 for NaN."""
    return _call("sign", x)


def clamp(x: Operand, low: Operand, high: Operand) -> Value:
    """The number between low and high that is closest to x; NaN for NaN."""
    return _call("clamp", x, low, high)


def isnan(x: Operand) -> Value:
    """Whether x is NaN."""
    return _call("isnan", x, is_bool=True)


def isfinite(x: Operand) -> Value:
    """Whether x is neither infinite nor NaN."""
    return _call("isfinite", x, is_bool=True)


def is_multiple(count: Operand, n: Operand) -> Value:
    """Whether count, such as the step, is a multiple of n."""
    return _call("is_multiple", count, n, is_bool=True)


# Combinations, which round like PyTorch's operations in the numerics mode `torch`.


def lerp(a: Operand, b: Operand, w: Operand) -> Value:
    """The linear interpolation from a to b: a if w is 0."""
    return _call("lerp", a, b, w)


def nearer_lerp(a: Operand, b: Operand, w: Operand) -> Value:
    """`lerp`, computed from the nearer end."""
    return _call("nearer_lerp", a, b, w)


def add(x: Operand, y: Operand, alpha: Operand) -> Value:
    """x plus a multiple of y: `x + alpha * y`."""
    return _call("add", x, y, alpha)


def addcmul(x: Operand, a: Operand, b: Operand, value: Operand) -> Value:
    """x plus a multiple of a product: `x + value * a * b`."""
    return _call("addcmul", x, a, b, value)


def addcdiv(x: Operand, a: Operand, b: Operand, value: Operand) -> Value:
    """x plus a multiple of a quotient: `x + value * a / b`."""
    return _call("addcdiv", x, a, b, value)


def quotient(scalar: Operand, x: Operand) -> Value:
    """A scalar divided by a tensor."""
    return _call("quotient", scalar, x)


def scalar_product(x: Operand, y: Operand) -> Value:
    """A product of scalars that PyTorch stores in a tensor."""
    return _call("scalar_product", x, y)


def decayed(g: Operand, p: Operand, weight_decay: Operand) -> Value:
    """The gradient g of a loss, with that of the penalty `weight_decay / 2 * p * p` added.

    If `weight_decay` is 0, the result is g.
    """
    return _call("decayed", g, p, weight_decay)


# Reductions, in f64.


def sum(x: Operand) -> Value:
    """The sum over the parameter."""
    return _call("sum", x)


def dot(x: Operand, y: Operand) -> Value:
    """The sum of the products over the parameter."""
    return _call("dot", x, y)


def mean(x: Operand) -> Value:
    """The mean over the parameter."""
    return _call("mean", x)


def norm(x: Operand) -> Value:
    """The Euclidean norm of the parameter."""
    return _call("norm", x)


def rms(x: Operand) -> Value:
    """The root of the mean square over the parameter."""
    return _call("rms", x)


def count(x: Operand) -> Value:
    """The number of values of x: one per element, or one per row, column or batch."""
    return _call("count", x)


def size() -> Value:
    """The number of elements of the parameter."""
    return _call("size")


def group_sum(x: Operand) -> Value:
    """The sum over the parameter group."""
    return _call("group_sum", x)


def group_max(x: Operand) -> Value:
    """The maximum over the parameter group; NaN if any is NaN."""
    return _call("group_max", x)


def group_dot(x: Operand, y: Operand) -> Value:
    """The sum of the products over the parameter group."""
    return _call("group_dot", x, y)


def group_mean(x: Operand) -> Value:
    """The mean over the parameter group."""
    return _call("group_mean", x)


def global_norm(x: Operand) -> Value:
    """The Euclidean norm over the parameter group."""
    return _call("global_norm", x)


def group_size() -> Value:
    """The number of elements of the parameter group."""
    return _call("group_size")


# Standard probes.


def update_ratio(param: Operand, new_param: Operand) -> Value:
    """The norm of the change of the parameter, divided by the norm of the parameter."""
    return _call("update_ratio", param, new_param)


def update_norm(param: Operand, new_param: Operand) -> Value:
    """The Euclidean norm of the change of the parameter."""
    return _call("update_norm", param, new_param)


def largest_update(param: Operand, new_param: Operand) -> Value:
    """The largest magnitude of the change of the parameter."""
    return _call("largest_update", param, new_param)


def gradient_norm(grad: Operand) -> Value:
    """The Euclidean norm of the gradient."""
    return _call("gradient_norm", grad)


def gradient_mean(grad: Operand) -> Value:
    """The mean of the gradient."""
    return _call("gradient_mean", grad)


def largest_gradient(grad: Operand) -> Value:
    """The largest magnitude of the gradient."""
    return _call("largest_gradient", grad)


def parameter_norm(param: Operand) -> Value:
    """The Euclidean norm of the parameter before the step."""
    return _call("parameter_norm", param)


def largest_parameter(new_param: Operand) -> Value:
    """The largest magnitude of the new parameter."""
    return _call("largest_parameter", new_param)


def non_finite(grad: Operand) -> Value:
    """How many elements of the gradient are infinite or NaN."""
    return _call("non_finite", grad)


def non_finite_parameters(new_param: Operand) -> Value:
    """How many elements of the new parameter are infinite or NaN."""
    return _call("non_finite_parameters", new_param)


def magnitudes(x: Operand) -> Value:
    """The histogram of magnitudes, one bucket for each power of 10 from 1e-8 to 1. For `probe`."""
    return _call("magnitudes", x)


def gradient_sizes(grad: Operand) -> Value:
    """The histogram of the gradient's magnitudes. For `probe`."""
    return _call("gradient_sizes", grad)


def update_sizes(param: Operand, new_param: Operand) -> Value:
    """The histogram of the magnitudes by which elements change. For `probe`."""
    return _call("update_sizes", param, new_param)


def parameter_sizes(new_param: Operand) -> Value:
    """The histogram of the new parameter's magnitudes. For `probe`."""
    return _call("parameter_sizes", new_param)


def zero_gradients(grad: Operand) -> Value:
    """How many elements of the gradient are 0."""
    return _call("zero_gradients", grad)


def alignment(param: Operand, grad: Operand, new_param: Operand) -> Value:
    """The cosine of the angle between the gradient and the step against it."""
    return _call("alignment", param, grad, new_param)


# Functions of matrices, for parameters for which `matrix` is true.


def rows(x: Operand | None = None) -> Value:
    """The number of rows of the parameter, or of a matrix."""
    return _call("rows") if x is None else _call("rows", x)


def columns(x: Operand | None = None) -> Value:
    """The number of columns of the parameter, or of a matrix."""
    return _call("columns") if x is None else _call("columns", x)


def transpose(x: Operand) -> Value:
    """The transpose of a matrix, in each batch; also `x.T`."""
    return _call("transpose", x)


def gram(x: Operand) -> Value:
    """The product of a matrix and its transpose, `x @ x.T`: a matrix of rows x rows."""
    return _call("gram", x)


def identity(x: Operand) -> Value:
    """The identity matrix with as many rows as a matrix, in each batch."""
    return _call("identity", x)


def trace(x: Operand) -> Value:
    """The sum of the diagonal of a square matrix, in each batch."""
    return _call("trace", x)


def bf16_product(x: Operand, y: Operand) -> Value:
    """The product `x @ y`. In `fast` numerics, its operands may be rounded to bf16."""
    return _call("bf16_product", x, y)


def f16_product(x: Operand, y: Operand) -> Value:
    """The product `x @ y`. In `fast` numerics, its operands may be rounded to f16: values beyond
    65504 become infinite.
    """
    return _call("f16_product", x, y)


def symmetric_product(x: Operand, y: Operand) -> Value:
    """The product `x @ y` if it is symmetric: only the diagonal and the elements below it are
    computed, and copied to the other side.
    """
    return _call("symmetric_product", x, y)


def diagonal(x: Operand) -> Value:
    """The diagonal of a square matrix: a value per row for a matrix of rows x rows, per column for
    columns x columns.
    """
    return _call("diagonal", x)


def scale_columns(x: Operand, scale: Operand) -> Value:
    """A matrix times the diagonal matrix of `scale`, which has a value for each of its columns."""
    return _call("scale_columns", x, scale)


def qr(x: Operand) -> Value:
    """The orthogonal factor Q of a square matrix Q R. The diagonal of R is not negative.

    LAPACK computes it, as well as the factorizations and solvers below. The result is NaN if an
    element isn't finite.
    """
    return _call("qr", x)


def cholesky(x: Operand) -> Value:
    """The lower triangular l for which `l @ l.T` is x. NaN if x isn't positive definite.

    Only the lower triangle of x is read.
    """
    return _call("cholesky", x)


def eigenvectors(x: Operand) -> Value:
    """The eigenvectors of a symmetric matrix, as columns, in ascending order of eigenvalues.

    The element of largest magnitude of each is positive. Only the lower triangle of x is read.
    """
    return _call("eigenvectors", x)


def eigenvalues(x: Operand) -> Value:
    """The eigenvalues of a symmetric matrix in ascending order, a value per row or column like
    `diagonal`. Only the lower triangle of x is read.
    """
    return _call("eigenvalues", x)


def solve_lower(x: Operand, y: Operand) -> Value:
    """The solution z of x @ z = y, where x counts as lower triangular."""
    return _call("solve_lower", x, y)


def solve_upper(x: Operand, y: Operand) -> Value:
    """The solution z of x @ z = y, where x counts as upper triangular."""
    return _call("solve_upper", x, y)


def sort_rows(x: Operand, keys: Operand) -> Value:
    """The rows of a matrix in descending order of `keys`, which has a value for each of them.

    Rows with equal keys keep their order; those with NaN come last.
    """
    return _call("sort_rows", x, keys)


def sort_columns(x: Operand, keys: Operand) -> Value:
    """The columns of a matrix in descending order of `keys`, like `sort_rows`."""
    return _call("sort_columns", x, keys)


def leading_eigenvectors(x: Operand) -> Value:
    """The eigenvectors of a symmetric matrix, as columns, those of large eigenvalues first."""
    return _call("leading_eigenvectors", x)


def inverse_fourth_root(x: Operand, eps: Operand) -> Value:
    """(x + eps I)^(-1/4) of a symmetric matrix.

    If rounding has made the least eigenvalue less than `eps`, all are shifted so that it is `eps`.
    """
    return _call("inverse_fourth_root", x, eps)


def coupled_newton_root(x: Operand, eps: Operand, steps: Operand) -> Value:
    """`inverse_fourth_root` by products alone: `steps` steps of the coupled Newton iteration.

    It diverges if rounding has made an eigenvalue of x + eps I negative.
    """
    return _call("coupled_newton_root", x, eps, steps)


def largest(x: Operand, fraction: Operand) -> Value:
    """Chooses rows by a value per row, or columns by a value per column: 1 for the largest, else 0.

    The result is the `places` of `gather_rows` and similar functions. The number of chosen rows or
    columns is `fraction`, greater than 0 and at most 1, of the shorter side of the matrix, rounded
    up. A rule can have only one fraction. Among equal values, the first ones are chosen. NaN counts
    as the smallest.
    """
    return _call("largest", x, fraction)


def gather_rows(x: Operand, places: Operand) -> Value:
    """The rows of a matrix that `largest` has chosen, in the matrix's order."""
    return _call("gather_rows", x, places)


def gather_columns(x: Operand, places: Operand) -> Value:
    """The columns of a matrix that `largest` has chosen, in the matrix's order."""
    return _call("gather_columns", x, places)


def scatter_rows(x: Operand, places: Operand) -> Value:
    """A matrix with the rows of `x` where `largest` has chosen rows, and 0 elsewhere."""
    return _call("scatter_rows", x, places)


def scatter_columns(x: Operand, places: Operand) -> Value:
    """A matrix with the columns of `x` where `largest` has chosen columns, and 0 elsewhere."""
    return _call("scatter_columns", x, places)


def newton_schulz(x: Operand, coefficients: Coefficients) -> Value:
    """A matrix with the singular vectors of x, and singular values near 1. Those of x must be at
    most 1, so divide x by its norm.

    Each step replaces x by `a x + b (x x.T) x + c (x x.T)^2 x`, with its three coefficients.
    """
    return _call("newton_schulz", x, _list_of_triples(coefficients))


def gram_newton_schulz(x: Operand, coefficients: Coefficients) -> Value:
    """`newton_schulz` of a matrix that has no more rows than columns, such as chosen rows."""
    return _call("gram_newton_schulz", x, _list_of_triples(coefficients))


def bf16_newton_schulz(x: Operand, coefficients: Coefficients) -> Value:
    """`newton_schulz` with bf16 products."""
    return _call("bf16_newton_schulz", x, _list_of_triples(coefficients))


def f16_newton_schulz(x: Operand, coefficients: Coefficients) -> Value:
    """`newton_schulz` with f16 products, whose rounding errors are 8 times smaller."""
    return _call("f16_newton_schulz", x, _list_of_triples(coefficients))


def newton_schulz_coefficients(set: str, steps: Operand) -> Value:
    """The coefficients of a set of the library, such as "polar_express", for a number of steps of
    `newton_schulz`. docs/language-matrices.md lists the sets.
    """
    current("newton_schulz_coefficients")
    count = operand(steps, "the steps of `newton_schulz_coefficients`")
    return record("call", "newton_schulz_coefficients", (_known_set(set), count))


def newton_schulz_steps(set: str) -> Value:
    """The number of steps that a set of coefficients is made for."""
    current("newton_schulz_steps")
    return record("call", "newton_schulz_steps", (_known_set(set),))


def almost_orthogonal(x: Operand, eps: Operand) -> Value:
    """Divides the rows of a matrix, or the columns if there are fewer, so that no singular value
    exceeds 1.

    Use it instead of a division by the norm before `newton_schulz` with the set "aol".
    """
    return _call("almost_orthogonal", x, eps)


def row_sum(x: Operand) -> Value:
    """The sum over each row."""
    return _call("row_sum", x)


def row_max(x: Operand) -> Value:
    """The maximum over each row; NaN if any is NaN."""
    return _call("row_max", x)


def row_dot(x: Operand, y: Operand) -> Value:
    """The sum of the products over each row."""
    return _call("row_dot", x, y)


def row_mean(x: Operand) -> Value:
    """The mean over each row."""
    return _call("row_mean", x)


def row_norm(x: Operand) -> Value:
    """The Euclidean norm of each row."""
    return _call("row_norm", x)


def column_sum(x: Operand) -> Value:
    """The sum over each column."""
    return _call("column_sum", x)


def column_max(x: Operand) -> Value:
    """The maximum over each column; NaN if any is NaN."""
    return _call("column_max", x)


def column_dot(x: Operand, y: Operand) -> Value:
    """The sum of the products over each column."""
    return _call("column_dot", x, y)


def column_mean(x: Operand) -> Value:
    """The mean over each column."""
    return _call("column_mean", x)


def column_norm(x: Operand) -> Value:
    """The Euclidean norm of each column."""
    return _call("column_norm", x)


def batch_sum(x: Operand) -> Value:
    """The sum over each matrix of a batch."""
    return _call("batch_sum", x)


def batch_max(x: Operand) -> Value:
    """The maximum over each matrix of a batch; NaN if any is NaN."""
    return _call("batch_max", x)


def batch_dot(x: Operand, y: Operand) -> Value:
    """The sum of the products over each matrix of a batch."""
    return _call("batch_dot", x, y)


def batch_mean(x: Operand) -> Value:
    """The mean over each matrix of a batch."""
    return _call("batch_mean", x)


def batch_norm(x: Operand) -> Value:
    """The Euclidean norm of each matrix of a batch."""
    return _call("batch_norm", x)


def batch_count(x: Operand) -> Value:
    """The number of values of x in one matrix of a batch."""
    return _call("batch_count", x)


# Random numbers.


def random() -> Value:
    """A random number per element, uniform in [0, 1). Each call returns different numbers."""
    return _call("random")


def normal() -> Value:
    """A random number per element with mean 0 and variance 1."""
    return _call("normal")


def inverse_erf(x: Operand) -> Value:
    """The inverse of the error function, to the precision of f32."""
    return _call("inverse_erf", x)


# The functions with the same result in numpy. `numpy.sign` isn't one, because of NaN.
values.from_numpy |= {
    "absolute": abs,
    "ceil": ceil,
    "exp": exp,
    "floor": floor,
    "isfinite": isfinite,
    "isnan": isnan,
    "log": log,
    "maximum": max,
    "minimum": min,
    "sqrt": sqrt,
    "square": square,
    "tanh": tanh,
}
