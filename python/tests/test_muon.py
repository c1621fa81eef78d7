"""`updraft.optim.Muon` against `torch.optim.Muon`: in f32 and f64 the bits are the same."""

import copy
import io

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft import optim

from .torch_training import (
    DUPLICATES,
    OLDER,
    assert_refused_alike,
    assert_same_states,
    copy_in_training,
    groups_of,
    scaled_steps,
    set_gradients,
    step_alike,
)

STEPS = 30
SHAPES = [(40, 29), (13, 64), (1, 5), (7, 7), (7, 7), (13, 64), (7, 7), (16, 2)]
OPTIONS = [
    {},
    {"lr": 0.1, "nesterov": False, "weight_decay": 0.0},
    {"momentum": 0.5, "adjust_lr_fn": "original"},
    {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "eps": 1e-3},
    pytest.param(
        {"adjust_lr_fn": "spectral_unclamped", "ns_coefficients": (3.0, -4.0, 2.0)},
        marks=pytest.mark.skipif(OLDER, reason="this torch does not know the adjustment"),
    ),
    {"lr": torch.tensor(0.05, dtype=torch.float64)},
]


def matrices(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(5)
    params = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    params[-1] = params[-1].t().contiguous().t()
    return [torch.nn.Parameter(param) for param in params]


def assert_same(theirs, ours):
    for their, our in zip(theirs, ours, strict=True):
        assert their.equal(our)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_thirty_steps(options, dtype):
    theirs, ours = matrices(dtype), matrices(dtype)
    reference = torch.optim.Muon(groups_of(theirs), **options)
    optimizer = optim.Muon(groups_of(ours), **options)
    for step in range(STEPS):
        for params in (theirs, ours):
            set_gradients(params, step, absent={0} if step % 7 == 3 else {4} if step < 2 else ())
        reference.step()
        optimizer.step()
        if step == 20:
            for each in (reference, optimizer):
                each.param_groups[0]["adjust_lr_fn"] = "match_rms_adamw"
                each.param_groups[1]["lr"] = 0.3
    assert_same(theirs, ours)
    assert_same_states(reference, optimizer)
    assert repr(optimizer) == repr(reference)


def test_more_matrices_of_a_shape_than_are_stepped_together():
    theirs, ours = (matrices(shapes=[(300, 300)] * 5) for _ in range(2))
    reference, optimizer = torch.optim.Muon(theirs, lr=0.1), optim.Muon(ours, lr=0.1)
    step_alike((reference, optimizer), 3)
    assert_same(theirs, ours)
    assert_same_states(reference, optimizer)


def test_bf16_rounds_once():
    theirs, ours = matrices(torch.bfloat16), matrices(torch.bfloat16)
    reference, optimizer = torch.optim.Muon(theirs, lr=0.01), optim.Muon(ours, lr=0.01)
    step_alike((reference, optimizer), STEPS)
    # The Newton-Schulz iteration is in bf16: 30 steps may differ by this much.
    for their, our in zip(theirs, ours, strict=True):
        assert (their.float() - our.float()).abs().max() <= STEPS * 0.01
    assert_same_states(reference, optimizer)


def test_state_goes_to_torch_and_back():
    theirs, ours = matrices(), matrices()
    reference, optimizer = torch.optim.Muon(theirs, lr=0.1), optim.Muon(ours, lr=0.1)
    for step in range(12):
        if step in (4, 8):
            saved = io.BytesIO()
            torch.save(optimizer.state_dict(), saved)
            saved.seek(0)
            optimizer = (torch.optim if step == 4 else optim).Muon(ours, lr=0.1)
            optimizer.load_state_dict(torch.load(saved, weights_only=True))
        for params in (theirs, ours):
            set_gradients(params, step)
        reference.step()
        optimizer.step()
    assert_same(theirs, ours)
    assert_same_states(reference, optimizer)


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies(duplicate):
    copy_in_training(optim.Muon(matrices(), lr=0.1), duplicate)


def test_gaps():
    def make():
        whole = matrices(shapes=[(6, 20), (9, 8)])
        return [whole[0].detach()[:, ::2].requires_grad_(), *whole]

    theirs, ours = make(), make()
    reference, optimizer = torch.optim.Muon(theirs, lr=0.1), optim.Muon(ours, lr=0.1)
    step_alike((reference, optimizer), 5)
    assert_same(theirs, ours)
    assert_same_states(reference, optimizer)


def test_subclasses():
    def pair(tensor):
        return TwoTensor(tensor.detach().clone(), tensor.detach().clone())

    theirs, ours = ([torch.nn.Parameter(pair(p)) for p in matrices()] for _ in range(2))
    reference = torch.optim.Muon(groups_of(theirs), lr=0.1)
    optimizer = optim.Muon(groups_of(ours), lr=0.1)
    for step in range(STEPS):
        if step == 9:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = optim.Muon(groups_of(ours), lr=0.1)
            optimizer.load_state_dict(saved)
        plain = matrices()
        set_gradients(plain, step, absent={1} if step % 5 == 3 else ())
        for params in (theirs, ours):
            for param, single in zip(params, plain, strict=True):
                param.grad = None if single.grad is None else pair(single.grad)
        grad, version = ours[0].grad, ours[0]._version
        reference.step()
        optimizer.step()
        assert ours[0].grad is grad and ours[0]._version > version
    for their, our in zip(theirs, ours, strict=True):
        assert type(our.data) is TwoTensor
        assert (their.a - our.a).abs().max() <= STEPS * 0.01
        buffers = reference.state[their]["momentum_buffer"], optimizer.state[our]["momentum_buffer"]
        assert type(buffers[1]) is TwoTensor
        torch.testing.assert_close(buffers[1].b, buffers[0].b)


def orthogonalized_in_double(grad, coefficients, steps, eps):
    """torch's iteration, in f64 instead of bf16."""
    a, b, c = coefficients
    x = grad.double() if grad.size(0) <= grad.size(1) else grad.double().T
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if grad.size(0) <= grad.size(1) else x.T


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize(
    "numerics, dtype, bound",
    [
        ("ieee", torch.float64, 1e-11),
        ("ieee", torch.float32, 1e-4),
        ("fast", torch.float64, 1e-11),
    ],
)
def test_compiled_products(monkeypatch, options, numerics, dtype, bound):
    for _, their, our in stepped_beside_double(monkeypatch, options, numerics, dtype):
        assert (their - our).abs().max() <= bound * their.abs().max()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_bf16_products(monkeypatch, options):
    # CPUs that multiply bf16 round operands, and errors are those of the update.
    if "ns_coefficients" in options:
        pytest.skip("these coefficients don't converge, so errors grow")
    for before, their, our in stepped_beside_double(monkeypatch, options, "fast", torch.float32):
        assert (their - our).norm() <= 0.1 * (their - before).norm()


@pytest.mark.parametrize("numerics", ["torch", "ieee", "fast"])
def test_a_group_without_parameters(numerics):
    params = matrices()
    optimizer = optim.Muon([{"params": []}, {"params": params}], numerics=numerics)
    optimizer.add_param_group({"params": []})
    set_gradients(params, 0)
    optimizer.step()
    assert optimizer.state[params[0]].keys() == {"momentum_buffer"}


def stepped_beside_double(monkeypatch, options, numerics, dtype):
    """Returns the parameters before ten steps, and after those of torch in f64 and of ours.

    After five steps, ours loads the checkpoint of torch.
    """
    monkeypatch.setattr(torch.optim._muon, "_zeropower_via_newtonschulz", orthogonalized_in_double)
    theirs, ours = matrices(torch.float64), matrices(dtype)
    before = [their.detach().clone() for their in theirs]
    reference = torch.optim.Muon(theirs, **options)
    optimizer = optim.Muon(ours, numerics=numerics, **options)
    for step in range(10):
        if step == 5:
            optimizer = optim.Muon(ours, numerics=numerics)
            optimizer.load_state_dict(copy.deepcopy(reference.state_dict()))
        for params in (theirs, ours):
            set_gradients(params, step, absent={0} if step == 3 else ())
        reference.step()
        optimizer.step()
    for their, our in zip(theirs, ours, strict=True):
        assert reference.state[their].keys() == optimizer.state[our].keys()
    return zip(before, theirs, ours, strict=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda params: updraft.optimizer(updraft.load("Muon"), params),
        lambda params: optim.Muon(params, numerics="ieee"),
        lambda params: optim.Muon(params, numerics="fast"),
    ],
    ids=["rule", "ieee", "fast"],
)
@pytest.mark.parametrize("value", [1.0, 0.0, float("inf"), float("nan")])
def test_compiled_products_take_batches_of_matrices(make, value):
    """A value in one matrix doesn't reach the others."""
    generator = torch.Generator().manual_seed(5)
    batch = torch.randn(3, 7, 4, generator=generator)
    grads = torch.randn(3, 7, 4, generator=generator)
    grads[1, 2, 3] = value
    whole = torch.nn.Parameter(batch.clone())
    apart = [torch.nn.Parameter(matrix.clone()) for matrix in batch]
    whole.grad = grads.clone()
    for param, grad in zip(apart, grads, strict=True):
        param.grad = grad.clone()
    make([whole]).step()
    make(apart).step()
    torch.testing.assert_close(whole, torch.stack(list(apart)), rtol=0, atol=0, equal_nan=True)
    assert all(not matrix.equal(before) for matrix, before in zip(whole, batch, strict=True))
    assert whole[[0, 2]].isfinite().all()


def test_torchs_products_take_no_batches():
    with pytest.raises(
        ValueError, match=r"found a parameter with size: torch.Size\(\[2, 3, 4\]\)$"
    ):
        optim.Muon(matrices(shapes=[(2, 3, 4), (3, 4)]))


def test_compiled_products_refuse_what_torch_refuses():
    with pytest.raises(ValueError, match=r"^Muon only supports 2D parameters"):
        optim.Muon([torch.nn.Parameter(torch.ones(3))], numerics="ieee")
    with pytest.raises(ValueError, match=r"^Number of steps must be less than 100"):
        optim.Muon(matrices(), numerics="ieee", ns_steps=100)
    with pytest.raises(ValueError, match=r"^Coefficients must be a tuple of exactly 3 values"):
        optim.Muon(matrices(), numerics="ieee", ns_coefficients=(1.0, 2.0))


def test_converted_in_training():
    theirs, ours = matrices(), matrices()
    reference, optimizer = torch.optim.Muon(theirs, lr=0.1), torch.optim.Muon(ours, lr=0.1)
    for step in range(9):
        if step in (3, 6):
            optimizer = optim.convert(optimizer)
            assert type(optimizer) is (optim.Muon if step == 3 else torch.optim.Muon)
        for params in (theirs, ours):
            set_gradients(params, step)
        reference.step()
        optimizer.step()
    assert_same(theirs, ours)


def test_memory_that_is_replaced():
    theirs, ours = matrices(), matrices()
    optimizers = torch.optim.Muon(theirs, lr=0.1), optim.Muon(ours, lr=0.1)
    for step in range(4):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                params[0].data = torch.ones(40, 29)
                params[4].data = torch.ones(7, 7)
            set_gradients(params, step)
            optimizer.step()
    assert_same(theirs, ours)


def test_gradients_are_only_read_and_versions_told():
    (param,) = matrices(shapes=[(5, 3)])
    param.grad = torch.randn(5, 3)
    grad, copied, version = param.grad, param.grad.clone(), param._version
    optim.Muon([param]).step()
    assert param.grad is grad
    assert grad.equal(copied) and grad._version == 0
    assert param._version > version


def test_scaled_gradients():
    ours, plain = matrices(), matrices()
    assert len(list(scaled_steps(optim.Muon(ours, lr=0.1), optim.Muon(plain, lr=0.1)))) == 3
    assert_same(plain, ours)


def sparse(module):
    (table,) = params = matrices(shapes=[(20, 4)])
    optimizer = module.Muon(params)
    table.grad = torch.sparse_coo_tensor([[1, 5]], torch.ones(2, 4), (20, 4))
    optimizer.step()


def of_complex_numbers(module):
    params = matrices(torch.complex64)
    set_gradients(params, 0)
    module.Muon(params).step()


def many_iterations(module):
    params = matrices()
    set_gradients(params, 0)
    module.Muon(params, ns_steps=100).step()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda module: module.Muon(matrices(), lr=-1.0),
        lambda module: module.Muon(matrices(), lr=torch.ones(2)),
        lambda module: module.Muon(matrices(), momentum=-0.5),
        lambda module: module.Muon(matrices(), weight_decay=-1e-5),
        lambda module: module.Muon(matrices(), adjust_lr_fn="none"),
        lambda module: module.Muon([torch.nn.Parameter(torch.ones(3))]),
        lambda module: module.Muon([]),
        sparse,
        of_complex_numbers,
        many_iterations,
    ],
)
def test_refuses_with_the_words_of_torch(attempt):
    assert_refused_alike(attempt)
