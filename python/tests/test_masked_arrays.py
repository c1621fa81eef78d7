"""Masked arrays are refused in place of arrays and numbers."""

import numpy
import pytest

import updraft

MASKED = numpy.ma.masked_array([1, 2], mask=[True, False], dtype="float32")


def message(what):
    return (
        f"{what} is a masked array, but masks are not supported; give its `filled(0)`, or its "
        "`data`"
    )


@pytest.fixture
def optimizer(momentum):
    return updraft.ArrayOptimizer(momentum, [numpy.ones(2, "float32")])


@pytest.mark.parametrize(
    "what, use",
    [
        ("parameter 0", lambda each: updraft.ArrayOptimizer(each.rule, [MASKED])),
        ("gradient 0", lambda each: each.step([MASKED])),
        ("gradient 0", lambda each: each.step([updraft.Rows([0, 1], MASKED)])),
        ("gradient 0", lambda each: each.step_rows([0, 1], MASKED)),
        ("state `velocity`", lambda each: each.bind_state(0, "velocity", MASKED)),
        (
            "the indices of gradient 0",
            lambda each: each.step_rows(
                numpy.ma.masked_array([0, 1], mask=[False, True]), numpy.ones(2, "float32")
            ),
        ),
        (
            "hyperparameter `lr`",
            lambda each: updraft.ArrayOptimizer(each.rule, [], lr=numpy.ma.masked),
        ),
        ("hyperparameter `lr`", lambda each: each.groups[0].update(lr=MASKED[:1])),
        (
            "setting `lr`",
            lambda each: updraft.load("SGD").compile(defaults={"lr": numpy.ma.masked}),
        ),
    ],
)
def test_masked_arrays_are_refused(optimizer, what, use):
    with pytest.raises(TypeError) as caught:
        use(optimizer)
    assert str(caught.value) == message(what)
    assert optimizer.step_count(0) == 0 and optimizer.groups[0]["lr"] == 0.1


def test_a_mask_without_masked_elements(optimizer):
    """It may get some later, and would then be refused in the middle of training."""
    with pytest.raises(TypeError):
        optimizer.step([numpy.ma.masked_array([1, 2], dtype="float32")])


def test_the_suggested_alternatives_work(optimizer):
    optimizer.step([MASKED.filled(0)])
    optimizer.step([MASKED.data])
    assert optimizer.step_count(0) == 2


def test_the_check_does_not_import_numpy(run_python):
    program = """
import array, sys, updraft
rule = updraft.compile("rule S(lr = 1) { update(param, grad) { next param = param - grad } }")
memory = array.array("f", [1, 2])
updraft.ArrayOptimizer(rule, [memory], lr=1).step([array.array("f", [1, 1])])
print(list(memory), "numpy.ma" in sys.modules)
"""
    assert run_python(program) == "[0.0, 1.0] False"
