"""Steps while torch traces or transforms operators, or modes intercept them."""

import threading
import warnings

import pytest
import torch
from torch.func import functionalize, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import updraft
from updraft import UnsupportedError, optim
from updraft.optim.listeners import Listening, listening

from .torch_training import (
    DENSE_CASES,
    assert_close,
    assert_same_states,
    parameters,
    set_gradients,
)

SHAPES = [(4, 3), (3, 2)]


class SeenOperators(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.written = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        if operator._schema.is_mutable and args:
            self.written.append(args[0])
        return operator(*args, **(kwargs or {}))


class SeenFunctions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.names.append(getattr(function, "__name__", ""))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "options"), DENSE_CASES)
def test_a_dispatch_mode_sees_what_is_written(name, options):
    theirs, ours = (parameters(shapes=SHAPES) for _ in range(2))
    optimizers = [
        getattr(module, name)(params, **options)
        for module, params in ((torch.optim, theirs), (optim, ours))
    ]
    for step in range(4):
        for params in (theirs, ours):
            set_gradients(params, step)
        optimizers[0].step()
        if step % 2:
            with SeenOperators() as seen:
                optimizers[1].step()
            pointers = [tensor.data_ptr() for tensor in seen.written if hasattr(tensor, "data_ptr")]
            assert {param.data_ptr() for param in ours} <= set(pointers)
        else:
            optimizers[1].step()
    assert_close(theirs, ours, 4)
    assert_same_states(*optimizers)


def test_states_stay_the_same_tensors():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param])
    for step in range(4):
        set_gradients([param], step)
        if step % 2:
            optimizer.step()
        else:
            with SeenOperators():
                optimizer.step()
        if step == 0:
            known = dict(optimizer.state[param])
    for name, value in optimizer.state[param].items():
        assert value is known[name], name
    assert optimizer.state[param]["step"].item() == 4


def test_a_function_mode_sees_operators():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    set_gradients([param], 0)
    with SeenFunctions() as seen:
        optimizer.step()
    assert "copy_" in seen.names


def test_modes_that_tell_nothing_of_operators():
    with torch.device("cpu"):
        assert listening() == Listening.NONE
    torch.set_default_device("cpu")
    try:
        assert listening() == Listening.NONE
    finally:
        torch.set_default_device(None)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        assert listening() == Listening.NONE


def test_a_mode_of_another_thread():
    found = []
    with SeenOperators(), SeenFunctions():
        thread = threading.Thread(target=lambda: found.append(listening()))
        thread.start()
        thread.join()
        assert listening() == Listening.MODES
    assert found == [Listening.NONE] == [listening()]


def test_a_mode_sees_a_search():
    (param,) = parameters(shapes=[(9, 3)])
    params = [torch.nn.Parameter(row) for row in param.detach().clone()]
    optimizer = optim.LBFGS(params, lr=0.1, max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = sum(row.square().sum() for row in params)
        loss.backward()
        return loss

    optimizer.step(closure)
    with SeenOperators() as seen:
        optimizer.step(closure)
    written = {tensor.data_ptr() for tensor in seen.written if hasattr(tensor, "data_ptr")}
    assert {row.data_ptr() for row in params} <= written


def test_clipping():
    theirs, ours = (parameters(shapes=SHAPES) for _ in range(2))
    reference = torch.optim.SGD(theirs, lr=0.1)
    optimizer = optim.with_clipping(optim.SGD(ours, lr=0.1), max_norm=0.5)
    for step in range(3):
        for params in (theirs, ours):
            set_gradients(params, step)
        norm = torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        reference.step()
        if step == 1:
            with SeenOperators():
                optimizer.step()
        else:
            optimizer.step()
        torch.testing.assert_close(optimizer.last_grad_norm, norm)
    assert_close(theirs, ours, 3)


def train(module, name, options, steps=2):
    def function(weights, grad):
        weights = weights.clone()
        optimizer = getattr(module, name)([weights], **options)
        for _ in range(steps):
            weights.grad = grad
            optimizer.step()
        return weights

    return function


# torch's orthogonalization reads a number from the matrix.
TRANSFORMED = [case for case in DENSE_CASES if case[0] != "Muon"]


def examples():
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(2, 4, 3, generator=generator) for _ in range(2)]


def expected(name, options, weights, grad):
    """For each example."""
    stepped = map(train(torch.optim, name, options), weights, grad)
    return torch.stack([*stepped])


@pytest.mark.parametrize("tracing_mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize(("name", "options"), TRANSFORMED)
def test_make_fx(name, options, tracing_mode):
    weights, grad = examples()
    function = train(optim, name, options)
    graph = make_fx(function, tracing_mode=tracing_mode)(weights[0], grad[0])
    found = torch.stack([*map(graph, weights, grad)])
    torch.testing.assert_close(found, expected(name, options, weights, grad))


def test_make_fx_before_autograd():
    weights, grad = examples()
    function = train(optim, "AdamW", {})
    graph = make_fx(function, pre_dispatch=True)(weights[0], grad[0])
    torch.testing.assert_close(
        torch.stack([*map(graph, weights, grad)]), expected("AdamW", {}, weights, grad)
    )


def test_make_fx_of_a_live_optimizer():
    param = torch.zeros(3)
    optimizer = optim.AdamW([param], lr=0.5, weight_decay=0.0)

    def step(grad):
        param.grad = grad
        optimizer.step()
        return param + 0

    step(torch.ones(3))
    graph = make_fx(step)(torch.ones(3))
    assert optimizer.state[param]["step"].item() == 2
    for count in (3, 4):
        torch.testing.assert_close(graph(torch.ones(3)), torch.full((3,), -0.5 * count))
    step(torch.ones(3))
    torch.testing.assert_close(param, torch.full((3,), -2.5))
    assert optimizer.state[param]["step"].item() == 5


@pytest.mark.parametrize(("name", "options"), TRANSFORMED)
def test_functionalize(name, options):
    weights, grad = examples()
    function = functionalize(train(optim, name, options))
    graph = make_fx(function)(weights[0], grad[0])
    wanted = expected(name, options, weights, grad)
    torch.testing.assert_close(torch.stack([*map(function, weights, grad)]), wanted)
    torch.testing.assert_close(torch.stack([*map(graph, weights, grad)]), wanted)
    written = [node for node in graph.graph.nodes if "copy_." in str(node.target)]
    assert not written


@pytest.mark.parametrize(("name", "options"), TRANSFORMED)
def test_vmap(name, options):
    weights, grad = examples()
    found = vmap(train(optim, name, options))(weights, grad)
    torch.testing.assert_close(found, expected(name, options, weights, grad))


def test_vmap_with_a_rule():
    weights, grad = examples()

    def train_by_rule(weights, grad):
        weights = weights.clone()
        frozen = torch.zeros(3)
        optimizer = updraft.optimizer(updraft.load("AdamW"), [weights, frozen])
        weights.grad = grad
        optimizer.step()
        return weights

    found = vmap(train_by_rule)(weights, grad)
    wanted = torch.stack([*map(train_by_rule, weights, grad)])
    torch.testing.assert_close(found, wanted)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::torch.jit.TracerWarning")
def test_jit_trace():
    weights, grad = examples()
    function = train(optim, "SGD", {"momentum": 0.9})
    traced = torch.jit.trace(function, (weights[0], grad[0]), check_trace=False)
    torch.testing.assert_close(
        torch.stack([*map(traced, weights, grad)]),
        expected("SGD", {"momentum": 0.9}, weights, grad),
    )


def test_a_rule_that_no_operators_are_made_of():
    (param,) = parameters(shapes=[(3,)])
    optimizer = updraft.optimizer("AdamW", [param], storage={"exp_avg": "q8_linear"})
    set_gradients([param], 0)
    optimizer.step()
    cannot = (
        "cannot write the rule with torch's operations: torch has no storage of state `exp_avg` "
        "in blocks or codes"
    )
    with warnings.catch_warnings(record=True) as caught, FlopCounterMode(display=False):
        warnings.simplefilter("always")
        optimizer.step()
        optimizer.step()
    (warning,) = caught
    assert str(warning.message) == f"{cannot}, so the active mode does not see the step"
    assert warning.filename == __file__
    before = param.detach().clone()
    with pytest.raises(UnsupportedError) as refused:
        make_fx(lambda grad: optimizer.step())(torch.ones(3))
    assert str(refused.value) == (
        f"{cannot}, so the step cannot be traced or transformed; call `step` outside"
    )
    assert param.detach().equal(before)
    assert optimizer.state[param]["step"].item() == 3
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 4
