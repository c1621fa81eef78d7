"""Errors of distributed optimizers, and the state after errors."""

import warnings
from unittest import mock

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import backward, move, parameters
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft.distributed.optim import DistributedOptimizer, Options, RemoteOptimizer


def refuses(kind, text, function, *args, **kwargs):
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    found = type(caught.value), str(caught.value)
    if found != (kind, text):
        raise AssertionError(f"{found} in place of {(kind, text)}")


def nothing():
    """Returns None, like a function without a `return`."""


def on_no_device():
    return torch.nn.Parameter(torch.empty(2, device="meta"))


@on_client
def test_parameters():
    rrefs = parameters("worker1", (3,))
    sgd = torch.optim.SGD
    refuses(ValueError, ("optimizer got an empty parameter list"), DistributedOptimizer, sgd, [])
    refuses(
        TypeError,
        (
            "parameter 0 is <class 'torch.Tensor'>; give references to remote tensors, "
            "`torch.distributed.rpc.RRef`"
        ),
        DistributedOptimizer,
        sgd,
        [torch.ones(1)],
    )
    refuses(
        ValueError, ("parameters 0 and 1 are the same"), DistributedOptimizer, sgd, [*rrefs, *rrefs]
    )
    for made, text in ((int, "0"), (list, "[]"), (nothing, "None")):
        refuses(
            TypeError,
            "no optimizer was made on `worker1`: expected parameter 0 to refer to a tensor, got "
            f"{text}",
            DistributedOptimizer,
            sgd,
            [rpc.remote("worker1", made)],
        )
    for here in (rpc.RRef(None), rpc.remote("client", nothing)):
        refuses(
            TypeError,
            "no optimizer was made on `client`: expected parameter 1 to refer to a tensor, got "
            "None",
            DistributedOptimizer,
            sgd,
            [*rrefs, here],
        )
    result = rpc.remote("worker1", torch.add, args=(torch.ones(2, requires_grad=True), 1))
    refuses(
        ValueError,
        (
            "no optimizer was made on `worker1`: parameter 1 is not a leaf of autograd: it is the "
            "result of an operation, and gets no gradient; give the tensor that it was made from"
        ),
        DistributedOptimizer,
        sgd,
        [*rrefs, result],
    )
    elsewhere = rpc.remote("worker1", on_no_device)
    refuses(
        NotImplementedError,
        (
            "no optimizer was made on `worker1`: parameter 1 is on meta; the step is compiled for "
            "the CPU"
        ),
        DistributedOptimizer,
        sgd,
        [*rrefs, elsewhere],
    )


@on_client
def test_probes():
    refuses(
        ValueError,
        (
            "DistributedOptimizer takes no `probes`, because those of steps on workers can't be "
            "read; an optimizer in the parameters' own process takes them, and `updraft-worker` "
            "reports those that a rule declares"
        ),
        DistributedOptimizer,
        updraft.optim.AdamW,
        parameters("worker1", (3,)),
        probes=["gradient_norm"],
    )


@on_client
def test_options():
    rrefs = parameters("worker1", (3,))
    refuses(
        ValueError,
        ("Invalid learning rate: -1"),
        DistributedOptimizer,
        torch.optim.SGD,
        rrefs,
        lr=-1,
    )
    # The local class raises this, so the message names no worker.
    with (
        mock.patch.object(RemoteOptimizer, "create", side_effect=AssertionError),
        pytest.raises(TypeError, match=r"SGD.* got an unexpected keyword argument 'beta'$"),
    ):
        DistributedOptimizer(torch.optim.SGD, rrefs, beta=1)
    refuses(
        ValueError,
        ('`concurrency` must be "checked" or "hogwild", got \'free\''),
        Options,
        concurrency="free",
    )
    refuses(ValueError, "`timeout` must be a positive number or None, got 0", Options, timeout=0)


class Clips(updraft.optim.SGD):
    """Clips gradients by the norm of all."""

    max_grad_norm = 1.0


@on_client
def test_clipping():
    refuses(
        updraft.UnsupportedError,
        "Clips clips gradients by `max_grad_norm`, but no worker knows the norm of all gradients; "
        "give a chain with `clip_by_global_norm`, which clips each group by its own norm",
        DistributedOptimizer,
        Clips,
        parameters("worker1", (3,)),
    )


@on_client
def test_options_that_workers_would_ignore():
    rrefs = parameters("worker1", (2, 3))
    before = rrefs[0].to_here().clone()
    in_graph = "`DistributedOptimizer` does not support `differentiable`; use a local optimizer"
    split = (
        "a distributed optimizer can't split parameters into matrices; give groups without "
        "`matrix_blocks` and `matrix_layout`"
    )
    kind = torch.optim.SGD
    refuses(ValueError, in_graph, DistributedOptimizer, kind, rrefs, differentiable=True)
    groups = [{"params": rrefs, "differentiable": True}]
    refuses(ValueError, in_graph, DistributedOptimizer, kind, groups)
    optimizer = DistributedOptimizer(kind, rrefs)
    good = optimizer.state_dict()
    for entry, value, error, text in (
        ("differentiable", True, ValueError, in_graph),
        ("matrix_layout", "transposed", updraft.UnsupportedError, split),
        ("matrix_blocks", 2, updraft.UnsupportedError, split),
    ):
        (group,) = good["param_groups"]
        bad = good | {"param_groups": [group | {entry: value}]}
        refuses(error, text, optimizer.load_state_dict, bad)
        group = optimizer.param_groups[0]
        assert not group.get(entry)
        group[entry] = value
        with dist_autograd.context() as context:
            backward(context, rrefs)
            refuses(error, text, optimizer.step, context)
        group[entry] = None
    assert torch.equal(rrefs[0].to_here(), before)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        optimizer.step(context)
    assert not torch.equal(rrefs[0].to_here(), before)


@on_client
def test_contexts():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    refuses(
        TypeError,
        ("`context_id` is <class 'NoneType'>; give the number of a context"),
        optimizer.step,
        None,
    )
    calls = mock.patch.object(
        RemoteOptimizer, "call", autospec=True, side_effect=RemoteOptimizer.call
    )
    with calls as called:
        refuses(RuntimeError, ("Could not find autograd context with id: 77"), optimizer.step, 77)
        assert not called.called
        with dist_autograd.context() as context:
            backward(context, rrefs)
            optimizer.step(context)
        assert called.call_count == 1


@on_client
def test_a_context_is_applied_once_unless_told_otherwise():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    again = DistributedOptimizer(
        torch.optim.SGD, rrefs, lr=1.0, options=Options(allow_repeated_steps=True)
    )
    with dist_autograd.context() as context:
        backward(context, rrefs)
        optimizer.step(context)
        once = rrefs[0].to_here()
        refuses(
            RuntimeError,
            (
                f"the gradients of context {context} were already applied; step once in each "
                "context, or give `options=Options(allow_repeated_steps=True)`"
            ),
            optimizer.step,
            context,
        )
        assert torch.equal(rrefs[0].to_here(), once)
        # Another optimizer isn't affected.
        again.step(context)
        again.step(context)
    moved = torch.linspace(-1, 1, 3)
    torch.testing.assert_close(rrefs[0].to_here(), once - 2 * moved)


@on_client
def test_a_step_of_nothing_is_warned_of_once():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with dist_autograd.context() as context:
                optimizer.step(context)
    texts = [str(warning.message) for warning in caught]
    assert texts == [
        f"context {context - 1} has no gradient of any parameter of this optimizer; was "
        "`torch.distributed.autograd.backward` called, and the forward recorded by "
        "`updraft.distributed.remote_sync_call`?"
    ], texts


@on_client
def test_nothing_is_stepped_where_one_parameter_cannot_be():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker1", (4,), dtype=torch.float64)]
    before = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        rpc.rpc_sync("worker1", move, args=(rrefs[1],))
        for _ in range(2):
            refuses(
                RuntimeError,
                "nothing was stepped on `worker1`: a parameter has other memory than when the "
                "optimizer was made; make another optimizer after `.data` of a parameter was set",
                optimizer.step,
                context,
            )
            assert torch.equal(rrefs[0].to_here(), before)
        DistributedOptimizer(torch.optim.SGD, rrefs).step(context)
    assert not torch.equal(rrefs[0].to_here(), before)


@on_client
def test_a_step_of_nothing_does_not_count():
    rrefs = parameters("worker1", (3,))
    before = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    with dist_autograd.context() as context:
        with pytest.warns(UserWarning, match="has no gradient of any parameter") as caught:
            optimizer.step(context)
        assert caught[0].filename == __file__
        backward(context, rrefs)
        optimizer.step(context)
    assert not torch.equal(rrefs[0].to_here(), before)
    optimizer.zero_grad()


@on_client
def test_a_group_that_cannot_be_read_steps_nothing():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (4,))]
    before = rrefs[0].to_here().clone()
    groups = [{"params": rrefs[:1]}, {"params": rrefs[1:]}]
    optimizer = DistributedOptimizer(torch.optim.SGD, groups)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        optimizer.param_groups[1]["lr"] = None
        with pytest.raises(TypeError):
            optimizer.step(context)
        assert torch.equal(rrefs[0].to_here(), before)


def behind(rref):
    """The same tensor through another reference."""
    return rref.local_value()


def over_the_memory_of(rref, first, count):
    """A parameter with its own storage over part of another's memory."""
    values = rref.local_value().detach().numpy()[first : first + count]
    return torch.nn.Parameter(torch.from_numpy(values))


@on_client
def test_no_two_parameters_share_memory():
    (other, rref) = parameters("worker1", (2,), (6,))
    same = rpc.remote("worker1", behind, args=(rref,))
    part = rpc.remote("worker1", over_the_memory_of, args=(rref, 2, 2))
    rest = rpc.remote("worker1", over_the_memory_of, args=(rref, 4, 2))
    for given, numbers in (
        ([rref, other, same], "0 and 2"),
        ([{"params": [other, rref]}, {"params": [same]}], "1 and 2"),
        ([{"params": [part]}, {"params": [other, rref]}], "0 and 2"),
    ):
        refuses(
            ValueError,
            f"no optimizer was made on `worker1`: parameters {numbers} are the same or share "
            "memory, where each step would be taken twice; give one of them",
            DistributedOptimizer,
            torch.optim.SGD,
            given,
        )
    # Disjoint parts.
    DistributedOptimizer(torch.optim.SGD, [part, rest, other])


@on_client
def test_a_step_takes_as_many_hyperparameters_as_the_rules_have():
    rrefs = parameters("worker1", (3,))
    before = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    (remote,) = optimizer.remote_optimizers
    with dist_autograd.context() as context:
        backward(context, rrefs)
        (given,) = optimizer._execution.step_arguments([remote], optimizer.param_groups)
        for wrong in (given[:-1], [*given, 0.0]):
            with pytest.raises(RuntimeError) as caught:
                remote.call("step", context, 0, wrong).wait()
            assert str(caught.value).strip() == (
                f"ValueError: a step came with {len(wrong)} hyperparameters; the rules of this "
                f"worker have {len(given)}"
            ), caught.value
    assert torch.equal(rrefs[0].to_here(), before)


@updraft.rule
def mean(param, grad, lr=1.0):
    return param - lr * grad / updraft.lang.group_size()


@on_client
def test_a_rule_over_a_group_steps_it_whole():
    """A group of one dtype on one worker is a whole group; a part of a group raises an error."""
    rrefs = parameters("worker1", (3,))
    double = parameters("worker1", (4,), dtype=torch.float64)
    elsewhere = parameters("worker2", (2,))
    refuses(
        NotImplementedError,
        "no optimizer was made on `worker1`: the rule `Prodigy` depends on a whole group, and "
        "one has parameters that are stepped apart (torch.float32, torch.float64); give each kind "
        "a group of its own",
        DistributedOptimizer,
        "Prodigy",
        [*rrefs, *double],
    )
    with pytest.raises(NotImplementedError) as caught:
        DistributedOptimizer("Prodigy", [*rrefs, *elsewhere])
    refusal = (
        "the rule `Prodigy` depends on a whole group, and one has parameters that are stepped "
        "apart (on `worker1`, `worker2`); give those of each worker a group of their own"
    )
    assert str(caught.value) == "; ".join(
        f"no optimizer was made on `{name}`: {refusal}" for name in ("worker1", "worker2")
    ), caught.value
    with pytest.raises(NotImplementedError, match="the rule `mean` depends on a whole group"):
        DistributedOptimizer(mean, [*rrefs, *elsewhere])
    # One parameter per group, and a rule without reductions over a group.
    groups = [{"params": some} for some in (rrefs, double, elsewhere)]
    DistributedOptimizer("Prodigy", groups)
    DistributedOptimizer(torch.optim.AdamW, [*rrefs, *double, *elsewhere])


def two_values():
    return torch.nn.Parameter(TwoTensor(torch.ones(3), torch.ones(3)))


@on_client
def test_wrapper_subclasses_are_refused():
    """They don't own their memory."""
    wrapper = rpc.remote("worker1", two_values)
    refuses(
        TypeError,
        "no optimizer was made on `worker1`: parameter 1 is a wrapper subclass of Tensor, whose "
        "memory is not its own",
        DistributedOptimizer,
        torch.optim.SGD,
        [*parameters("worker1", (3,)), wrapper],
    )


@on_client
def test_complex_parameters_are_refused_as_here():
    params = parameters("worker1", (2, 2), dtype=torch.complex64)
    for kind in (torch.optim.Adafactor, torch.optim.SparseAdam):
        refuses(
            RuntimeError,
            f"no optimizer was made on `worker1`: {kind.__name__} does not support complex "
            "parameters",
            DistributedOptimizer,
            kind,
            params,
        )


@on_client
def test_rules_that_pairs_of_numbers_cannot_have_are_refused():
    params = parameters("worker1", (2, 2), dtype=torch.complex64)
    refuses(
        NotImplementedError,
        "no optimizer was made on `worker1`: the rule `SOAP` depends on rows, columns or batches, "
        "which complex parameters don't have: they are stepped as pairs of numbers",
        DistributedOptimizer,
        updraft.optim.SOAP,
        params,
    )
    refuses(
        ValueError,
        "no optimizer was made on `worker1`: expected f32, f64 or f16 for the state `exp_avg` of "
        "complex parameters, got bf16",
        DistributedOptimizer,
        updraft.optim.AdamW,
        params,
        storage={"exp_avg": "bf16"},
    )


def opposite_view():
    return torch.nn.Parameter(torch._neg_view(torch.ones(3)))


@on_client
def test_negated_views_are_refused():
    refuses(
        NotImplementedError,
        "no optimizer was made on `worker1`: parameter 0 is a negated view of another tensor; give "
        "a tensor of its own, such as `resolve_neg()` returns",
        DistributedOptimizer,
        torch.optim.SGD,
        [rpc.remote("worker1", opposite_view)],
    )


@on_client
def test_steps_raise_where_python_divides_by_zero():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.Adam, rrefs)
    optimizer.param_groups[0]["betas"] = (1.0, 0.9)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        refuses(ZeroDivisionError, "float division by zero", optimizer.step, context)
        optimizer.param_groups[0]["betas"] = (0.9, 0.9)
        optimizer.step(context)
