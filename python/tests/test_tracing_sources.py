"""Functions from all sources can be rules: files, cells, strings, lambdas, decorated ones."""

import doctest
import functools
import linecache
import threading

import numpy
import pytest

import updraft


def run_cell(text, path="/tmp/ipykernel_1/42.py"):
    """Runs a text like a notebook cell, whose lines only `linecache` knows."""
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    names = {"updraft": updraft, "__name__": "__main__"}
    exec(compile(text, path, "exec"), names)
    return names


WRONG = """@updraft.rule
def r(param, grad, lr=0.1):
    return param - lr * (grad > 0)
"""


def test_a_cell_of_a_notebook():
    with pytest.raises(updraft.CompileError) as caught:
        run_cell(WRONG)["r"].compile()
    assert (
        str(caught.value)
        == """\
/tmp/ipykernel_1/42.py:3:26: error: `*` takes numbers, found a bool tensor; write \
`if … then 1 else 0`
    return param - lr * (grad > 0)
                         ^~~~~~~~"""
    )


def test_a_cell_with_magic():
    names = run_cell("\n\n" + WRONG, "<cell>")
    # The stored cell has a line that isn't Python.
    text = "%matplotlib inline\n\n" + WRONG
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")
    with pytest.raises(updraft.CompileError, match=r"^<cell>:5:26: error: `\*` takes numbers"):
        names["r"].compile()


def test_text_without_source():
    names = {"updraft": updraft}
    exec(WRONG, names)
    with pytest.raises(updraft.CompileError) as caught:
        names["r"].compile()
    assert (
        str(caught.value)
        == """\
<r>:3:32: error: `*` takes numbers, found a bool tensor; write `if … then 1 else 0`
    next param = param - lr * (grad > 0)
                               ^~~~~~~~"""
    )
    exec(WRONG.replace("param - lr * (grad > 0)", "param - lr * grad"), names)
    assert names["r"].compile().hypers == {"lr": 0.1}


def test_an_error_of_tracing_without_source():
    names = {"updraft": updraft}
    exec("@updraft.rule\ndef r(param):\n    if param > 0: return 1\n", names)
    with pytest.raises(updraft.CompileError, match=r"^<string>:3: error: a value of a rule is n"):
        names["r"].compile()
    with pytest.raises(updraft.CompileError, match=r"^<string>:1: error: unknown input `x` of a r"):
        exec("@updraft.rule\ndef r(x):\n    return x\n", names)


def test_a_lambda():
    sgd = updraft.rule(lambda param, grad, lr=0.1: param - lr * grad)
    assert sgd.name == "anonymous"
    assert sgd.hypers == {"lr": 0.1}
    named = updraft.rule(name="SGD")(lambda param, grad, lr=0.1: param - lr * grad)
    assert named.compile().name == "SGD"
    wrong = updraft.rule(lambda param, grad, lr=0.1: param - lr * (grad > 0))
    with pytest.raises(updraft.CompileError) as caught:
        wrong.compile()
    line, caret = str(caught.value).split("\n")[1:]
    assert line[caret.index("^") :].startswith("grad > 0")


def test_decorators_below():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return 2 * function(*args, **kwargs)

        return wrapper

    @updraft.rule
    @twice
    def r(param, grad, /, lr=0.1):
        """Doubled."""
        return param - lr * grad

    assert r.hypers == {"lr": 0.1}
    assert "// Doubled.\n" in r.to_upd()
    assert "next param = 2 * (param - lr * grad)" in r.to_upd()


def test_functions_with_arguments_filled_in():
    def scaled(param, grad, factor, lr=0.1):
        return param - lr * factor * grad

    half = updraft.rule(functools.partial(scaled, factor=0.5))
    assert half.name == "scaled"
    assert half.hypers == {"factor": 0.5, "lr": 0.1}


def test_an_object_that_is_called():
    class Scaled:
        def __call__(self, param, grad, lr=0.1):
            return param - lr * grad

    assert updraft.rule(Scaled()).name == "Scaled"
    assert updraft.rule(Scaled()).compile().hypers == {"lr": 0.1}


def test_objects_that_are_not_functions_are_refused():
    with pytest.raises(TypeError, match=r"expected a function, got <class 'str'>"):
        updraft.rule("rule SGD")
    with pytest.raises(TypeError, match="`anonymous` is already a rule or a transform"):
        updraft.transform(updraft.rule(lambda param: param))
    with pytest.raises(updraft.InvalidArgumentError, match="'a b' is not a valid name in the"):
        updraft.rule(name="a b")(lambda param: param)


def test_comprehensions_closures_and_loops():
    weights = (0.5, 0.25)

    @updraft.rule
    def r(param, grad, state):
        history = [state.setdefault(f"g{i}") for i in range(len(weights))]
        for i, value in enumerate([grad, *history[:-1]]):
            state[f"g{i}"] = value
        return param - sum(w * g for w, g in zip(weights, history, strict=True))

    assert r.states == {"g0": "f32", "g1": "f32"}
    values = numpy.zeros(3)
    optimizer = updraft.ArrayOptimizer(r, [values])
    for grad in (1.0, 10.0, 100.0):
        optimizer.step([numpy.full(3, grad)])
    assert (values == -(0.5 * 1 + 0.5 * 10 + 0.25 * 1)).all()


def test_names_of_variables():
    @updraft.rule
    def r(param, grad, state, lr=0.1, width=2):
        state.setdefault("m")
        m = grad + 1
        m *= 2
        let = m * m
        über = let + let * let
        (pair,) = (über - 1,)
        first_ = second = pair * pair
        if (walrus := param * lr) is not None:
            state["m"] = walrus + m
        for index in range(2):
            über = über * index
        return über + second + first_ + state["m"] + width

    assert (
        r.to_upd()
        == """\
rule r(lr = 0.1, width = 2) {
  state m = 0

  update(param, grad) {
    let new_m = grad + 1
    let new_m_2 = new_m * 2
    let let_ = new_m_2 * new_m_2
    let _ber = let_ + let_ * let_
    let pair = _ber - 1
    let first_ = pair * pair
    let walrus = param * lr
    let new_m_3 = walrus + new_m_2
    let _ber_2 = _ber * 0
    let _ber_3 = _ber_2 * 1

    next m     = new_m_3
    next param = _ber_3 + first_ + first_ + new_m_3 + width
  }
}"""
    )
    r.compile()


def test_a_value_that_a_function_returns_has_the_callers_name():
    def blend(old, new, beta):
        return beta * old + (1 - beta) * new

    @updraft.rule
    def r(param, grad, state, beta=0.9):
        velocity = blend(state.setdefault("m"), grad, beta)
        state["m"] = velocity
        return param - velocity

    assert "let velocity = beta * m + (1 - beta) * grad\n" in r.to_upd()


def test_unused_values_are_omitted():
    @updraft.rule
    def r(param, grad, step, lr=0.1):
        unused = updraft.lang.norm(grad) * step
        del unused
        return param - lr * grad

    assert "norm" not in r.to_upd()
    assert "step" not in r.to_upd()


def test_long_chains_get_names():
    @updraft.rule
    def r(param, grad):
        total = grad
        for _ in range(300):
            total = updraft.lang.abs(-(total + 1))
        return param - total * 1.0

    weights = numpy.zeros(2)
    updraft.ArrayOptimizer(r, [weights]).step([numpy.zeros(2)])
    assert (weights == -300).all()


def test_a_deep_expression_gets_names():
    @updraft.rule
    def r(param, grad):
        return functools.reduce(lambda x, _: updraft.lang.sqrt(x * x), range(100), param)

    assert "let sqrt_99 = sqrt(sqrt_98 * sqrt_98)\n" in r.to_upd()
    r.compile()


def test_every_stage_knows_the_lines(tmp_path, monkeypatch):
    names = run_cell(WRONG.replace("(grad > 0)", "grad"), "<located cell>")
    monkeypatch.setenv("UPDRAFT_DUMP_IR", str(tmp_path))
    names["r"].compile(cache_dir="", defaults={"lr": 0.0625})
    (imported,) = tmp_path.glob("r-*/*import.mlir")
    (planned,) = tmp_path.glob("r-*/*schedule.mlir")
    assert 'updraft.hyper "lr" = 6.250000e-02 loc("lr"("<located cell>":2:20))' in (
        imported.read_text()
    )
    for text in (imported.read_text(), planned.read_text()):
        lines = [line.strip() for line in text.splitlines()]
        (product,) = (line for line in lines if "arith.mulf" in line)
        assert product.endswith('loc("<located cell>":3:20)')
        (difference,) = (line for line in lines if "arith.subf" in line)
        assert difference.endswith('loc("<located cell>":3:12)')


def test_docstrings_of_any_text():
    @updraft.rule
    def r(param, grad):
        """Ein Maß \\ "quoted" \x07 { } // nested.

        indented\ttab
        """
        return param - grad

    assert r.to_upd().splitlines()[:4] == [
        '// Ein Maß \\ "quoted"   { } // nested.',
        "//",
        "// indented        tab",
        "rule r() {",
    ]
    r.compile()


def test_threads_trace_apart():
    @updraft.rule
    def r(param, grad, state, flavour="a"):
        m = state.setdefault(f"m_{flavour}") + grad
        state[f"m_{flavour}"] = m
        return param - m

    texts = {}

    def trace(flavour):
        texts[flavour] = r.to_upd(flavour=flavour)

    threads = [threading.Thread(target=trace, args=(flavour,)) for flavour in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for flavour, text in texts.items():
        assert text.count("state ") == 1
        assert f"state m_{flavour} " in text


def test_a_doctest():
    """A rule in an example.

    >>> import updraft
    >>> @updraft.rule
    ... def r(param, grad):
    ...     return param - (grad > 0)
    >>> r.compile()
    Traceback (most recent call last):
    ...
    updraft.errors.CompileError: <doctest a_doctest[1]>:3:21: error: `-` takes numbers, found a \
bool tensor; write `if … then 1 else 0`
        return param - (grad > 0)
                        ^~~~~~~~
    """
    text = test_a_doctest.__doc__.replace("\\\n", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "a_doctest", __file__, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test, clear_globs=False).failed == 0
