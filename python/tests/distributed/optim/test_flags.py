"""Flags derived from hyperparameters: if one changes, workers create new optimizers."""

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import (
    backward,
    copies,
    give_up_locks,
    gradients,
    hold_locks,
    parameters,
    step_both,
)

import updraft
import updraft.optim
from updraft.distributed.optim import DistributedOptimizer, Options

MOMENTA = (0.0, 0.9, 0.9, 0.5, 0.0, 0.9)


def step_and_compare(optimizer, local, rrefs, params):
    step_both(optimizer, local, rrefs, params)
    for rref, param in zip(rrefs, params, strict=True):
        assert torch.equal(rref.to_here(), param)


def same_states(optimizer, local):
    found, expected = optimizer.state_dict()["state"], local.state_dict()["state"]
    assert found.keys() == expected.keys(), (found, expected)
    for index, state in expected.items():
        assert found[index].keys() == state.keys(), (found, expected)
        for name, value in state.items():
            assert torch.equal(found[index][name], value), (index, name)


def on_two_workers():
    return [*parameters("worker1", (3,), (4,)), *parameters("worker2", (5,))]


@on_client
def test_momentum_comes_and_goes_as_in_a_local_optimizer():
    rule = updraft.load("SGD")
    for given, make in (
        (torch.optim.SGD, updraft.optim.SGD),
        (rule, lambda params, **options: updraft.optimizer(rule, params, **options)),
    ):
        rrefs = on_two_workers()
        params = copies(rrefs)

        def groups(of):
            return [{"params": of[:1]}, {"params": of[1:], "lr": 0.25}]

        optimizer = DistributedOptimizer(given, groups(rrefs), lr=0.5)
        local = make(groups(params), lr=0.5)
        remotes = set()
        for momentum in MOMENTA:
            for each in (optimizer, local):
                each.param_groups[1]["momentum"] = momentum
            step_and_compare(optimizer, local, rrefs, params)
            same_states(optimizer, local)
            remotes |= {remote.number for remote in optimizer.remote_optimizers}
        # A new optimizer is created whenever momentum becomes zero or nonzero.
        assert len(remotes) == 2 * 4, remotes
        # Unused states are saved too, and can be loaded elsewhere.
        optimizer.param_groups[1]["momentum"] = local.param_groups[1]["momentum"] = 0.0
        step_and_compare(optimizer, local, rrefs, params)
        again = DistributedOptimizer(given, groups(rrefs), lr=0.5)
        again.load_state_dict(optimizer.state_dict())
        same_states(again, local)
        again.param_groups[1]["momentum"] = local.param_groups[1]["momentum"] = 0.9
        step_and_compare(again, local, rrefs, params)
        same_states(again, local)


@on_client
def test_schedules_of_momentum():
    rrefs = on_two_workers()
    params = copies(rrefs)
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=0.5, momentum=0.5)
    local = updraft.optim.SGD(params, lr=0.5, momentum=0.5)
    schedules = [
        torch.optim.lr_scheduler.CyclicLR(each, 0.1, 0.5, 2, base_momentum=0.0, max_momentum=0.5)
        for each in (optimizer, local)
    ]
    for _ in range(5):
        step_and_compare(optimizer, local, rrefs, params)
        for schedule in schedules:
            schedule.step()


@on_client
def test_options_of_a_class():
    rrefs = on_two_workers()
    params = copies(rrefs)
    optimizer = DistributedOptimizer(torch.optim.AdamW, rrefs)
    local = updraft.optim.AdamW(params)
    for maximize in (False, True):
        optimizer.param_groups[0]["maximize"] = local.param_groups[0]["maximize"] = maximize
        step_and_compare(optimizer, local, rrefs, params)
        same_states(optimizer, local)
    # Earlier steps have not created the state of `amsgrad`. The step is refused, and training
    # continues without the flag.
    optimizer.param_groups[0]["amsgrad"] = True
    before = copies(rrefs)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        with pytest.raises(ValueError, match="has no state `max_exp_avg_sq`; the rule `AdamW`"):
            optimizer.step(context)
    for rref, value in zip(rrefs, before, strict=True):
        assert torch.equal(rref.to_here(), value)
    optimizer.param_groups[0]["amsgrad"] = False
    step_and_compare(optimizer, local, rrefs, params)
    same_states(optimizer, local)


@on_client
def test_states_of_vectors_stay_when_a_flag_changes():
    rrefs = on_two_workers()
    params = copies(rrefs)
    groups = [[{"params": of[:1]}, {"params": of[1:]}] for of in (rrefs, params)]
    optimizer = DistributedOptimizer(torch.optim.Adafactor, groups[0], numerics="ieee")
    local = updraft.optim.Adafactor(groups[1], numerics="ieee")
    for maximize in (False, False, True, True, False):
        optimizer.param_groups[0]["maximize"] = local.param_groups[0]["maximize"] = maximize
        step_and_compare(optimizer, local, rrefs, params)
        same_states(optimizer, local)


@on_client
def test_the_client_refuses_values_that_the_rule_refuses():
    rrefs = on_two_workers()
    before = copies(rrefs)
    optimizer = DistributedOptimizer(updraft.load("SGD"), rrefs, lr=0.5)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        for momentum, text in (
            (-1.0, "Invalid momentum value: -1.0"),
            (float("nan"), "hyperparameter `momentum` is NaN"),
        ):
            optimizer.param_groups[0]["momentum"] = momentum
            with pytest.raises(ValueError, match=f"^{text}$"):
                optimizer.step(context)
        for rref, value in zip(rrefs, before, strict=True):
            assert torch.equal(rref.to_here(), value)
        optimizer.param_groups[0]["momentum"] = 0.5
        optimizer.step(context)


@on_client
def test_applied_contexts_stay_applied():
    rrefs = on_two_workers()
    before = copies(rrefs)
    optimizer = DistributedOptimizer("SGD", rrefs, lr=1.0, options=Options(timeout=1.0))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))
        with pytest.raises(RuntimeError, match=r"^it is unknown whether a step ran on"):
            optimizer.step(context)
        rpc.rpc_sync("worker1", give_up_locks)
        # Requests new optimizers, for which the first steps of both workers count.
        optimizer.param_groups[0]["momentum"] = 0.5
        optimizer.step(context)
    for rref, value, grad in zip(rrefs, before, held, strict=True):
        assert torch.equal(rref.to_here(), value - grad)
