"""Parameters of a group that share memory, which torch steps one after another."""

import contextlib

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils.flop_counter import FlopCounterMode

import updraft
from updraft import optim
from updraft.optim.shared_memory import layers_apart

from .torch_training import assert_close, set_gradients

NAMES = ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW", "ASGD", "Rprop"]


def tied(start):
    """Two parameters with the same memory, one with part of it, and a separate one."""
    memory = torch.linspace(-1, 1, 12, dtype=start).reshape(4, 3)
    return [
        torch.nn.Parameter(memory),
        torch.nn.Parameter(torch.ones(5, dtype=start)),
        torch.nn.Parameter(memory.view(12)),
        torch.nn.Parameter(memory[1:3]),
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_torch(name, dtype):
    theirs, ours = tied(dtype), tied(dtype)
    optimizers = torch.optim, optim
    optimizers = [
        getattr(module, name)(params, lr=0.01)
        for module, params in zip(optimizers, (theirs, ours), strict=True)
    ]
    for step in range(10):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            set_gradients(params, step)
            optimizer.step()
    assert_close(theirs, ours, 20)
    assert ours[0].data_ptr() == ours[2].data_ptr()


def test_tied_modules():
    losses = []
    for module in (torch.optim, optim):
        torch.manual_seed(0)
        encoder, decoder = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
        decoder.weight.data = encoder.weight.data
        optimizer = module.AdamW([*encoder.parameters(), *decoder.parameters()], lr=0.05)
        inputs = torch.randn(8, 4)
        for _ in range(10):
            optimizer.zero_grad()
            loss = (decoder(encoder(inputs)) - inputs).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
        assert decoder.weight.data_ptr() == encoder.weight.data_ptr()
    torch.testing.assert_close(*losses)


def test_parameters_that_become_tied_between_steps():
    first, second = (torch.nn.Parameter(torch.full((3,), value)) for value in (0.0, 5.0))
    optimizer = optim.SGD([first, second], lr=0.5)
    for param in (first, second):
        param.grad = torch.ones(3)
    optimizer.step()
    second.data = first.data
    optimizer.step()
    torch.testing.assert_close(first.detach(), torch.full((3,), -1.5))


def test_layers_keep_the_order():
    memory = torch.zeros(9)
    params = [memory[:4], memory[3:6], memory[5:], memory[7:8], memory[:0], torch.zeros(2)]
    assert layers_apart(params) == [[0, 4, 5], [1], [2], [3]]


def test_tensors_without_an_address():
    memory = torch.zeros(9, device="meta")
    params = [memory[:4], memory[3:6], memory[5:], torch.zeros(9, device="meta")]
    assert layers_apart(params) == [[0, 3], [1], [2]]


def test_transformed_tensors():
    def layers(memory):
        found.append(layers_apart([memory[:2], memory[1:], memory * 1]))
        return memory.sum()

    found = []
    torch.func.vmap(torch.func.grad(layers))(torch.ones(2, 3))
    assert found == [[[0, 2], [1]]]


def test_the_same_tensor_twice():
    param = torch.nn.Parameter(torch.zeros(3))
    param.grad = torch.ones(3)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([param, param], lr=0.1)
    with pytest.raises(ValueError) as refused:
        optimizer.step()
    assert str(refused.value) == ("parameters `0` and `1` overlap in memory; give each tensor once")
    assert not param.detach().any()


def test_a_rule_of_the_whole_group():
    params = tied(torch.float32)
    with pytest.raises(ValueError, match="overlap in memory; give each tensor once"):
        updraft.optimizer(
            updraft.chain(updraft.transforms.clip_by_global_norm(max_norm=1.0), "SGD"), params
        )


#: Pairs of tensors that share the memory of a matrix.
VIEWS = {
    "same": lambda w: (w.view(4, 4), w.view(4, 4)),
    "part": lambda w: (w.view(4, 4), w[1:3]),
    "transposed": lambda w: (w.view(4, 4), w.t()),
    "strided": lambda w: (w[:, ::2], w[:, ::2]),
    "strided_part": lambda w: (w.view(4, 4), w[:, :2]),
    "interleaved": lambda w: (w[:, ::2], w[:, 1::2]),
}


def two_steps(module, name, views, memory, grads, groups=1, context=contextlib.nullcontext, **more):
    """Steps views of some memory, in one or two groups."""
    params = list(views(memory))
    given = [{"params": [param]} for param in params] if groups == 2 else params
    optimizer = getattr(module, name)(given, lr=0.1, **more)
    for number in range(2):
        for param, grad in zip(params, grads, strict=True):
            param.grad = grad * (number + 1)
        with context():
            optimizer.step()
    return memory


def gradients(views, memory):
    set_gradients(params := [view.clone() for view in views(memory)], 1)
    return [param.grad for param in params]


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("how", ["plain", "mode", "differentiable", "make_fx"])
@pytest.mark.parametrize(
    ("name", "more"), [("SGD", {"momentum": 0.9, "weight_decay": 0.1}), ("Adam", {})]
)
def test_every_kind_of_step(views, groups, how, name, more):
    more = more | ({"differentiable": True} if how == "differentiable" else {})
    context = (lambda: FlopCounterMode(display=False)) if how == "mode" else contextlib.nullcontext
    results = []
    for module in (torch.optim, optim):
        memory = torch.linspace(-1, 1, 16).reshape(4, 4)

        def stepped(memory, *grads, module=module):
            return two_steps(module, name, views, memory, grads, groups, context, **more)

        grads = gradients(views, memory)
        if how == "make_fx":
            with torch.no_grad():
                stepped = make_fx(stepped)(torch.ones(4, 4), *map(torch.ones_like, grads))
        results.append(stepped(memory, *grads))
    assert_close(results[:1], results[1:], 20)


@pytest.mark.parametrize("groups", [1, 2])
def test_the_graph_has_every_step(groups):
    found = []
    for module in (torch.optim, optim):
        start = torch.linspace(-1, 1, 16).reshape(4, 4).requires_grad_()
        grads = [grad.requires_grad_() for grad in gradients(VIEWS["same"], start.detach())]
        # torch detaches the first momentum.
        more = {"differentiable": True, "weight_decay": 0.1}
        two_steps(module, "SGD", VIEWS["same"], memory := start * 1, grads, groups, **more)
        found.append(torch.autograd.grad(memory.square().sum(), [start, *grads]))
    for theirs, ours in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("differentiable", [False, True])
def test_a_refusal_in_the_second_group(differentiable):
    memory = torch.ones(3)
    params = [memory.view(3), memory.view(3)]
    groups = [{"params": [param]} for param in params]
    optimizer = optim.Adam(groups, lr=0.1, differentiable=differentiable)
    params[0].grad, params[1].grad = torch.ones(3), torch.ones(3).to_sparse()
    with FlopCounterMode(display=False), pytest.raises(RuntimeError, match="sparse"):
        optimizer.step()
    assert torch.equal(memory, torch.ones(3))
    params[1].grad = torch.ones(3)
    optimizer.step()
    assert not torch.equal(memory, torch.ones(3))


def test_subclasses_that_wrap_tensors():
    results = []
    for module in (torch.optim, optim):
        memory, other = torch.linspace(-1, 1, 16).reshape(4, 4), torch.zeros(4, 4)
        tied = TwoTensor(memory, other), TwoTensor(memory.view(4, 4), other.view(4, 4))
        params = [torch.nn.Parameter(param) for param in tied]
        optimizer = module.SGD(params, lr=0.1, weight_decay=0.1)
        for number, param in enumerate(params):
            param.grad = TwoTensor(torch.full((4, 4), number + 1.0), torch.ones(4, 4))
        optimizer.step()
        results.append((memory, other))
    assert_close(*results, 20)


def test_tied_convolutions_in_channels_last():
    def views(memory):
        return memory.view_as(memory), memory.view_as(memory)

    results = []
    for module in (torch.optim, optim):
        memory = torch.linspace(-1, 1, 96).reshape(2, 3, 4, 4)
        memory = memory.contiguous(memory_format=torch.channels_last)
        grads = gradients(views, memory)
        results.append(two_steps(module, "Adafactor", views, memory, grads))
    assert_close(results[:1], results[1:], 20)


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
def test_clipping(views):
    results = []
    for module in (torch.optim, optim):
        memory = torch.linspace(-1, 1, 16).reshape(4, 4)
        params = views(memory)
        optimizer = module.SGD(params, lr=0.1)
        if module is optim:
            optim.with_clipping(optimizer, max_norm=0.5)
        for param, grad in zip(params, gradients(views, memory), strict=True):
            param.grad = grad
        if module is torch.optim:
            norm = torch.nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        results.append(memory)
    torch.testing.assert_close(optimizer.last_grad_norm, norm)
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("views", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("listened", [False, True])
def test_muon(views, groups, listened):
    context = (lambda: FlopCounterMode(display=False)) if listened else contextlib.nullcontext
    results = []
    for module in (torch.optim, optim):
        memory = torch.linspace(-1, 1, 16).reshape(4, 4)
        grads = gradients(views, memory)
        results.append(two_steps(module, "Muon", views, memory, grads, groups, context))
    assert_close(results[:1], results[1:], 20)


def test_lbfgs():
    results = []
    for module in (torch.optim, optim):
        memory = torch.linspace(-1, 1, 16).reshape(4, 4)
        params = [memory, memory.view(16), memory[1:3]]
        params = [*params, *(torch.linspace(0, 1, n) for n in range(2, 8))]
        params = [torch.nn.Parameter(param) for param in params]
        optimizer = module.LBFGS(params, lr=0.1)

        def loss(params=params, optimizer=optimizer):
            optimizer.zero_grad()
            total = sum((param - 0.5).square().sum() for param in params)
            total.backward()
            return total

        for _ in range(2):
            optimizer.step(loss)
        results.append(params)
    assert_close(*results, 20)
