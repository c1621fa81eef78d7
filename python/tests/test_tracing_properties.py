"""Random functions, traced and compiled, compute the same bits as numpy."""

import math
import operator

import hypothesis
import numpy
from hypothesis import strategies as st

import updraft
from updraft import lang
from updraft.tracing.values import operand

NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.floats(-4, 4).map(lambda x: round(x, 3)),
    st.sampled_from([numpy.float32(0.1), numpy.float64(1 / 3), numpy.int8(2), math.inf]),
)
LEAVES = st.one_of(
    st.sampled_from(["param", "grad", "lr", "m"]).map(lambda name: ("name", name)),
    NUMBERS.map(lambda number: ("number", number)),
)
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": lambda a, b: (a > 0) & (b > 0),
    "| ~": lambda a, b: (a > 0) | ~(b > 0),
}


def extend(inner):
    return st.one_of(
        st.tuples(st.sampled_from([*ARITHMETIC, "min", "max"]), inner, inner),
        st.tuples(st.sampled_from(["negated", "abs", "sqrt", "floor", "square", "power"]), inner),
        st.tuples(st.sampled_from([*COMPARISONS]), inner, inner, inner, inner),
        # A value that is used twice, and a named one.
        st.tuples(st.sampled_from(["twice", "named"]), inner),
    )


EXPRESSIONS = st.recursive(LEAVES, extend, max_leaves=20)


def build(node, names, ops):
    """Computes an expression, with the values of a rule or with numpy's."""
    kind, *operands = node
    if kind == "name":
        return names[operands[0]]
    if kind == "number":
        return ops.number(operands[0])
    a, *others = (build(operand, names, ops) for operand in operands)
    # With only plain numbers, Python would compute.
    if not others or not isinstance(others[0], lang.Value) or kind in ("&", "| ~"):
        a = ops.value(a)
    if kind in ARITHMETIC:
        return ARITHMETIC[kind](a, *others)
    if kind in ("&", "| ~"):
        others[0] = ops.value(others[0])
    if kind in COMPARISONS:
        return ops.where(COMPARISONS[kind](a, others[0]), *others[1:])
    if kind == "negated":
        return -a
    if kind == "power":
        return a**2
    if kind == "twice":
        root = ops.sqrt(a)
        return root * 0.5 + root
    if kind == "named":
        variable = a + 1
        return variable
    return getattr(ops, kind)(a, *others)


class Traced:
    """Computes with values of a rule."""

    abs, floor, max, min = lang.abs, lang.floor, lang.max, lang.min
    sqrt, square, where = lang.sqrt, lang.square, lang.where

    @staticmethod
    def number(value):
        return value

    @staticmethod
    def value(value):
        return operand(value, "")


def combined(function):
    """An operation on `Computed`: a scalar is rounded when it is combined with a tensor."""

    def apply(*operands):
        operands = [x if isinstance(x, Computed) else Numpy.number(x) for x in operands]
        tensors = [x.values.dtype for x in operands if x.is_tensor and x.values.dtype != bool]
        arrays = [
            x.values.astype(tensors[0]) if tensors and x.values.dtype != bool else x.values
            for x in operands
        ]
        result = function(*arrays)
        if any(x.is_tensor for x in operands) and result.dtype != bool and not tensors:
            # A bool tensor chooses between these numbers.
            result = result.astype(Computed.dtype)
        is_constant = all(x.is_constant for x in operands)
        return Computed(result, any(x.is_tensor for x in operands), is_constant)

    return apply


def logical(function, deciding):
    """`and` or `or`: a constant that decides gives a constant, for any other operand."""
    combine = combined(function)

    def apply(*operands):
        for x in operands:
            if x.is_constant and bool(x.values) == deciding:
                return x
        return combine(*operands)

    return apply


def chosen(condition, first, second):
    """Like `where`. A constant condition returns one operand unchanged, and ignores the other."""
    if condition.is_constant:
        return first if condition.values else second
    return combined(numpy.where)(condition, first, second)


def larger(a, b):
    # -0 is less than +0, and NaN is larger than anything.
    larger = numpy.where(numpy.signbit(a), b, a)
    return numpy.where(a == b, larger, numpy.maximum(a, b))


def smaller(a, b):
    smaller = numpy.where(numpy.signbit(a), a, b)
    return numpy.where(a == b, smaller, numpy.minimum(a, b))


class Computed:
    """Elements of one type, or a scalar in f64."""

    dtype = numpy.dtype("float32")

    def __init__(self, values, is_tensor=False, is_constant=False):
        self.values = numpy.asarray(values)
        self.is_tensor = is_tensor
        self.is_constant = is_constant

    __add__, __radd__ = combined(numpy.add), combined(lambda a, b: b + a)
    __sub__, __rsub__ = combined(numpy.subtract), combined(lambda a, b: b - a)
    __mul__, __rmul__ = combined(numpy.multiply), combined(lambda a, b: b * a)
    __truediv__, __rtruediv__ = combined(numpy.divide), combined(lambda a, b: b / a)
    __lt__, __le__ = combined(numpy.less), combined(numpy.less_equal)
    __gt__, __ge__ = combined(numpy.greater), combined(numpy.greater_equal)
    __eq__, __ne__ = combined(numpy.equal), combined(numpy.not_equal)
    __and__, __or__ = logical(numpy.logical_and, False), logical(numpy.logical_or, True)
    __neg__, __invert__ = combined(numpy.negative), combined(numpy.logical_not)
    __hash__ = None

    def __pow__(self, exponent):
        assert exponent == 2
        return self * self


class Numpy:
    """Computes with `Computed`."""

    abs, floor, sqrt = (staticmethod(combined(f)) for f in (numpy.abs, numpy.floor, numpy.sqrt))
    square = staticmethod(combined(numpy.square))
    max, min = staticmethod(combined(larger)), staticmethod(combined(smaller))
    where = staticmethod(chosen)

    @staticmethod
    def number(value):
        return Computed(numpy.float64(value), is_constant=True)

    @staticmethod
    def value(value):
        return value


def definition_of(node):
    @updraft.rule
    def r(param, grad, state, lr=0.1):
        names = {"param": param, "grad": grad, "lr": lr, "m": state.setdefault("m", 0.75)}
        value = build(node, names, Traced)
        state["m"] = param
        return value

    return r


VALUES = numpy.array([0.0, -0.0, 1.5, -2.25, 0.3, 3.0, 100.0, -7.7])


@hypothesis.given(EXPRESSIONS, st.sampled_from(["float32", "float64"]))
@hypothesis.settings(max_examples=80, deadline=None)
def test_traced_is_computed(node, dtype):
    definition = definition_of(node)
    weights, grad = VALUES.astype(dtype), VALUES[::-1].astype(dtype).copy()
    Computed.dtype = weights.dtype
    names = {
        "param": Computed(weights.copy(), True),
        "grad": Computed(grad, True),
        "lr": Computed(numpy.float64(0.1)),
        "m": Computed(numpy.full_like(weights, 0.75), True),
    }
    with numpy.errstate(all="ignore"):
        expected = build(node, names, Numpy)
        expected = (expected if isinstance(expected, Computed) else Computed(expected)).values
        expected = numpy.broadcast_to(expected.astype(dtype), weights.shape)
    optimizer = updraft.ArrayOptimizer(definition, [weights])
    optimizer.step([grad])
    assert (optimizer.state(0)["m"] == names["param"].values).all()
    numpy.testing.assert_array_equal(weights, expected, err_msg=definition.to_upd())
    numbers = ~numpy.isnan(expected)
    assert (numpy.signbit(weights) == numpy.signbit(expected))[numbers].all(), definition.to_upd()


@hypothesis.given(EXPRESSIONS)
@hypothesis.settings(max_examples=80, deadline=None)
def test_the_text_gives_the_same_code(node):
    definition = definition_of(node)
    text = definition.to_upd()
    again = updraft.compile(text)
    assert again.emit("updraft") == definition.ir("updraft")
    assert updraft._updraft.format(text.encode(), "r.upd").decode() == text + "\n"
