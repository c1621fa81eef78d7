"""Mistakes in rules in Python are reported at their location, with exact texts."""

import importlib.util

import pytest

import updraft


@pytest.fixture
def load(tmp_path):
    """Makes a module from a text."""
    counter = iter(range(100))

    def load(text):
        path = tmp_path / f"rules{next(counter)}.py"
        path.write_text("import updraft\n" + text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def message(load):
    """Compiles the rule `r` of a text; returns the error without the path."""

    def message(text, **statics):
        with pytest.raises(updraft.CompileError) as caught:
            load(text).r.compile(defaults=statics)
        return "\n".join(
            line.partition(".py:")[2] or line for line in str(caught.value).split("\n")
        )

    return message


def test_the_compilers_own_errors(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, lr=0.1):
    step = lr * grad
    return param - step * (grad > 0)
""")
        == """\
6:28: error: `*` takes numbers, found a bool tensor; write `if … then 1 else 0`
    return param - step * (grad > 0)
                           ^~~~~~~~"""
    )


def test_products_of_matrices_that_do_not_fit(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, matrix):
    return param - updraft.lang.where(matrix, grad @ grad, grad)
""")
        == """\
5:47: error: `@` takes as many columns on the left as rows on the right, found a matrix of rows x \
columns on the left and a matrix of rows x columns on the right; transpose one of them
    return param - updraft.lang.where(matrix, grad @ grad, grad)
                                              ^~~~~~~~~~~
5:47: note: the left matrix
    return param - updraft.lang.where(matrix, grad @ grad, grad)
                                              ^~~~~~~~~~~
5:47: note: the right matrix
    return param - updraft.lang.where(matrix, grad @ grad, grad)
                                              ^~~~~~~~~~~"""
    )


def test_errors_in_functions_of_other_files(load, tmp_path, monkeypatch):
    (tmp_path / "shared_by_rules.py").write_text(
        "def blend(old, new, beta):\n    mixed = beta * old + new > 0\n    return -mixed\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = load("""
from shared_by_rules import blend

@updraft.rule
def r(param, grad, beta=0.9):
    return blend(param, grad, beta)
""")
    with pytest.raises(updraft.CompileError) as caught:
        module.r.compile()
    assert (
        str(caught.value)
        == f"""\
{tmp_path}/shared_by_rules.py:3:12: error: `-` takes numbers, found a bool tensor; write \
`if … then 1 else 0`
    return -mixed
           ^~~~~~
{module.__file__}:7:12: note: in this call of `blend`
    return blend(param, grad, beta)
           ^~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_note_shows_python_too(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state, lr=0.1):
    state.setdefault("lr", 0)
    state["lr"] = grad
    return param - lr * grad
""")
        == """\
5:5: error: `lr` is declared twice; choose another name
    state.setdefault("lr", 0)
    ^~~~~~~~~~~~~~~~~~~~~~~~~
4:27: note: `lr` is declared here
def r(param, grad, state, lr=0.1):
                          ^~~~~~"""
    )


def test_an_argument_without_a_default(load):
    with pytest.raises(updraft.CompileError) as caught:
        load("@updraft.rule\ndef r(param, grad, rate):\n    return param - rate * grad\n")
    assert (
        str(caught.value).partition(".py:")[2]
        == """\
3:20: error: unknown input `rate` of a rule; a hyperparameter needs a default, and the inputs are \
`param`, `grad`, `state`, `step`, `first`, `matrix`
def r(param, grad, rate):
                   ^~~~"""
    )


def test_a_default_that_is_no_number(load):
    with pytest.raises(updraft.CompileError) as caught:
        load("@updraft.rule\ndef r(param, grad, betas=(0.9, 0.99)):\n    return param\n")
    assert (
        str(caught.value).partition(".py:")[2]
        == """\
3:20: error: the default of `betas` is `tuple`; a hyperparameter's is a number, a static \
argument's a bool or text, or anything with the annotation `updraft.lang.Static`
def r(param, grad, betas=(0.9, 0.99)):
                   ^~~~~~~~~~~~~~~~~"""
    )


def test_arguments_without_names(load):
    with pytest.raises(updraft.CompileError) as caught:
        load("@updraft.rule\ndef r(param, grad, *rates):\n    return param\n")
    assert (
        str(caught.value).partition(".py:")[2]
        == """\
3:21: error: a rule takes no `*rates`; name its hyperparameters
def r(param, grad, *rates):
                    ^~~~~"""
    )


def test_a_keyword_of_the_language(load):
    with pytest.raises(updraft.CompileError) as caught:
        load("@updraft.rule\ndef r(param, over=1):\n    return param\n")
    assert (
        str(caught.value).partition(".py:")[2]
        == """\
3:14: error: a hyperparameter is called 'over', which is a keyword of the language; choose \
another name
def r(param, over=1):
             ^~~~~~"""
    )


def test_a_rule_that_returns_nothing(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    param - grad
""")
        == """\
4:5: error: the function returns nothing; return the next value of `param`
def r(param, grad):
    ^"""
    )


def test_a_rule_that_returns_a_list(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    return [param, grad]
""")
        == """\
4:5: error: the function returns `list`; return the next value of `param`
def r(param, grad):
    ^"""
    )


def test_a_rule_that_returns_a_dict(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    return {"param": param, "grad": grad}
""")
        == """\
4:5: error: the function returns 'grad'; give `param`
def r(param, grad):
    ^"""
    )


def test_a_truth_value(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, lr=0.1):
    if lr > 0:
        return param - lr * grad
    return param
""")
        == """\
5:8: error: a value of a rule is neither true nor false while it is traced; choose with \
`updraft.lang.where(condition, a, b)`, join conditions with `&` and `|`, or make its inputs \
static arguments
    if lr > 0:
       ^~~~~~"""
    )


def test_a_chained_comparison(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, beta=0.9):
    updraft.lang.require(0 <= beta < 1, "no")
    return param
""")
        == """\
5:26: error: a value of a rule is neither true nor false while it is traced; choose with \
`updraft.lang.where(condition, a, b)`, join conditions with `&` and `|`, or make its inputs \
static arguments
    updraft.lang.require(0 <= beta < 1, "no")
                         ^~~~~~~~~~~~~"""
    )


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("math.sqrt(lr)", "number"),
        ("float(lr)", "number"),
        ("range(lr)", "number"),
        ("round(lr)", "number"),
        ("len(grad)", "length"),
        ("list(grad)", "length"),
    ],
)
def test_values_cannot_become_python_numbers(message, expression, what):
    assert (
        message(f"""
import math
@updraft.rule
def r(param, grad, lr=0.1):
    return param - {expression}
""")
        == f"""\
6:20: error: a value of a rule has no {what} while it is traced; use the functions of \
`updraft.lang`, or make it a static argument
    return param - {expression}
                   ^{"~" * (len(expression) - 1)}"""
    )


def test_an_index(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    return param - grad[0]
""")
        == """\
5:20: error: a value of a rule cannot be indexed; a rule applies to every element
    return param - grad[0]
                   ^~~~~~~"""
    )


@pytest.mark.parametrize(
    ("expression", "operator", "hint"),
    [
        ("param // 2", "//", "write `updraft.lang.floor(a / b)`"),
        ("2 % param", "%", "write `a - b * updraft.lang.floor(a / b)`"),
        ("param ^ 2", "^", "a power is written `**`"),
    ],
)
def test_operators_that_the_language_lacks(message, expression, operator, hint):
    assert (
        message(f"""
@updraft.rule
def r(param, grad):
    return {expression}
""")
        == f"""\
5:12: error: unsupported operator `{operator}` in a rule; {hint}
    return {expression}
           ^{"~" * (len(expression) - 1)}"""
    )


@pytest.mark.parametrize(
    ("expression", "what", "kind"),
    [
        ('param + "1"', "an operand of `+`", "str"),
        ("param ** None", "an operand of `**`", "NoneType"),
        ("numpy.ones(2) * param", "an operand of `*`", "numpy.ndarray"),
        ("(param > 0) & [True]", "an operand of `&`", "list"),
        ("updraft.lang.lerp(param, grad, {})", "an argument of `lerp`", "dict"),
        ("updraft.lang.where(grad > 0, 1, ())", "a branch of `where`", "tuple"),
    ],
)
def test_operands_of_another_type(message, expression, what, kind):
    assert (
        message(f"""
import numpy
@updraft.rule
def r(param, grad):
    return {expression}
""")
        == f"""\
6:12: error: {what} is `{kind}`; give a value of the rule or a number
    return {expression}
           ^{"~" * (len(expression) - 1)}"""
    )


@pytest.mark.parametrize(
    ("expression", "name", "hint"),
    [
        ("numpy.clip(param, 0, 1)", "clip", "use `updraft.lang.clamp`"),
        ("numpy.linalg.norm(param)", "linalg.norm", "use `updraft.lang.norm`"),
        ("numpy.sin(param)", "sin", "use the functions of `updraft.lang`"),
        ("numpy.sign(param)", "sign", "use `updraft.lang.sign`"),
        ("numpy.where(param > 0, 1, 2)", "where", "use `updraft.lang.where`"),
        ("numpy.sum(param)", "sum", "use `updraft.lang.sum`"),
        ("numpy.add.reduce(param)", "add.reduce", "use the functions of `updraft.lang`"),
        ("numpy.stack([param, grad])", "stack", "use the functions of `updraft.lang`"),
    ],
)
def test_functions_of_numpy_that_a_rule_lacks(message, expression, name, hint):
    assert (
        message(f"""
import numpy
@updraft.rule
def r(param, grad):
    return {expression}
""")
        == f"""\
6:12: error: `numpy.{name}` is not supported in a rule; {hint}
    return {expression}
           ^{"~" * (len(expression) - 1)}"""
    )


@pytest.mark.parametrize(
    ("expression", "name", "hint"),
    [
        ("torch.sqrt(grad)", "torch.sqrt", "use `updraft.lang.sqrt`"),
        ("torch.linalg.norm(grad)", "torch.linalg.norm", "use `updraft.lang.norm`"),
        ("torch.norm(grad)", "torch.norm", "use `updraft.lang.norm`"),
        ("torch.clip(grad, 0, 1)", "torch.clip", "use `updraft.lang.clamp`"),
        ("torch.add(grad, 1)", "torch.add", "use the operator `+`"),
        ("torch.nn.functional.relu(grad)", "torch.nn.functional.relu", None),
        ("torch.stack([param, grad])", "torch.stack", None),
        ("grad.sign()", "sign", "use `updraft.lang.sign`"),
        ("param.sub_(grad)", "sub_", "use the operator `-`"),
        ("param.clamp_(0, 1)", "clamp_", "use `updraft.lang.clamp`"),
        ("grad.shape", "shape", None),
    ],
)
def test_functions_and_methods_of_torch(message, expression, name, hint):
    pytest.importorskip("torch")
    hint = hint or "use the functions of `updraft.lang`"
    is_method = not name.startswith("torch.")
    what = f"a value of a rule has no attribute `{name}`" if is_method else f"`{name}` is not"
    marked = expression.partition("(")[0] if is_method else expression
    assert (
        message(f"""
import torch
@updraft.rule
def r(param, grad):
    return {expression}
""")
        == f"""\
6:12: error: {what}{"" if is_method else " supported in a rule"}; {hint}
    return {expression}
           ^{"~" * (len(marked) - 1)}"""
    )


@pytest.mark.parametrize("expression", ["max(lr, 0.1)", "min(0.1, lr)"])
def test_pythons_max_and_min(message, expression):
    assert (
        message(f"""
@updraft.rule
def r(param, grad, lr=0.1):
    return param - {expression} * grad
""")
        == f"""\
5:20: error: Python's `{expression[:3]}` cannot compare values of a rule; use \
`updraft.lang.{expression[:3]}`
    return param - {expression} * grad
                   ^{"~" * (len(expression) - 1)}"""
    )


def test_attributes_that_are_looked_for(load):
    rule = load("""
@updraft.rule
def r(param, grad, lr=0.1):
    assert not hasattr(grad, "item") and not hasattr(grad, "__array__")
    return param - lr * grad
""").r
    assert "param - lr * grad" in rule.to_upd()


def test_a_number_that_is_too_large(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    return param * 10 ** 400
""")
        == """\
5:12: error: an operand of `*` is too large for a number
    return param * 10 ** 400
           ^~~~~~~~~~~~~~~~~"""
    )


def test_an_invalid_condition(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    return updraft.lang.where(1, param, grad)
""")
        == """\
5:12: error: the condition of `where` is `int`; give a bool of the rule
    return updraft.lang.where(1, param, grad)
           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_state_that_is_not_declared(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state["velocity"] = grad
    return param
""")
        == """\
5:5: error: unknown state `velocity`; declare it first with \
`state.setdefault("velocity", initial)`
    state["velocity"] = grad
    ^~~~~~~~~~~~~~~~~"""
    )


def test_a_state_by_a_wrong_name(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("exp_avg", 0)
    return param - state["exp_avgs"]
""")
        == """\
6:20: error: unknown state `exp_avgs`; did you mean `exp_avg`?
    return param - state["exp_avgs"]
                   ^~~~~~~~~~~~~~~~~"""
    )


def test_a_state_that_is_declared_differently(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("m", 0)
    state.setdefault("m", 0)
    return param - state.setdefault("m", 0, storage="bf16")
""")
        == """\
7:20: error: conflicting declarations of the state `m`
    return param - state.setdefault("m", 0, storage="bf16")
                   ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
5:5: note: first declared here
    state.setdefault("m", 0)
    ^~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_state_that_is_deleted(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("m", 0)
    del state["m"]
    return param
""")
        == """\
6:9: error: a state cannot be deleted; it lasts from step to step
    del state["m"]
        ^~~~~~~~~~"""
    )


def test_a_state_that_is_never_assigned(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state, lr=0.1):
    velocity = 0.9 * state.setdefault("velocity", 0) + grad
    return param - lr * velocity
""")
        == """\
5:22: error: the state `velocity` is declared, but never assigned, so it stays at its initial \
value; assign its next value: `state["velocity"] = …`
    velocity = 0.9 * state.setdefault("velocity", 0) + grad
                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_copy_of_the_first_parameter_needs_no_assignment(load):
    rule = load("""
@updraft.rule
def r(param, grad, state, lr=0.1, pull=0.01):
    return param - lr * (grad + pull * (param - state.setdefault("start", param)))
""").r
    assert rule.states == {"start": "f32"}


@pytest.mark.parametrize("statement", ["state.v = grad", "v = 0.9 * state.v + grad"])
def test_states_are_not_attributes(message, statement):
    column, marked = (5, "state.v") if statement.startswith("state") else (15, "state.v")
    assert (
        message(f"""
@updraft.rule
def r(param, grad, state, lr=0.1):
    {statement}
    return param - lr * grad
""")
        == f"""\
5:{column}: error: states are not attributes; write `state["v"]` instead of `state.v`
    {statement}
{" " * (column - 1)}^{"~" * (len(marked) - 1)}"""
    )


def test_names_cannot_carry_text(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("m = 0 } //", 0)
    return param
""")
        == """\
5:5: error: a state is called 'm = 0 } //', which is not a name; a name is at most 100 letters, \
digits and `_`
    state.setdefault("m = 0 } //", 0)
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_state_that_depends_on_a_static_argument(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state, amsgrad=False):
    state.setdefault("m", 0, when=amsgrad)
    return param
""")
        == """\
5:5: error: `when` of the state `m` is `bool`; give `matrix` or `~matrix`; for a static \
argument, declare the state under an `if`
    state.setdefault("m", 0, when=amsgrad)
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


@pytest.mark.parametrize(
    ("expression", "what", "holds"),
    [
        (
            "updraft.lang.row_mean(grad)",
            "`row_mean` needs the rows and columns of a matrix",
            "matrix",
        ),
        ("updraft.lang.rows()", "`rows` needs the rows and columns of a matrix", "matrix"),
        (
            "updraft.lang.where(matrix, 1, rows)",
            "the state `rows` exists for matrices only",
            "matrix",
        ),
        (
            "updraft.lang.where(matrix, flat, 1)",
            "the state `flat` exists for vectors only",
            "~matrix",
        ),
    ],
)
def test_rows_where_there_may_be_none(message, expression, what, holds):
    assert (
        message(f"""
@updraft.rule
def r(param, grad, state, matrix):
    rows = state.setdefault("rows", over="row", when=matrix)
    flat = state.setdefault("flat", when=~matrix)
    state["rows"], state["flat"] = rows * 2, flat * 2
    named = {expression}
    return named * param
""")
        == f"""\
8:13: error: {what}; use it where `{holds}` holds, as in `updraft.lang.where({holds}, a, b)`
    named = {expression}
            ^{"~" * (len(expression) - 1)}"""
    )


def test_values_of_matrices_stay_there(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state, matrix):
    rows = state["rows"] = state.setdefault("rows", over="row", when=matrix)
    updraft.lang.skip_when(updraft.lang.max(rows) > 1)
    return param
""")
        == """\
6:28: error: the state `rows` exists for matrices only; use it where `matrix` holds, as in \
`updraft.lang.where(matrix, a, b)`
    updraft.lang.skip_when(updraft.lang.max(rows) > 1)
                           ^~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_an_initial_value_that_is_too_deep(message):
    text = message("""
@updraft.rule
def r(param, grad, state, lr=0.1):
    for i in range(5000):
        lr = lr + 1
    state.setdefault("m", lr)
    return param
""")
    assert (
        text
        == """\
7:5: error: the initial value of the state `m` has more than 256 operators in a row
    state.setdefault("m", lr)
    ^~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_an_unknown_extent_and_storage_type(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("m", 0, over="rows")
    state["m"] = 0
    return param
""")
        == """\
5:5: error: unknown extent `rows`; a state is over `tensor`, `group`, `row`, `column`, \
`(row, row)` or `(column, column)`, or has the parameter's shape
    state.setdefault("m", 0, over="rows")
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_an_unknown_storage_type(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault("m", storage="f31")
    return param
""")
        == """\
5:5: error: unknown storage type `f31`; the types are `f32`, `f64`, `bf16`, `f16`, \
`bf16_stochastic`, `bf16_corrected`, `q8_linear`, `q8_companded`
    state.setdefault("m", storage="f31")
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_holding_in_a_rule(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, step):
    updraft.lang.hold_when(step < 3)
    return param
""")
        == """\
5:5: error: only a transform that stands before the rule can `hold` what comes after it
    updraft.lang.hold_when(step < 3)
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_requirement_on_what_is_not_known_yet(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, lr=0.1):
    updraft.lang.require((lr > 0) & (updraft.lang.norm(grad) > 0), "no gradient")
    return param
""")
        == """\
5:5: error: a requirement cannot depend on `grad`; it is checked when hyperparameters are set, and \
may depend only on these and on static arguments
    updraft.lang.require((lr > 0) & (updraft.lang.norm(grad) > 0), "no gradient")
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_value_of_another_call(message):
    assert (
        message("""
kept = []

@updraft.rule
def other(param, grad):
    kept.append(grad)
    return param

other.compile()

@updraft.rule
def r(param, grad):
    return param - kept[0]
""")
        == """\
13:5: error: the value `grad` belongs to another call; a rule uses its own arguments
def r(param, grad):
    ^"""
    )


def test_a_requirement_on_a_static_argument(message):
    text = """
@updraft.rule
def r(param, grad, kind="plain", lr=0.1):
    updraft.lang.require(kind in ("plain", "signed"), "Invalid {{kind}}: {kind}")
    updraft.lang.require(lr >= 0, f"Invalid learning rate: {lr} for {{kind}}")
    return param - lr * grad
"""
    assert (
        message(text, kind="{}")
        == """\
5:5: error: Invalid {kind}: {}
    updraft.lang.require(kind in ("plain", "signed"), "Invalid {{kind}}: {kind}")
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )
    assert (
        message(text, lr=-1)
        == """\
6:26: error: Invalid learning rate: -1.0 for plain
    updraft.lang.require(lr >= 0, f"Invalid learning rate: {lr} for {{kind}}")
                         ^~~~~~~"""
    )


def test_a_requirement_without_text(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, lr=0.1):
    updraft.lang.require(lr >= 0, lr)
    return param
""")
        == """\
5:5: error: the message of `require` is `updraft.tracing.values.Value`; give text
    updraft.lang.require(lr >= 0, lr)
    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_outside_of_a_rule():
    with pytest.raises(updraft.CompileError, match="`random` is part of a rule; call it in a func"):
        updraft.lang.random()


def test_a_text_that_is_too_long(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
    for i in range(20000):
        param = param + grad * i
    return param
""")
        == """\
4:5: error: the traced rule has more than 65536 bytes of text
def r(param, grad):
    ^"""
    )


def test_an_exception_of_the_function_passes_through(load):
    module = load("""
@updraft.rule
def r(param, grad):
    return {}["missing"]
""")
    with pytest.raises(KeyError) as caught:
        module.r.compile()
    assert type(caught.value) is KeyError


def test_unicode_and_tabs(message):
    assert (
        message("""
@updraft.rule
def r(param, grad):
\tépsilon = "é" and param > grad; return épsilon + 1  # é
""")
        == """\
5:43: error: `+` takes numbers, found a bool tensor; write `if … then 1 else 0`
\tépsilon = "é" and param > grad; return épsilon + 1  # é
\t                                       ^~~~~~~~~~~"""
    )


def test_a_long_line(message):
    text = message(f"""
@updraft.rule
def r(param, grad):
    return param + {"param + " * 30}-(param > 0){" + param" * 40}
""")
    place, line, caret = text.split("\n")
    assert place.startswith("5:")
    assert len(line) == 240
    assert line[caret.index("^") :].startswith("param > 0)")


def test_states_are_not_read_as_a_dict_is(message):
    """The location is in the rule, not in the mapping's methods."""
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    return param - state.get("m", 0) * grad
""")
        == """\
5:20: error: unknown state `m`; declare it first with `state.setdefault("m", initial)`
    return param - state.get("m", 0) * grad
                   ^~~~~~~~~~~~~~~~~"""
    )


def test_a_default_that_is_too_large(load):
    with pytest.raises(updraft.CompileError, match="the default of `lr` is too large for a number"):
        load("""
@updraft.rule
def r(param, grad, lr=10**400):
    return param - lr * grad
""")
    rule = updraft.rule(lambda param, grad, lr=0.1: param - lr * grad)
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        rule(lr=10**400)
    assert str(caught.value) == "hyperparameter `lr` is too large for a number"


def test_a_state_whose_name_is_a_list(message):
    assert (
        message("""
@updraft.rule
def r(param, grad, state):
    state.setdefault([])
    return param - grad
""")
        == """\
5:5: error: a state is called [], which is not a name; a name is at most 100 letters, digits and `_`
    state.setdefault([])
    ^~~~~~~~~~~~~~~~~~~~"""
    )


def test_calls_of_functions_are_noted(message):
    """From the inside out, without calls around a value that was computed elsewhere."""
    text = """
def inner(x):
    return -(x > 0)

def outer(x):
    return [
        inner(x + 1) for _ in range(1)
    ][0] * 2

@updraft.rule
def r(param, grad):
    return param - outer(grad)
"""
    notes = """\
8:9: note: in this call of `inner`
        inner(x + 1) for _ in range(1)
        ^~~~~~~~~~~~
13:20: note: in this call of `outer`
    return param - outer(grad)
                   ^~~~~~~~~~~"""
    assert (
        message(text)
        == f"""\
4:14: error: `-` takes numbers, found a bool tensor; write `if … then 1 else 0`
    return -(x > 0)
             ^~~~~
{notes}"""
    )
    # Errors while the function is called are reported in the same way.
    assert (
        message(text.replace("-(x > 0)", "x // 2"))
        == f"""\
4:12: error: unsupported operator `//` in a rule; write `updraft.lang.floor(a / b)`
    return x // 2
           ^~~~~~
{notes}"""
    )
    assert (
        message(text.replace("inner(x + 1)", "x // 2"))
        == """\
8:9: error: unsupported operator `//` in a rule; write `updraft.lang.floor(a / b)`
        x // 2 for _ in range(1)
        ^~~~~~
13:20: note: in this call of `outer`
    return param - outer(grad)
                   ^~~~~~~~~~~"""
    )


def test_random_numbers_that_would_be_drawn_twice(message, load):
    refused = (
        "the rule would draw this random number twice; initial values and the rule's functions"
    )
    text = """
@updraft.rule
def r(param, grad, state):
    noise = updraft.lang.random()
    before = state.setdefault("before", {})
    state["before"] = {}
    return param - before * grad
"""
    assert (
        message(text.format("noise", "noise"))
        == f"""\
5:13: error: {refused} can't share one: keep it in a state, and use the state
    noise = updraft.lang.random()
            ^~~~~~~~~~~~~~~~~~~~~"""
    )
    assert refused in message(text.format("noise * noise", "0"))
    assert refused in message(text.format("updraft.lang.abs(noise)", "updraft.lang.exp(noise)"))
    load(text.format("noise", "updraft.lang.random()")).r.compile()
    load(text.format("0", "noise * noise")).r.compile()


def test_endless_recursion_is_the_functions_own(load):
    module = load("""
def again(x):
    return again(x + 1)

@updraft.rule
def r(param, grad):
    return again(param)
""")
    with pytest.raises(RecursionError):
        module.r.compile()
