"""Parameters on the device `meta`, which have no memory."""

import pytest
import torch

import updraft
from updraft import optim

from .torch_training import DENSE_CASES, assert_same_states

#: Classes whose steps in torch read a number from a parameter, which doesn't have values here.
READING = ["ASGD", "Adafactor"]
FUSED = ["SGD", "Adam", "AdamW", "Adagrad"]


def on_meta(dtype=torch.float32):
    param = torch.nn.Parameter(torch.empty(4, 3, dtype=dtype, device="meta"))
    param.grad = torch.empty_like(param)
    return param


def devices_of(optimizer, param):
    return {name: value.device for name, value in optimizer.state[param].items()}


@pytest.mark.parametrize(
    ("name", "options"), [case for case in DENSE_CASES if case[0] not in READING]
)
def test_states_are_where_torch_makes_them(name, options):
    params = [on_meta() for _ in range(2)]
    optimizers = [
        getattr(module, name)([param], **options)
        for module, param in zip((torch.optim, optim), params, strict=True)
    ]
    for _ in range(2):
        for optimizer in optimizers:
            optimizer.step()
    assert_same_states(*optimizers)
    theirs, ours = map(devices_of, optimizers, params)
    assert theirs == ours


@pytest.mark.parametrize("name", READING)
def test_classes_whose_steps_torch_cannot_run_on_meta(name):
    param = on_meta()
    with pytest.raises(RuntimeError, match="meta tensors"):
        getattr(torch.optim, name)([param]).step()
    optimizer = getattr(optim, name)([param])
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 1


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_fused_steps_are_refused_as_in_torch(name, dtype):
    said = []
    for module in (torch.optim, optim):
        # Adagrad's constructor creates states, and refuses by itself.
        param = torch.nn.Parameter(torch.empty(4, 3, dtype=dtype, device="meta"))
        with pytest.raises(RuntimeError) as refused:
            optimizer = getattr(module, name)([param], lr=0.1, fused=True)
            param.grad = torch.empty_like(param)
            optimizer.step()
        said.append(str(refused.value))
    assert said[0] == said[1]
    assert said[0].startswith("`fused=True` requires all the params to be floating point Tensors")


def test_fused_steps_of_complex_parameters():
    said = []
    for module in (torch.optim, optim):
        param = torch.zeros(3, dtype=torch.complex64)
        param.grad = torch.ones_like(param)
        optimizer = module.AdamW([param], fused=True)
        with pytest.raises(RuntimeError) as refused:
            optimizer.step()
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_fused_is_no_more_than_an_entry_where_the_rule_has_it():
    @updraft.rule
    def decayed(param, grad, lr=0.1, fused=False):
        return param - lr * (param + grad) if fused else param - lr * grad

    param = torch.zeros(3, dtype=torch.complex64)
    param.grad = torch.ones_like(param)
    updraft.optimizer(decayed, [param], fused=True).step()
    torch.testing.assert_close(param, torch.full_like(param, -0.1))


def test_with_parameters_on_the_cpu():
    here, there = torch.nn.Parameter(torch.zeros(3)), on_meta()
    here.grad = torch.ones(3)
    optimizer = optim.AdamW([here, there], lr=0.1, weight_decay=0.0)
    optimizer.step()
    torch.testing.assert_close(here.detach(), torch.full((3,), -0.1))
    assert optimizer.state[there]["exp_avg"].is_meta
    assert not optimizer.state[here]["exp_avg"].is_meta


def test_without_a_gradient():
    param = on_meta()
    param.grad = None
    optimizer = optim.AdamW([param])
    optimizer.step()
    assert not optimizer.state
    param.grad = torch.empty_like(param)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 1


def test_any_rule():
    param = on_meta(torch.bfloat16)
    optimizer = updraft.optimizer("Lion", [param])
    optimizer.step()
    (state,) = optimizer.state.values()
    assert {value.device.type for name, value in state.items() if name != "step"} == {"meta"}
