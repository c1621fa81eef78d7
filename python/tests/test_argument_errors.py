"""Arguments that the extension module refuses: the messages are the package's."""

import copy
import math
import pickle
from unittest import mock

import numpy
import pytest
import torch

import updraft
from updraft import optim

SGD = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"


def ones(*shape):
    return numpy.ones(shape, dtype="float32")


def refusal(kind, use, *arguments, **options):
    with pytest.raises(kind) as caught:
        use(*arguments, **options)
    assert type(caught.value) is kind
    return str(caught.value)


NOT_TEXT = [
    (1, TypeError, "is <class 'int'>; give text"),
    (b"w", TypeError, "is <class 'bytes'>; give text"),
    (None, TypeError, "is <class 'NoneType'>; give text"),
]
NO_TEXT_FOR_C = [
    ("a\0b", "'a\\x00b', has a null character"),
    ("a\udc80", "'a\\udc80', has an unpaired surrogate, which UTF-8 cannot encode"),
]


def assert_names_refused(momentum, name, kind, message):
    """Checks names; `message` precedes them. Returns an optimizer and its hyperparameters."""
    group = {"params": [ones(2)], "names": [name]}
    said = f"the name of a parameter{message}"
    assert refusal(kind, updraft.ArrayOptimizer, momentum, [group]) == said
    optimizer = updraft.ArrayOptimizer(momentum, [ones(2)])
    said = f"the name of a state{message}"
    assert refusal(kind, optimizer.bind_state, 0, name, ones(2)) == said
    said = f"the name of a hyperparameter{message}"
    assert refusal(kind, optimizer.groups[0].__getitem__, name) == said
    assert refusal(kind, momentum.emit, name) == f"the stage{message}"
    return optimizer, said


@pytest.mark.parametrize("name, kind, message", NOT_TEXT)
def test_names_that_are_not_text(momentum, name, kind, message):
    optimizer, said = assert_names_refused(momentum, name, kind, f" {message}")
    assert refusal(kind, optimizer.groups[0].__setitem__, name, 1) == said
    assert refusal(kind, updraft.ArrayOptimizer, momentum, [{"params": [], name: 1}]) == said
    assert name not in optimizer.groups[0]


@pytest.mark.parametrize("name, message", NO_TEXT_FOR_C)
def test_names_that_would_be_cut_off(momentum, name, message):
    kind = updraft.InvalidArgumentError
    optimizer, said = assert_names_refused(momentum, name, kind, f", {message}")
    assert refusal(kind, optimizer.groups[0].update, {name: 1}) == said
    assert refusal(kind, updraft.ArrayOptimizer, momentum, [], **{name: 1}) == said
    assert refusal(kind, updraft.compile, SGD, rule=name) == f"the rule, {message}"
    assert (
        refusal(kind, updraft.compile, SGD, defaults={name: 1})
        == f"the key of `defaults`, {message}"
    )
    assert (
        refusal(kind, updraft.compile, SGD, defaults={"lr": name})
        == f"the value of `lr`, {message}"
    )
    assert refusal(kind, updraft.chain, name, "SGD") == f"the stage of a chain, {message}"
    assert name not in optimizer.groups[0]


@pytest.mark.parametrize("dims", ["x", 1.5, None])
def test_dims_that_are_no_integer(momentum, dims):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(5, 2)])
    assert refusal(TypeError, optimizer.step, [updraft.Rows([1], ones(1, 2), dims)]) == (
        f"`dims` of gradient 0 is {type(dims)}; give an integer"
    )


@pytest.mark.parametrize("dims", [2**40, -(2**31) - 1, 2**70])
def test_dims_that_are_too_large(momentum, dims):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(5, 2)])
    kind = updraft.InvalidArgumentError
    assert refusal(kind, optimizer.step, [updraft.Rows([1], ones(1, 2), dims)]) == (
        f"`dims` of gradient 0 is {dims}; give how many dimensions of the parameter count the rows"
    )


def test_indices_that_require_a_gradient(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(5, 2)])
    indices = torch.tensor([1.0], requires_grad=True)
    message = refusal(updraft.InvalidArgumentError, optimizer.step_rows, indices, ones(1, 2))
    assert message.startswith(
        "cannot convert the indices of gradient 0 to an array: Can't call numpy()"
    )


def test_a_tensor_whose_methods_say_odd_things(momentum):
    class Odd(torch.Tensor):
        def is_neg(self):
            return [0]

    class Similar:
        requires_grad = False
        detach = is_neg = lambda self: self

    optimizer = updraft.ArrayOptimizer(momentum, [ones(2)])
    assert "is a negated view" in refusal(updraft.UnsupportedError, optimizer.step, [Odd()])
    assert refusal(TypeError, optimizer.step, [Similar()]) == (
        f"gradient 0 is {Similar}, which has neither __dlpack__ nor a buffer; pass a numpy "
        "array or a dense tensor with `__dlpack__`"
    )


def test_mocks_of_arrays_are_refused(momentum):
    for kind in (numpy.ndarray, torch.Tensor):
        assert refusal(
            TypeError, updraft.ArrayOptimizer, momentum, [mock.Mock(spec=kind)]
        ).startswith("parameter 0 is <class 'unittest.mock.Mock'> of dtype")


def test_binding_a_state_needs_an_array(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(2)])
    assert refusal(TypeError, optimizer.bind_state, 0, "velocity", None) == (
        "state `velocity` is <class 'NoneType'>, which has neither __dlpack__ nor a buffer; pass a "
        "numpy array or a dense tensor with `__dlpack__`"
    )


@pytest.mark.parametrize("copying", [pickle.dumps, copy.deepcopy])
def test_optimizers_cannot_be_pickled_or_copied(momentum, copying):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(2)])
    for each in (optimizer, optimizer.groups, {"optimizer": optimizer}):
        assert refusal(TypeError, copying, each) == (
            "an optimizer is not pickled or copied, since it steps the arrays that it was made "
            "with; write its states with `save`, and `load` them into an optimizer of the copies"
        )
    assert refusal(TypeError, copying, momentum) == (
        "a compiled rule is not pickled or copied; pickle its definition, such as `updraft.load` "
        "returns, or its text, and compile that"
    )


def test_settings_that_are_no_dict():
    definition = updraft.load("AdamW")
    module = torch.nn.Linear(1, 1)
    for given in (torch.ones(2), [], 0, "lr"):
        for use in (
            definition.compile,
            definition.to_torch,
            lambda defaults: updraft.MetaOptimizer(module, definition, defaults=defaults),
        ):
            assert refusal(TypeError, use, defaults=given) == (
                f"`defaults` is {type(given)}; give a dict, `{{name: value}}`"
            )
        assert refusal(TypeError, definition.to_torch, storage=given) == (
            f"`storage` is {type(given)}; give a dict, `{{name: value}}`"
        )


def test_states_that_are_no_dict():
    step = updraft.load("AdamW").to_torch()
    params, grads = [torch.ones(2)], [torch.ones(2)]
    for name, given in (("params", 3), ("group", None)):
        assert refusal(TypeError, step, params, grads, {name: given}) == (
            f"`{name}` of the state is {type(given)}; give what the step before returned"
        )
    assert refusal(TypeError, step, params, grads, {"params": {0: torch.ones(2)}}) == (
        "the states of parameter `0` are <class 'torch.Tensor'>; give what the step before returned"
    )
    assert refusal(TypeError, step.initial, ones(2)) == (
        "`param` is <class 'numpy.ndarray'>; give a tensor"
    )
    assert refusal(updraft.InvalidArgumentError, step.initial, torch.ones(2, dtype=torch.int8)) == (
        "`param` is torch.int8; give float32, float64, bfloat16, float16"
    )


def test_a_state_of_torchs_that_is_a_number():
    param = torch.nn.Parameter(torch.ones(2))
    param.grad = torch.ones(2)
    optimizer = optim.Adam([param])
    optimizer.step()
    optimizer.state[param]["exp_avg"] = 3
    assert refusal(TypeError, optimizer.step) == (
        "the state `exp_avg` of parameter 0 is <class 'int'>; give a tensor"
    )


ODD = [
    *(None, True, -1, 2**31, 2**63, 2**64, 1.5, math.nan, 1j, "", "a\0b", "\udc80", b"\xff"),
    *([], [1], (1, 2), {1: 2}, {"a\0": 1}, {"lr": "x"}, set(), object(), int, len, ..., range(3)),
    *(ones(2), ones(), numpy.ones(2), numpy.float32(1), numpy.array(["a"]), numpy.ma.masked),
    *(numpy.datetime64("2020"), torch.ones(2), torch.ones(2).to_sparse(), memoryview(b"abcd")),
    torch.ones(2, device="meta"),
]


@pytest.mark.parametrize(
    "value", ODD, ids=[f"{type(value).__name__}{index}" for index, value in enumerate(ODD)]
)
def test_no_message_comes_from_the_binding(momentum, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    definition = updraft.load("SGD")

    def optimizer(**hypers):
        return updraft.ArrayOptimizer(momentum, [ones(2), ones(2, 2)], **hypers)

    def group():
        return optimizer().groups[0]

    def rows(indices=(0,), values=None, dims=1):
        return updraft.Rows(indices, ones(1, 2) if values is None else values, dims)

    calls = [
        lambda: updraft.compile(value),
        lambda: updraft.compile(SGD, filename=value),
        lambda: updraft.compile(SGD, rule=value),
        lambda: updraft.compile(SGD, defaults=value),
        lambda: updraft.compile(SGD, defaults={"lr": value}),
        lambda: updraft.compile(SGD, defaults={value: 1}),
        lambda: updraft.compile(SGD, storage=value),
        lambda: updraft.compile(SGD, storage={"param": value}),
        lambda: updraft.compile(SGD, numerics=value),
        lambda: updraft.compile(SGD, cache_dir=value),
        lambda: updraft.compile(SGD, tensors=value),
        lambda: updraft.compile(SGD, target=value),
        lambda: updraft.compile_file(value),
        lambda: updraft.load(value),
        lambda: updraft.load("SGD", value),
        lambda: updraft.chain(value, "SGD").compile(),
        lambda: updraft.transforms.clip_by_value(value).text,
        lambda: momentum.emit(value),
        lambda: definition(lr=value).compile(),
        lambda: definition.compile(defaults=value),
        lambda: updraft.ArrayOptimizer(value, []),
        lambda: updraft.ArrayOptimizer(momentum, value),
        lambda: updraft.ArrayOptimizer(momentum, [value]),
        lambda: updraft.ArrayOptimizer(momentum, [{"params": value}]),
        lambda: updraft.ArrayOptimizer(momentum, [{"params": [ones(2)], "names": value}]),
        lambda: updraft.ArrayOptimizer(momentum, [{"params": [ones(2)], "names": [value]}]),
        lambda: updraft.ArrayOptimizer(momentum, [{"params": [], value: 1}]),
        lambda: updraft.ArrayOptimizer(definition, [ones(2)], momentum=value),
        lambda: optimizer(lr=value),
        lambda: optimizer().step(value),
        lambda: optimizer().step([value, None]),
        lambda: optimizer().step([None, rows(indices=value)]),
        lambda: optimizer().step([None, rows(values=value)]),
        lambda: optimizer().step([None, rows(dims=value)]),
        lambda: optimizer().step_rows([0], ones(1, 2), value),
        lambda: optimizer().state(value),
        lambda: optimizer().bind_state(value, "velocity", ones(2)),
        lambda: optimizer().bind_state(0, value, ones(2)),
        lambda: optimizer().bind_state(0, "velocity", value),
        lambda: setattr(optimizer(), "seed", value),
        lambda: optimizer().step_count(value),
        lambda: optimizer().set_step_count(value, 1),
        lambda: optimizer().set_step_count(0, value),
        lambda: optimizer().save(value),
        lambda: optimizer().load(value),
        lambda: group()[value],
        lambda: group().update(value),
        lambda: group().update(lr=value),
    ]
    for call in calls:
        try:
            call()
        except (TypeError, ValueError, KeyError, NotImplementedError, OSError) as error:
            said = str(error)
            assert "incompatible function arguments" not in said
            assert "std::" not in said
            assert not isinstance(error, UnicodeError)
