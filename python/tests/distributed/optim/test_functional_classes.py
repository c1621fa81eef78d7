"""Functional optimizers in plain Python, registered for a class as in a tutorial."""

import contextlib
import warnings

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import attributes, backward, gradients, parameters, set_grad

import updraft
from updraft.distributed.optim import DistributedOptimizer, Options


class QHM(torch.optim.Optimizer):
    """The class that users name; it doesn't step itself."""


class FunctionalQHM:
    """Like torch's functional optimizers: hyperparameters in `defaults`, states by parameter."""

    def __init__(self, params, lr=0.1, momentum=0.5, nu=0.25):
        if lr < 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        self.defaults = {"lr": lr, "momentum": momentum, "nu": nu}
        self.params = list(params)
        self.state = {}

    def step(self, gradients):
        lr, momentum, nu = (self.defaults[name] for name in ("lr", "momentum", "nu"))
        if momentum > 1:
            raise ValueError(f"Invalid momentum value: {momentum}")
        for param, gradient in zip(self.params, gradients, strict=True):
            if gradient is None:
                continue
            state = self.state.setdefault(param, {"buf": torch.zeros_like(param)})
            state["buf"].mul_(momentum).add_(gradient, alpha=1 - momentum)
            param.add_(state["buf"], alpha=-lr * nu).add_(gradient.mul_(1 - nu), alpha=-lr)


@contextlib.contextmanager
def registered():
    kinds = DistributedOptimizer.functional_optim_map
    kinds[QHM] = FunctionalQHM
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        del kinds[QHM]


def on_two_workers():
    return [*parameters("worker1", (3,), (4,)), *parameters("worker2", (5,))]


@on_client
def test_steps_by_it():
    rrefs = on_two_workers()
    params = [torch.nn.Parameter(rref.to_here().detach().clone()) for rref in rrefs]
    mine = torch.full((3,), 7.0)
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[0], mine))

    def groups(of):
        return [{"params": of[:1]}, {"params": of[1:], "lr": 0.5}]

    with registered():
        optimizer = DistributedOptimizer(QHM, groups(rrefs), nu=0.5)
    assert optimizer.is_functional_optim
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    local = updraft.optimizer("QHM", groups(params), lr=0.1, momentum=0.5, nu=0.5)
    for lr in (0.5, 0.25):
        optimizer.param_groups[1]["lr"] = local.param_groups[1]["lr"] = lr
        with dist_autograd.context() as context:
            backward(context, rrefs)
            held = gradients(context, rrefs)
            for param, grad in zip(params, held, strict=True):
                param.grad = grad
            optimizer.step(context)
            # It changes copies of gradients.
            for grad, after in zip(held, gradients(context, rrefs), strict=True):
                assert torch.equal(grad, after)
        local.step()
        for rref, param in zip(rrefs, params, strict=True):
            torch.testing.assert_close(rref.to_here(), param.detach())
    assert torch.equal(rpc.rpc_sync("worker1", attributes, args=(rrefs[0],))[0], mine)
    # States belong to a parameter, and can be loaded elsewhere.
    saved = optimizer.state_dict()
    assert [*saved["state"]] == [0, 1, 2]
    with registered():
        again = DistributedOptimizer(QHM, groups(rrefs))
    again.load_state_dict(saved)
    loaded = again.state_dict()
    assert loaded["param_groups"] == saved["param_groups"]
    for index, state in saved["state"].items():
        assert torch.equal(loaded["state"][index]["buf"], state["buf"])


@on_client
def test_invalid_options_are_refused():
    rrefs = parameters("worker1", (3,))
    with registered():
        with pytest.raises(ValueError, match=r"^Invalid learning rate: -1$"):
            DistributedOptimizer(QHM, rrefs, lr=-1)
        message = (
            r"^unknown option `rate` in a parameter group; the `defaults` of FunctionalQHM are "
            r"`lr`, `momentum`, `nu`$"
        )
        with pytest.raises(ValueError, match=message):
            DistributedOptimizer(QHM, [{"params": rrefs, "rate": 1}])
        with pytest.raises(TypeError, match=r"^there is no compiled step for .*FunctionalQHM; "):
            DistributedOptimizer(QHM, rrefs, options=Options(strict=True))
        optimizer = DistributedOptimizer(QHM, rrefs)
    optimizer.param_groups[0]["momentum"] = 2.0
    before = rrefs[0].to_here().clone()
    with dist_autograd.context() as context:
        backward(context, rrefs)
        message = r"^a step failed midway, .* `worker1`: ValueError: Invalid momentum value: 2.0$"
        with pytest.raises(RuntimeError, match=message):
            optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), before)


@on_client
def test_a_warning_says_that_it_is_python():
    kinds = DistributedOptimizer.functional_optim_map
    kinds[QHM] = FunctionalQHM
    try:
        with pytest.warns(UserWarning, match="steps of FunctionalQHM run in Python on the workers"):
            DistributedOptimizer(QHM, parameters("worker1", (3,)))
    finally:
        del kinds[QHM]
