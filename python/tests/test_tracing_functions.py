"""The functions of `updraft.lang` match those of the language."""

import inspect
import typing

import numpy
import pytest

import updraft
from updraft import _updraft, lang
from updraft.tracing import names

from .conftest import RULES

# Functions that `newton_schulz` and its coefficients are made of, and those of shipped rules.
OF_LISTS = {
    "adamw_ratio",
    "are_products",
    "cans",
    "converging_coefficients",
    "deepseek_v4",
    "height",
    "is_newton_schulz_set",
    "muon_ahead",
    "muon_buffer",
    "muon_coefficients",
    "muon_ratio",
    "newton_schulz_aol",
    "newton_schulz_cubic",
    "newton_schulz_factor",
    "newton_schulz_quintic",
    "newton_schulz_simple",
    "no_products_have_this_name",
    "no_set_has_this_name",
    "orthogonal_factor",
    "polar_express",
    "polar_express_8",
    "rounded_newton_schulz",
    "rounded_product",
    "spectral_ratio",
    "square_newton_schulz",
    "wide_rounded_newton_schulz",
    "width",
}


def _definite(x):
    """A positive definite matrix of rows x rows."""
    return x @ x.T + lang.identity(x)


def _of_chosen_rows(x):
    places = lang.largest(lang.row_sum(x), 0.5)
    return lang.gather_rows(x, places), places


def _of_chosen_columns(x):
    places = lang.largest(lang.column_sum(x), 0.5)
    return lang.gather_columns(x, places), places


# Functions with results of other shapes, and with other arguments, in products of the parameter's
# shape.
PRODUCTS = {
    "almost_orthogonal": lambda x: lang.almost_orthogonal(x, 1e-7),
    "newton_schulz": lambda x: lang.newton_schulz(x / 8, [(1.5, -0.5, 0), (2, -1.5, 0.5)]),
    "gram_newton_schulz": lambda x: lang.gram_newton_schulz(x / 8, [(1.5, -0.5, 0)]),
    "newton_schulz_coefficients": lambda x: lang.newton_schulz(
        x / 8, lang.newton_schulz_coefficients("cans", 3)
    ),
    "newton_schulz_steps": lambda x: x * lang.newton_schulz_steps("cans"),
    "gram": lambda x: lang.gram(x) @ x,
    "identity": lambda x: (x @ x.T + lang.identity(x)) @ x,
    "cholesky": lambda x: lang.cholesky(_definite(x)) @ x,
    "diagonal": lambda x: lang.diagonal(x @ x.T) * x,
    "eigenvalues": lambda x: lang.eigenvalues(x @ x.T) * x,
    "eigenvectors": lambda x: lang.eigenvectors(x @ x.T) @ x,
    "qr": lambda x: lang.qr(x @ x.T) @ x,
    "scale_columns": lambda x: lang.scale_columns(x, lang.column_sum(x)),
    "solve_lower": lambda x: lang.solve_lower(_definite(x), x),
    "solve_upper": lambda x: lang.solve_upper(_definite(x), x),
    "largest": lambda x: lang.largest(lang.row_sum(x), 0.5) * x,
    "gather_columns": lambda x: _of_chosen_columns(x)[0] @ _of_chosen_columns(x)[0].T @ x,
    "gather_rows": lambda x: x @ _of_chosen_rows(x)[0].T @ _of_chosen_rows(x)[0],
    "scatter_columns": lambda x: lang.scatter_columns(*_of_chosen_columns(x)),
    "scatter_rows": lambda x: lang.scatter_rows(*_of_chosen_rows(x)),
    "sort_columns": lambda x: lang.sort_columns(x, lang.column_sum(x)),
    "sort_rows": lambda x: lang.sort_rows(x, lang.row_sum(x)),
    "leading_eigenvectors": lambda x: lang.leading_eigenvectors(x @ x.T) @ x,
    "inverse_fourth_root": lambda x: lang.inverse_fourth_root(x @ x.T, 1e-3) @ x,
    "coupled_newton_root": lambda x: lang.coupled_newton_root(x @ x.T, 1e-3, 5) @ x,
    "bf16_newton_schulz": lambda x: lang.bf16_newton_schulz(x / 8, [(1.5, -0.5, 0)]),
    "f16_newton_schulz": lambda x: lang.f16_newton_schulz(x / 8, [(1.5, -0.5, 0)]),
    "f16_product": lambda x: lang.f16_product(x, x.T) @ x,
    "bf16_product": lambda x: lang.bf16_product(x, x.T) @ x,
    "symmetric_product": lambda x: lang.symmetric_product(x, x.T) @ x,
    "trace": lambda x: lang.trace(x @ x.T) * x,
    "transpose": lambda x: lang.transpose(x).T,
}
# Functions that control a rule instead of computing a value.
OTHERS = {"where", "require", "skip_when", "hold_when", "probe"}
OURS = {
    name: function
    for name, function in vars(lang).items()
    if inspect.isfunction(function) and not name.startswith("_") and name not in OTHERS
    if function.__module__ == lang.__name__
}


# Functions whose result only `probe` takes.
HISTOGRAMS = {"histogram", "magnitudes", "gradient_sizes", "update_sizes", "parameter_sizes"}


def arities(function):
    parameters = inspect.signature(function).parameters.values()
    required = sum(parameter.default is parameter.empty for parameter in parameters)
    return range(required, len(parameters) + 1)


def test_every_function_of_the_language_exists():
    ours = [(name, arity) for name, function in OURS.items() for arity in arities(function)]
    known = [function for function in _updraft.functions() if function[0] not in OF_LISTS]
    assert sorted(ours) == sorted(known)
    assert {name for name, _ in _updraft.functions()} >= OF_LISTS


@pytest.mark.parametrize("name", [*OURS, *sorted(OTHERS)])
def test_every_function_is_exported_and_documented(name):
    function = getattr(lang, name)
    assert function.__doc__
    hints = typing.get_type_hints(function)
    assert hints.keys() == {*inspect.signature(function).parameters, "return"}


@pytest.mark.parametrize("name", sorted(HISTOGRAMS))
def test_each_histogram_compiles(name):
    function = OURS[name]

    def f(param, grad):
        new = param - grad
        bounds = {"histogram": [[0, 0.5]]}.get(name, [])
        lang.probe(
            "sizes", function(*[param, new][: max(arities(function)) - len(bounds)], *bounds)
        )
        return new

    definition = updraft.rule(f)
    assert f"{name}(" in definition.to_upd()
    weights = [numpy.full(5, 0.25)]
    optimizer = updraft.ArrayOptimizer(definition, weights)
    optimizer.step([numpy.ones(5)])
    (row,) = optimizer.probe_values()
    assert row.values["sizes"].total == 5


def test_bounds_of_histograms_are_numbers():
    for bounds, shown in (
        ((), r"\(\)"),
        ((1, "2"), r"\(1, '2'\)"),
        (0.5, "0.5"),
        ((True,), r"\(True,\)"),
    ):

        @updraft.rule
        def f(param, grad, given: lang.Static[object] = bounds):
            lang.probe("sizes", lang.histogram(grad, given))
            return param

        with pytest.raises(
            updraft.CompileError, match=f"the bounds of `histogram` are {shown}; give"
        ):
            f.to_upd()


@pytest.mark.parametrize("name", [name for name in OURS if name not in HISTOGRAMS])
def test_each_compiles(name):
    function = OURS[name]

    def f(param, grad, matrix):
        arguments = [param, grad * grad + 0.5, grad, 0.5][: max(arities(function))]
        value = PRODUCTS[name](param) if name in PRODUCTS else function(*arguments)
        if value.is_bool:
            value = lang.where(value, 1, 0)
        return param - lang.where(matrix, value, 0)

    definition = updraft.rule(f)
    assert f"{name}(" in definition.to_upd()
    weights = [numpy.full((3, 4), 0.25), numpy.full(5, 0.25)]
    optimizer = updraft.ArrayOptimizer(definition, weights)
    optimizer.step([numpy.ones_like(weight) for weight in weights])
    assert numpy.isfinite(weights[0]).all()
    assert (weights[1] == 0.25).all()


def test_products_are_those_of_the_language():
    @updraft.rule
    def turned(param, grad, matrix, lr=0.1):
        wide = lang.rows(grad) <= lang.columns(grad)
        g = lang.where(wide, (grad @ grad.T) @ grad, grad @ lang.gram(grad.T))
        return param - lr * lang.where(matrix, g, grad)

    assert "grad @ transpose(grad) @ grad" in turned.to_upd()
    gradient = numpy.arange(12, dtype="float32").reshape(3, 4) / 8
    for each in gradient, numpy.ascontiguousarray(gradient.T):
        weights = numpy.zeros_like(each)
        updraft.ArrayOptimizer(turned, [weights]).step([each])
        expected = -0.1 * (each.astype("float64") @ each.T @ each)
        numpy.testing.assert_allclose(weights, expected, rtol=1e-5)


def test_newton_schulz_is_that_of_the_language():
    @updraft.rule
    def orthogonal(param, grad, matrix, coefficients: lang.Static[tuple] = ((1.5, -0.5, 0),) * 8):
        return param - lang.where(matrix, lang.newton_schulz(grad / 4, coefficients), grad)

    text = " ".join(orthogonal.to_upd().split())
    assert "newton_schulz(grad / 4, [(1.5, -0.5, 0), (1.5," in text
    gradient = numpy.random.default_rng(1).normal(size=(3, 5))
    weights = numpy.zeros_like(gradient)
    updraft.ArrayOptimizer(orthogonal, [weights]).step([gradient])
    x = gradient / 4
    for _ in range(8):
        x = 1.5 * x - 0.5 * (x @ x.T) @ x
    numpy.testing.assert_allclose(weights, -x, rtol=1e-12)


def test_a_loop_in_python_is_a_newton_schulz_iteration():
    """Python's lists need no functions of their own: the loop runs while the rule is traced."""

    @updraft.rule
    def by_hand(param, grad, matrix):
        x = grad / 4
        for a, b, c in ((1.5, -0.5, 0.25), (2, -1.5, 0.5)):
            gram = lang.gram(x)
            x = a * x + (b * gram + c * gram @ gram) @ x
        return param - lang.where(matrix, x, grad)

    gradient = numpy.random.default_rng(1).normal(size=(3, 5))
    weights = numpy.zeros_like(gradient)
    updraft.ArrayOptimizer(by_hand, [weights]).step([gradient])
    x = gradient / 4
    for a, b, c in ((1.5, -0.5, 0.25), (2, -1.5, 0.5)):
        g = x @ x.T
        x = a * x + (b * g + c * g @ g) @ x
    numpy.testing.assert_allclose(weights, -x, rtol=1e-12)


LISTS = [
    (
        lambda x: lang.newton_schulz(x, 0.5),
        "the coefficients of `newton_schulz` are `float`; give a list of triples",
    ),
    (
        lambda x: lang.newton_schulz(x, []),
        "the coefficients of `newton_schulz` are an empty list; give a list of triples",
    ),
    (
        lambda x: lang.newton_schulz(x, [(1, 2)]),
        "the coefficients of `newton_schulz` have the element (1, 2); give three numbers",
    ),
    (
        lambda x: lang.newton_schulz(x, [(1, 2, True)]),
        "the coefficients of `newton_schulz` have the element (1, 2, True); give three numbers",
    ),
    (lambda x: lang.newton_schulz_steps(3), "the name of a set is `int`; give text"),
]


@pytest.mark.parametrize(("call", "message"), LISTS)
def test_refused_lists(call, message):
    definition = updraft.rule(lambda param, matrix: lang.where(matrix, call(param), param))
    with pytest.raises(updraft.CompileError) as refusal:
        definition.to_upd()
    assert message in str(refusal.value)


def test_unknown_sets_are_refused():
    definition = updraft.rule(
        lambda param, matrix: lang.where(
            matrix,
            lang.newton_schulz(param, lang.newton_schulz_coefficients("polar_expres", 5)),
            param,
        )
    )
    with pytest.raises(updraft.CompileError, match="unknown set of coefficients `polar_expres`"):
        definition.compile()


def test_bools_are_known_as_such():
    seen = []

    @updraft.rule
    def r(param, grad, first, lr=0.1):
        seen.extend([param > 0, ~first, lang.isnan(grad), (grad > 0) | (lr < 1), first])
        seen.append(lang.where(first, grad > 0, grad < 0))
        return param

    r.to_upd()
    assert all(value.is_bool for value in seen)


def test_static_conditions_choose_at_once():
    assert lang.where(True, 1, "x") == 1
    assert lang.where(numpy.bool_(False), 1, "x") == "x"


def test_transforms_are_those_of_the_library():
    files = {path.stem for path in (RULES / "transforms").glob("*.upd")}
    assert set(_updraft.transforms()) == files
    assert files <= set(dir(updraft.transforms))
    stage = updraft.transforms.clip_by_global_norm(0.5)
    assert stage.text == "clip_by_global_norm(0.5)"
    assert updraft.transforms.accumulate(every=4).text == "accumulate(every = 4)"
    assert updraft.transforms.centralize().text == "centralize"
    assert repr(stage) == "<updraft stage clip_by_global_norm(0.5)>"
    with pytest.raises(AttributeError, match="unknown transform `clip`"):
        _ = updraft.transforms.clip


def test_keywords_are_those_of_the_language():
    page = (RULES.parent / "docs" / "language.md").read_text()
    listed = page.split("Keywords: ")[1].split(".\n")[0].replace("`", "").split()
    assert set(listed) == names.KEYWORDS
    for keyword in names.KEYWORDS:
        with pytest.raises(updraft.CompileError, match=f"found `{keyword}`"):
            _updraft.format(f"fn {keyword}() = 1".encode(), "f.upd")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (-3, "-3"),
        (2.0, "2"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e-8, "1e-08"),
        (1e300, "1e+300"),
        (5e-324, "5e-324"),
        (2**60, "1.152921504606847e+18"),
        (float("inf"), "1 / 0"),
        (float("-inf"), "-1 / 0"),
        (float("nan"), "0 / 0"),
        (numpy.float32(0.1), "0.10000000149011612"),
        (numpy.float64(0.1), "0.1"),
        (numpy.int16(7), "7"),
        (numpy.array(0.5), "0.5"),
    ],
)
def test_numbers_are_exact(number, text):
    @updraft.rule
    def r(param):
        return param * number

    wrapped = f"({text})" if "/" in text else text
    assert f"next param = param * {wrapped}\n" in r.to_upd()
    if not numpy.isnan(number):
        again = updraft.compile(f"rule R(x = {text}) {{ update(param) {{ next param = param }} }}")
        assert again.hypers["x"] == float(number)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("param - (grad - lr)", "param - (grad - lr)"),
        ("param - grad - lr", "param - grad - lr"),
        ("param * (grad + lr)", "param * (grad + lr)"),
        ("param / (grad * lr)", "param / (grad * lr)"),
        ("param / grad * lr", "param / grad * lr"),
        ("-param ** 2", "-param ^ 2"),
        ("(-param) ** 2", "(-param) ^ 2"),
        ("param ** -lr", "param ^ -lr"),
        ("(param ** lr) ** 2", "(param ^ lr) ^ 2"),
        ("param ** lr ** 2", "param ^ lr ^ 2"),
        ("-(-param)", "--param"),
        ("param - -2 * grad", "param - -2 * grad"),
        ("(-2) ** param", "(-2) ^ param"),
        ("-(param + grad)", "-(param + grad)"),
        ("abs(-param)", "abs(-param)"),
        ("2 - param", "2 - param"),
        ("2 / param", "2 / param"),
        ("numpy.float32(0.5) * param", "0.5 * param"),
        ("lang.where(param > 0, grad, lr)", "if param > 0 then grad else lr"),
        ("lang.where(param > 0, grad, lr) + 1", "(if param > 0 then grad else lr) + 1"),
        (
            "lang.where((param > 0) & ~(grad == 0) | (lr < 1), 1, 2)",
            "if param > 0 && !(grad == 0) || lr < 1 then 1 else 2",
        ),
        (
            "lang.where(param > 0, lang.where(grad > 0, 1, 2), lang.where(lr > 0, 3, 4))",
            "if param > 0 then (if grad > 0 then 1 else 2) else if lr > 0 then 3 else 4",
        ),
        (
            "lang.where((param > 0) == (grad > 0), 1, 2)",
            "if (param > 0) == (grad > 0) then 1 else 2",
        ),
        ("+param", "param"),
        ("numpy.sqrt(param) * numpy.float64(2)", "sqrt(param) * 2"),
        ("numpy.maximum(0.5, abs(param))", "max(0.5, abs(param))"),
        ("numpy.add(1, -param)", "1 + -param"),
        ("numpy.float64(2) ** -param", "2 ^ -param"),
        (
            "lang.where(numpy.logical_not(numpy.isnan(param)) & (lr > 0), 1, 0)",
            "if !isnan(param) && lr > 0 then 1 else 0",
        ),
    ],
)
def test_expressions(expression, text):
    names = {"lang": lang, "numpy": numpy}
    definition = updraft.rule(eval(f"lambda param, grad, lr=0.1: {expression}", names))
    printed = definition.to_upd()
    assert " ".join(printed.split("next param = ")[1].split("}")[0].split()) == text
    definition.compile()
