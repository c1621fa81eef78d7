"""Steps on dual tensors, in `dual_level` and `torch.func.jvp`: tangents are derivatives."""

import pytest
import torch
from torch.autograd import forward_ad

import updraft
from updraft import UnsupportedError, optim
from updraft.optim.listeners import Listening, listening

from .torch_training import DENSE_CASES, parameters, set_gradients

STEPS = 3


def examples():
    """A parameter, a gradient, and a tangent after each."""
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in range(4)]


def train(optimizer, param, grad):
    """Returns the parameter and the states after steps with a gradient."""
    for _ in range(STEPS):
        param.grad = grad
        optimizer.step()
    states = {name: value for name, value in optimizer.state[param].items() if name != "step"}
    return {"param": param} | states


def train_from(module, name, options, before):
    """Returns a function of a parameter and a gradient that takes `before` other steps first."""
    other = examples()[2]

    def function(param, grad):
        start = torch.zeros_like(other)
        optimizer = getattr(module, name)([start], **options)
        for step in range(before):
            start.grad = other * (1 + step)
            optimizer.step()
        start.copy_(param)
        return {key: value.clone() for key, value in train(optimizer, start, grad).items()}

    return function


def in_dual_level(function, primals, tangents):
    with forward_ad.dual_level():
        results = function(*map(forward_ad.make_dual, primals, tangents))
        return {key: forward_ad.unpack_dual(value).tangent for key, value in results.items()}


def in_jvp(function, primals, tangents):
    return torch.func.jvp(function, primals, tangents)[1]


def differences(function, primals, tangents, size=1e-6):
    """Central differences along the tangents."""
    higher, lower = (
        function(*(p + sign * size * t for p, t in zip(primals, tangents, strict=True)))
        for sign in (1, -1)
    )
    return {key: (value - lower[key]) / (2 * size) for key, value in higher.items()}


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("forward", [in_dual_level, in_jvp])
@pytest.mark.parametrize(("name", "options"), [case for case in DENSE_CASES if case[0] != "Muon"])
def test_tangents_are_finite_differences(name, options, forward, before):
    """torch's own steps drop some tangents, and refuse others: they detach momentum, and write by
    `out=`.
    """
    param, tangent, grad, grad_tangent = examples()
    function = train_from(optim, name, options, before)
    found = forward(function, (param, grad), (tangent, grad_tangent))
    expected = differences(function, (param, grad), (tangent, grad_tangent))
    assert found["param"].any()
    for key, value in expected.items():
        tangent = torch.zeros_like(value) if found[key] is None else found[key]
        torch.testing.assert_close(
            tangent, value, rtol=1e-5, atol=1e-7, msg=lambda m, key=key: f"{key}: {m}"
        )


@pytest.mark.parametrize("before", [0, 2])
@pytest.mark.parametrize("forward", [in_dual_level, in_jvp])
def test_tangents_through_muon(forward, before):
    """torch computes them in bf16."""
    param, tangent, grad, grad_tangent = examples()
    expected, found = (
        forward(
            train_from(module, "Muon", {"lr": 0.1}, before), (param, grad), (tangent, grad_tangent)
        )
        for module in (torch.optim, optim)
    )
    assert expected.keys() == found.keys()
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=0.02, atol=0.02 * value.abs().max())


@pytest.mark.parametrize("name", ["AdamW", "Muon"])
def test_an_optimizer_outlives_levels(name):
    param, tangent, grad, _ = examples()
    optimizer = getattr(optim, name)([param], lr=0.1)
    for _ in range(2):
        with forward_ad.dual_level():
            # The parameter gets its tangent in place.
            param.copy_(forward_ad.make_dual(param.clone(), tangent))
            train(optimizer, param, grad)
            assert forward_ad.unpack_dual(param).tangent.any()
        train(optimizer, param, grad)
    primal = examples()[0]
    other = getattr(optim, name)([primal], lr=0.1)
    for _ in range(4):
        train(other, primal, grad)
    torch.testing.assert_close(param, primal)


def test_a_dual_learning_rate():
    param, _, grad, _ = examples()
    with forward_ad.dual_level():
        param.grad = grad
        lr = forward_ad.make_dual(torch.tensor(0.1), torch.tensor(1.0))
        optim.SGD([param], lr=lr).step()
        torch.testing.assert_close(forward_ad.unpack_dual(param).tangent, -grad)


def test_a_level_listens():
    assert listening() == Listening.NONE
    with forward_ad.dual_level():
        assert listening() == Listening.TRANSFORMS
    assert listening() == Listening.NONE


def test_a_rule_that_no_operators_are_made_of():
    (param,) = parameters(shapes=[(3,)])
    optimizer = updraft.optimizer("AdamW", [param], storage={"exp_avg": "q8_linear"})
    set_gradients([param], 0)
    optimizer.step()
    before = param.detach().clone()
    with forward_ad.dual_level(), pytest.raises(UnsupportedError) as refused:
        optimizer.step()
    assert str(refused.value) == (
        "cannot write the rule with torch's operations: torch has no storage of state `exp_avg` "
        "in blocks or codes, so the step cannot be traced or transformed; call `step` outside"
    )
    assert param.detach().equal(before)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 2


CLIPPED = (
    "`max_grad_norm` makes the step read a norm as a number, which torch cannot trace or "
    "differentiate; set it to None and clip the gradients before the step"
)


def clipped_step(**options):
    def step(grad):
        param = torch.zeros_like(grad)
        optimizer = optim.with_clipping(optim.SGD([param], **options), max_norm=1.0)
        param.grad = grad
        optimizer.step()
        return param

    return step


def in_level(step, grad):
    with forward_ad.dual_level():
        step(forward_ad.make_dual(grad, grad))


@pytest.mark.parametrize(
    ("options", "run"),
    [
        ({}, lambda step, grad: torch.func.jvp(step, (grad,), (grad,))),
        ({}, lambda step, grad: torch.func.vmap(step)(grad)),
        ({}, in_level),
        ({"differentiable": True}, lambda step, grad: step(grad)),
    ],
    ids=["jvp", "vmap", "dual level", "differentiable"],
)
def test_clipping_is_refused(options, run):
    with pytest.raises(UnsupportedError) as refused:
        run(clipped_step(**options), torch.eye(3))
    assert str(refused.value) == CLIPPED
