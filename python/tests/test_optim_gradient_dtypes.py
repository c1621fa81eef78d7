"""Gradients with another dtype than the parameter, as `Tensor.grad_dtype` allows."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from updraft import optim

from .torch_training import parameters

NAMES = ["SGD", "RMSprop", "Adagrad", "AdamW", "NAdam", "Adafactor", "Muon"]
# torch's steps of other classes don't mix dtypes.
MIXED_IN_TORCH = ["SGD", "RMSprop", "Adagrad"]


def with_gradients(dtype, grad_dtype, count=2):
    params = parameters(dtype, shapes=[(4, 3)] * count)
    generator = torch.Generator().manual_seed(3)
    grads = [torch.randn(4, 3, generator=generator).to(grad_dtype) for _ in params]
    for param, grad in zip(params, grads, strict=True):
        param.grad_dtype = None
        param.grad = grad
    return params


def convert_gradients(params):
    for param in params:
        param.grad = param.grad.to(param.dtype)


def steps(optimizer, count=3):
    for _ in range(count):
        optimizer.step()


pytestmark = pytest.mark.skipif(
    not hasattr(torch.Tensor, "grad_dtype"), reason="this torch has no `Tensor.grad_dtype`"
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("dtype", "grad_dtype"),
    [
        (torch.float32, torch.bfloat16),
        (torch.float32, torch.float64),
        (torch.float64, torch.float32),
        (torch.bfloat16, torch.float32),
    ],
)
def test_gradients_are_converted_to_the_parameters_dtype(name, dtype, grad_dtype):
    converted, given = (with_gradients(dtype, grad_dtype) for _ in range(2))
    convert_gradients(converted)
    for params in (converted, given):
        steps(getattr(optim, name)(params, lr=0.1))
    torch.testing.assert_close(converted, given, rtol=0, atol=0)
    assert all(param.grad.dtype == grad_dtype for param in given)


@pytest.mark.parametrize("name", MIXED_IN_TORCH)
def test_beside_torch(name):
    theirs, ours = (with_gradients(torch.float32, torch.bfloat16) for _ in range(2))
    for module, params in ((torch.optim, theirs), (optim, ours)):
        steps(getattr(module, name)(params, lr=0.1))
    torch.testing.assert_close(theirs, ours)


# Muon's orthogonalization in bf16 amplifies the last bits more than the other steps.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "Muon"])
def test_while_a_mode_listens(name):
    compiled, watched = (with_gradients(torch.float32, torch.bfloat16) for _ in range(2))
    steps(getattr(optim, name)(compiled, lr=0.1))
    with FlopCounterMode(display=False):
        steps(getattr(optim, name)(watched, lr=0.1))
    torch.testing.assert_close(compiled, watched)


def test_real_gradients_of_complex_parameters():
    theirs, ours = (with_gradients(torch.complex64, torch.float32) for _ in range(2))
    for module, params in ((torch.optim, theirs), (optim, ours)):
        steps(module.SGD(params, lr=0.1))
    torch.testing.assert_close(theirs, ours)


def test_parameters_with_gaps():
    given = torch.nn.Parameter(torch.zeros(4, 6)[:, ::2])
    given.grad_dtype = None
    given.grad = torch.ones(4, 3, dtype=torch.bfloat16)
    optim.SGD([given], lr=0.5).step()
    torch.testing.assert_close(given.detach(), torch.full((4, 3), -0.5))


def test_sparse_gradients():
    param = torch.nn.Parameter(torch.zeros(4, 3))
    param.grad_dtype = None
    rows = torch.ones(2, 3, dtype=torch.bfloat16)
    param.grad = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), rows, (4, 3))
    optim.SGD([param], lr=0.5).step()
    torch.testing.assert_close(param.detach()[:, 0], torch.tensor([-0.5, 0, -0.5, 0]))


def test_clipping():
    params = with_gradients(torch.float32, torch.bfloat16)
    norm = torch.stack([param.grad.float().norm() for param in params]).norm()
    optimizer = optim.with_clipping(optim.SGD(params, lr=0.1), max_norm=0.5)
    optimizer.step()
    torch.testing.assert_close(optimizer.last_grad_norm, norm)


def test_complex_gradients_of_real_parameters():
    (param,) = with_gradients(torch.float32, torch.complex64, count=1)
    before = param.detach().clone()
    with pytest.raises((ValueError, RuntimeError)):
        optim.SGD([param], lr=0.1).step()
    assert param.detach().equal(before)
