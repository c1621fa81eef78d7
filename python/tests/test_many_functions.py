"""A rule with many elementary functions calls them, with the same bits as inlined ones."""

import numpy as np
import pytest

import updraft

FUNCTIONS = ["exp(grad * {0})", "log(grad + {0})", "tanh(grad * {0})", "pow(grad + {0}, 0.3)"]
COUNT = 40


def expression(number):
    return FUNCTIONS[number % 4].format(0.25 + number)


def step(rule, values, **hypers):
    weights = np.zeros_like(values)
    updraft.ArrayOptimizer(rule, [weights], **hypers).step([values])
    return weights


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_bits_are_those_of_one_function(dtype):
    numpy_dtype = {"f32": np.float32, "f64": np.float64}[dtype]
    storage = {"param": dtype, "grad": dtype}
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1.0]
    values = np.concatenate([special, np.random.default_rng(1).normal(size=1000) * 8])
    values = values.astype(numpy_dtype)
    names = "".join(f"let a{i} = {expression(i)} " for i in range(COUNT))
    # A conditional expression nests, so half of them at a time.
    for start in range(0, COUNT, COUNT // 2):
        part = "".join(f"if lr == {i} then a{i} else " for i in range(start, start + COUNT // 2))
        others = " + ".join(f"0 * a{i}" for i in range(COUNT))
        update = f"update(param, grad) {{ {names} next param = {part}({others}) }}"
        many = updraft.compile(f"rule Many(lr = 0) {{ {update} }}", storage=storage)
        assert "updraft.exp.v" in many.emit("llvm")
        for i in range(start, start + COUNT // 2):
            one = updraft.compile(
                f"rule One(lr = 0) {{ update(param, grad) {{ next param = {expression(i)} }} }}",
                storage=storage,
            )
            assert "lang.exp" not in one.emit("llvm")
            assert step(many, values, lr=i).tobytes() == step(one, values).tobytes(), expression(i)
