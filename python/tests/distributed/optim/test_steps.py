"""The distributed optimizer against torch's local ones, on other workers and on the client."""

import unittest

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import attributes, backward, copies, gradients, parameters, set_grad, step_both

import updraft
import updraft.optim
from updraft.distributed.optim import DistributedOptimizer, Options

CONFIGURATIONS = [
    (torch.optim.SGD, {}),
    (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    (torch.optim.Adam, {"amsgrad": True}),
    (torch.optim.AdamW, {"lr": 0.1, "maximize": True}),
    (torch.optim.Adagrad, {"lr_decay": 0.1}),
    (torch.optim.Adadelta, {}),
    (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}),
    (torch.optim.Rprop, {}),
    (torch.optim.Adamax, {}),
    (torch.optim.NAdam, {}),
    (torch.optim.RAdam, {"decoupled_weight_decay": True}),
    (torch.optim.ASGD, {"weight_decay": 0.1}),
]
# torch rounds the last elements of small parameters differently.
NEAR = {"rtol": 1e-5, "atol": 1e-6}
EXACT = {"rtol": 0, "atol": 0}


def step_beside(optimizer, local, rrefs, params, steps, after=lambda: None, within=EXACT):
    """Steps local copies with the workers' gradients too, and compares."""
    for step in range(steps):
        step_both(optimizer, local, rrefs, params, 1 + step)
        after()
    for rref, param in zip(rrefs, params, strict=True):
        torch.testing.assert_close(rref.to_here(), param.detach(), **within)


@on_client
def test_steps_as_local_optimizers_do():
    rrefs = parameters("worker1", (5, 3), (), (17,))
    for kind, options in CONFIGURATIONS:
        compiled = getattr(updraft.optim, kind.__name__)
        for local, within in ((kind, NEAR), (compiled, EXACT)):
            params = copies(rrefs)
            optimizer = DistributedOptimizer(kind, rrefs, **options)
            step_beside(optimizer, local(params, **options), rrefs, params, 4, within=within)


@on_client
def test_arguments_by_order_are_those_of_the_class():
    """Learning rate, momentum and dampening; or betas after the learning rate."""
    for kind, args in ((torch.optim.SGD, (0.1, 0.9, 0.5)), (torch.optim.Adam, (0.1, (0.5, 0.6)))):
        rrefs = parameters("worker1", (5, 3))
        params = copies(rrefs)
        optimizer = DistributedOptimizer(kind, rrefs, *args, weight_decay=0.1)
        local = getattr(updraft.optim, kind.__name__)(params, *args, weight_decay=0.1)
        step_beside(optimizer, local, rrefs, params, 4)


@on_client
def test_replaced_classes_are_logged():
    [rref] = parameters("worker1", (3,))
    logs = unittest.TestCase().assertLogs("updraft.distributed.optim", "INFO")
    with logs as logged:
        DistributedOptimizer(torch.optim.AdamW, [rref])
    [record] = logged.records
    ours = "updraft.optim.torch_classes.AdamW"
    assert record.getMessage() == f"torch.optim.adamw.AdamW is stepped by {ours}"


@on_client
def test_storage_types():
    for dtype in (torch.float64, torch.bfloat16, torch.complex64):
        rrefs = parameters("worker1", (4, 3), dtype=torch.float32)
        rrefs = [rpc.remote("worker1", converted, args=(rref, dtype)) for rref in rrefs]
        params = copies(rrefs)
        optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=0.5)
        with dist_autograd.context() as context:
            backward(context, rrefs, of=loss_of_any)
            for param, grad in zip(params, gradients(context, rrefs), strict=True):
                param.grad = grad
            optimizer.step(context)
        torch.optim.SGD(params, lr=0.5).step()
        for rref, param in zip(rrefs, params, strict=True):
            torch.testing.assert_close(rref.to_here(), param.detach(), **EXACT)


def converted(rref, dtype):
    return torch.nn.Parameter(rref.local_value().detach().to(dtype))


def loss_of_any(rrefs, factor):
    values = [rref.local_value() for rref in rrefs]
    return sum(v.abs().square().sum().float() for v in values) * factor


@on_client
def test_groups_and_schedules():
    rrefs = parameters("worker1", (6,), (2, 2))
    params = copies(rrefs)

    def groups(of):
        return [{"params": [of[0]]}, {"params": [of[1]], "lr": 0.5, "weight_decay": 0.1}]

    optimizer = DistributedOptimizer(torch.optim.AdamW, groups(rrefs), lr=0.1)
    local = updraft.optim.AdamW(groups(params), lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
    schedules = [torch.optim.lr_scheduler.StepLR(each, 2, 0.5) for each in (optimizer, local)]

    def after():
        for schedule in schedules:
            schedule.step()

    step_beside(optimizer, local, rrefs, params, 5, after)
    assert [group["lr"] for group in optimizer.param_groups] == [0.025, 0.125]


@on_client
def test_several_owners_one_of_them_the_client():
    rrefs = [
        *parameters("worker1", (3,)),
        *parameters("worker2", (4,)),
        rpc.RRef(torch.nn.Parameter(torch.ones(5))),
    ]
    params = copies(rrefs)
    optimizer = DistributedOptimizer(torch.optim.AdamW, rrefs)
    local = updraft.optim.AdamW(params)
    names = [remote.owner().name for remote in optimizer.remote_optimizers]
    assert names == ["worker1", "worker2", "client"]
    step_both(optimizer, local, rrefs, params)
    for rref, param in zip(rrefs, params, strict=True):
        torch.testing.assert_close(rref.to_here(), param.detach(), **EXACT)


@on_client
def test_parameters_without_a_gradient_do_not_change():
    rrefs = parameters("worker1", (3,), (4,))
    before = copies(rrefs)
    optimizer = DistributedOptimizer(torch.optim.AdamW, rrefs, lr=0.1)
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[1], torch.full((4,), 7.0)))
    with dist_autograd.context() as context:
        backward(context, rrefs[:1])
        held = gradients(context, rrefs[:1])
        optimizer.step(context)
        assert torch.equal(gradients(context, rrefs[:1])[0], held[0])
    assert not torch.equal(rrefs[0].to_here(), before[0])
    assert torch.equal(rrefs[1].to_here(), before[1])
    # `.grad` is neither read nor written.
    assert rpc.rpc_sync("worker1", attributes, args=(rrefs[0],))[0] is None
    assert torch.equal(
        rpc.rpc_sync("worker1", attributes, args=(rrefs[1],))[0], torch.full((4,), 7.0)
    )


@on_client
def test_versions_are_counted_unless_told_not_to():
    for concurrency, counted in (("checked", 1), ("hogwild", 0)):
        rrefs = parameters("worker1", (3,))
        options = Options(concurrency=concurrency)
        optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, options=options)
        with dist_autograd.context() as context:
            backward(context, rrefs)
            optimizer.step(context)
        assert rpc.rpc_sync("worker1", attributes, args=(rrefs[0],))[1] == counted


@on_client
def test_rules_and_chains():
    @updraft.rule
    def descent(param, grad, lr=0.1):
        return param - lr * grad

    for rule in (descent, "SGD", updraft.chain(updraft.transforms.clip_by_value(bound=9.0), "SGD")):
        rrefs = parameters("worker1", (3,))
        params = copies(rrefs)
        optimizer = DistributedOptimizer(rule, rrefs, lr=0.1)
        step_beside(optimizer, torch.optim.SGD(params, lr=0.1), rrefs, params, 2)
