"""Checks that three workers run one after another; `test_three_workers.py` reads the results.

Started by torchrun with the folder for the answers.
"""

import functools
import json
import os
import pathlib
import sys
import threading
import time
import traceback
import warnings

import torch
import torch.distributed.checkpoint
from torch.distributed import rpc

from updraft import distributed
from updraft.distributed import autograd

WORLD = 3
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def on_zero(function):
    """A check that worker 0 runs, which calls the others."""
    CHECKS.append(distributed.rank_zero_only(function))
    return function


def folder():
    return pathlib.Path(sys.argv[1])


class Raised:
    """Asserts that a block raises an exception with exactly this text."""

    def __init__(self, kind, text):
        self.kind = kind
        self.text = text

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        assert kind is not None, "nothing was raised"
        assert issubclass(kind, self.kind), kind
        assert str(error) == self.text, error
        self.error = error
        return True


# Functions that run on workers.


def who(*args):
    return distributed.get_rank(), args


def mean(batch):
    return batch.mean()


def product(a, b):
    return (a * b).sum()


def fail(values):
    raise ValueError(f"bad {values.tolist()}")


class TwoTextsError(Exception):
    """An exception that can't be restored from its pickle."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


def fail_strangely():
    raise TwoTextsError("a", "b")


def leave():
    sys.exit(3)


def on_first_fails(values):
    if distributed.get_rank() == 0:
        raise KeyError("first")
    return values


@functools.cache
def weight_of_worker():
    return torch.full((2,), 2.0, requires_grad=True)


def with_own_weight(values):
    return (weight_of_worker() * values).sum()


def own_gradient(context_id):
    return autograd.get_gradients(context_id)[weight_of_worker()]


@distributed.parallelize()
def square_mean(batch, scale=1.0):
    return (scale * batch.square()).mean()


@distributed.parallelize_async(distributed.batch_partitioner, distributed.sum_reducer)
def total(batch):
    return batch.sum()


def sum_of(batch):
    return batch.sum()


total_of = distributed.parallelize(reducer=distributed.sum_reducer)(sum_of)


@distributed.parallelize(distributed.exclusive_batch_partitioner)
def nested(batch):
    assert batch.shape == (1, 4)
    return distributed.get_rank(), square_mean(batch[0]).item()


class Loss:
    def __init__(self, power):
        self.power = power

    @distributed.parallelize(reducer=distributed.sum_reducer)
    def of(self, batch):
        return (batch**self.power).sum()


# The checks.


@check
def world():
    info = distributed.get_world_info()
    assert info == (int(os.environ["RANK"]), WORLD, info.rank, WORLD)
    assert info.worker_name == rpc.get_worker_info().name == f"trainer-{info.rank}"
    for id in range(WORLD):
        assert distributed.get_worker_id(id) == distributed.get_worker_id(f"trainer-{id}") == id
    with Raised(
        ValueError,
        "unknown worker `nobody`; there are `trainer-0`, `trainer-1`, `trainer-2`",
    ):
        distributed.get_worker_id("nobody")
    assert torch.get_num_threads() == 1  # set by each worker's initialization


@check
def barriers():
    rank = distributed.get_rank()
    for turn in range(WORLD):
        if rank == turn:
            time.sleep(0.2)
        (folder() / f"{turn}-{rank}").touch()
        distributed.barrier()
        assert len([*folder().glob(f"{turn}-*")]) == WORLD
    if rank != 0:
        distributed.synchronize(["trainer-2", "trainer-1"])
    with Raised(
        ValueError,
        "unknown worker `worker0`; there are `trainer-0`, `trainer-1`, `trainer-2`",
    ):
        distributed.barrier(["worker0"])
    with Raised(TypeError, "the worker names are `'trainer-0'`; give a list of names"):
        distributed.barrier("trainer-0")
    others = [f"trainer-{id}" for id in range(WORLD) if id != rank]
    with Raised(
        ValueError,
        "this worker is not in the list of the barrier; add it, or don't call the barrier here",
    ):
        distributed.barrier(others)


@check
def process_group():
    tensor = torch.tensor([float(distributed.get_rank())])
    torch.distributed.all_reduce(tensor)
    assert tensor.item() == 3
    place = folder() / "checkpoint"
    torch.distributed.checkpoint.save({"x": tensor}, checkpoint_id=place)
    loaded = {"x": torch.zeros(1)}
    torch.distributed.checkpoint.load(loaded, checkpoint_id=place)
    assert loaded["x"].item() == 3


@on_zero
def calls():
    assert distributed.remote_sync_call(who, args=(1,), partitioner=2) == [(2, (1,))]
    assert distributed.remote_sync_call(who, partitioner="trainer-1") == [(1, ())]
    assert distributed.remote_sync_call(who) == [(0, ())]
    values = distributed.remote_sync_call(who, args=(torch.arange(4),))
    assert [(rank, args[0].tolist()) for rank, args in values] == [(0, [0, 1]), (1, [2]), (2, [3])]
    triplets = [("trainer-2", ("a",), None), (1, None, {}), (2, ["b"], {})]
    found = distributed.remote_sync_call(who, partitioner=lambda: triplets, reducer=tuple)
    assert found == ((2, ("a",)), (1, ()), (2, ("b",)))
    there = torch.distributed.rpc.get_worker_info("trainer-2")
    assert distributed.remote_sync_call(who, partitioner=there) == [(2, ())]
    cut = distributed.dim_partitioner(workers=[there, 1])
    values = distributed.remote_sync_call(who, args=(torch.arange(3),), partitioner=cut)
    assert [(rank, args[0].tolist()) for rank, args in values] == [(2, [0, 1]), (1, [2])]


@on_zero
def calls_of_operators():
    weight, batch = torch.arange(6.0).reshape(2, 3), torch.arange(15.0).reshape(5, 3)

    def rows(batch, weight):
        parts = distributed.batch_partitioner(batch)
        return [(worker, (rows, weight), {}) for worker, (rows,), _ in parts]

    weight.requires_grad_(True)
    with autograd.context() as context:
        # Before anything else of Updraft has run on the others.
        parts = distributed.remote_sync_call("linear", args=(batch, weight), partitioner=rows)
        (gradient,) = autograd.grad(context, sum(part.sum() for part in parts), weight)
    torch.testing.assert_close(gradient, batch.sum(0).expand(2, 3))
    weight.requires_grad_(False)
    call = functools.partial(distributed.remote_async_call, args=(batch, weight), partitioner=rows)
    assert call("linear", reducer=torch.cat).wait().equal(batch @ weight.T)
    assert [len(part) for part in call("linear").wait()] == [2, 2, 1]
    with Raised(
        TypeError, "worker `trainer-0`, part 0 of 3: `embedding` needs the argument `weight`"
    ) as raised:
        distributed.remote_sync_call("embedding", args=(batch,))
    assert [note.partition(": `embedding`")[0] for note in raised.error.__notes__] == [
        f"also TypeError: worker `trainer-{rank}`, part {rank} of 3" for rank in (1, 2)
    ]


@on_zero
def means_count_what_parts_have():
    batch = torch.arange(7.0)
    for reducer in (distributed.mean_reducer, functools.partial(distributed.mean_reducer)):
        found = distributed.remote_sync_call(mean, args=(batch,), reducer=reducer)
        torch.testing.assert_close(found, batch.mean())
    equal = functools.partial(distributed.mean_reducer, weights=[1, 1, 1])
    found = distributed.remote_sync_call(mean, args=(batch,), reducer=equal)
    torch.testing.assert_close(found, torch.tensor((1 + 3.5 + 5.5) / 3))


@on_zero
def futures():
    future = distributed.remote_async_call(who, args=(1,), partitioner=1)
    assert future.then(lambda ended: ended.wait() * 2).wait() == [(1, (1,))] * 2
    assert future.done() and future.value() == [(1, (1,))]
    weight = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        future = distributed.remote_async_call(
            mean, args=(weight,), reducer=lambda results: sum(results) + weight.sum()
        )
    assert not future.wait().requires_grad
    future = distributed.remote_async_call(who, partitioner=1, reducer=lambda results: 1 / 0)
    with Raised(ZeroDivisionError, "division by zero"):
        future.wait()


@on_zero
def exceptions():
    batch = torch.arange(3)
    for call in (
        distributed.remote_sync_call,
        lambda *args, **named: distributed.remote_async_call(*args, **named).wait(),
    ):
        with Raised(ValueError, "bad [0, 1, 2]") as raised:
            call(fail, args=(batch,), partitioner=1)
        (note,) = raised.error.__notes__
        assert note.startswith("worker `trainer-1`, part 0 of 1:\nTraceback")
        assert "in fail\n" in note
        with Raised(ValueError, "bad [0]") as raised:
            call(fail, args=(batch,))
        assert [note.partition("\n")[0] for note in raised.error.__notes__] == [
            "worker `trainer-0`, part 0 of 3:",
            "also ValueError: bad [1]",
            "also ValueError: bad [2]",
        ]
        with Raised(KeyError, "'first'"):
            call(on_first_fails, args=(batch,))
        with Raised(distributed.DistributedError, "TwoTextsError: a b"):
            call(fail_strangely, partitioner=1)
        with Raised(distributed.DistributedError, "`SystemExit` was raised: 3"):
            call(leave, partitioner=1)
        with Raised(distributed.DistributedError, LATE):
            call(time.sleep, args=(1,), partitioner=1, timeout=0.1)


LATE = (
    "worker `trainer-1`, part 0 of 1: RPCErr:1:RPC ran for more than set timeout (100 ms) and will"
    " now be marked with an error"
)


@on_zero
def calls_that_cannot_be_made():
    call = distributed.remote_sync_call
    with Raised(TypeError, "`3` cannot be called; give a function, or the name of an operator"):
        call(3)
    for partitioner in (1.5, True, [0]):
        with Raised(
            ValueError,
            f"the partitioner is `{partitioner!r}`; give a worker's number or name, a function, or"
            " None for `batch_partitioner`",
        ):
            call(who, partitioner=partitioner)
    with Raised(ValueError, "unknown worker 3; the world has 3"):
        call(who, partitioner=3)
    with Raised(ValueError, "the worker id is -1; workers count from 0"):
        call(who, partitioner=-1)
    with Raised(
        ValueError,
        "part 1 of the partitioner is `(0, 1)`; a part is a triplet of a worker, its positional and"
        " its keyword arguments",
    ):
        call(who, partitioner=lambda: [(0, (), {}), (0, 1)])
    with Raised(ValueError, "the partitioner returned no parts, so there is nothing to call"):
        call(who, partitioner=lambda: [])
    with Raised(
        ValueError,
        "`__main__.calls_that_cannot_be_made.<locals>.<lambda>` is within a function; workers"
        " find functions by name, so define it at the top of a module",
    ):
        call(lambda: 1, partitioner=1)


@on_zero
def parallelized():
    batch = torch.arange(7.0)
    torch.testing.assert_close(square_mean(batch), batch.square().mean())
    torch.testing.assert_close(square_mean(batch, scale=2.0), 2 * batch.square().mean())
    assert total(batch).wait() == 21
    assert total_of(batch) == 21
    assert distributed.parallelize(partitioner=0)(sum_of)(batch) == [21]
    assert distributed.parallelize(partitioner=1)(torch.sum)(batch) == [21]
    assert Loss(2).of(batch) == 91
    rows = torch.arange(16.0).reshape(4, 4)
    found = nested(rows)
    assert found == [(row % WORLD, rows[row].square().mean().item()) for row in range(4)]

    @distributed.parallelize()
    def within(batch):
        return batch

    with Raised(
        ValueError,
        "cannot find the function `parallelized.<locals>.within` in `__main__`; workers find"
        " functions by name, so define and parallelize it at the top of a module",
    ):
        within(batch)


@on_zero
def gradients():
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)
    unused = torch.ones(1, requires_grad=True)
    with autograd.context() as context_id:
        loss = distributed.remote_sync_call(product, args=(a, b), reducer=distributed.sum_reducer)
        for _ in range(3):  # each pass counts once
            found = autograd.grad(context_id, loss, (a, b), retain_graph=True)
            assert found[0].tolist() == [4, 5, 6] and found[1].tolist() == [1, 2, 3]
        (scaled,) = autograd.grad(context_id, 2 * loss, a, retain_graph=True)
        assert scaled.tolist() == [8, 10, 12]
        # The context itself has the sum, as torch's own functions expect.
        assert autograd.get_gradients(context_id)[a].tolist() == [20, 25, 30]
        assert a.grad is None and b.grad is None
        found = autograd.grad(context_id, [loss], [a, unused], retain_graph=True, allow_unused=True)
        assert found[0].tolist() == [4, 5, 6] and found[1] is None
        with Raised(
            RuntimeError,
            "input 1 is not used by the outputs; with `allow_unused=True` its gradient is None",
        ):
            autograd.grad(context_id, loss, [a, unused], retain_graph=True)
        autograd.backward(context_id, loss, retain_graph=True, inputs=b)
        assert a.grad is None and b.grad.tolist() == [1, 2, 3]
        autograd.backward(context_id, [loss], retain_graph=True)
        autograd.backward(context_id, [loss])
        assert a.grad.tolist() == [8, 10, 12] and b.grad.tolist() == [3, 6, 9]
        found[0].zero_()  # the caller owns it
        assert autograd.get_gradients(context_id)[a].tolist() == [40, 50, 60]


@on_zero
def unused_after_it_was_used():
    a = torch.ones(2, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    with autograd.context() as context_id:
        autograd.grad(context_id, (a * b).sum(), [a, b])
        assert autograd.grad(context_id, (3 * a).sum(), [a, b], allow_unused=True)[1] is None
        autograd.backward(context_id, (5 * a).sum())
        assert b.grad is None and a.grad.tolist() == [5, 5]


@on_zero
def gradients_that_cannot_be():
    a = torch.ones(2, requires_grad=True)
    plain = torch.ones(2)
    with autograd.context() as context_id:
        loss = (a * 2).sum()
        for call, text in (
            ((loss, []), "`inputs` is empty; give one or more"),
            ((loss, plain), "input 0 does not require grad"),
            (
                (loss, [a, a * 2]),
                "input 1 is not a leaf; a context has gradients of leaves only, so give the leaves"
                " that it was computed from",
            ),
            (([], a), "there are no outputs; give one or more"),
            (
                (plain.sum(), a),
                "output 0 does not require grad; it does not depend on a tensor that does, or was"
                " computed without a graph",
            ),
            (
                (a * 2, a),
                "output 0 has the shape [2], but must have one element; sum it, with weights if"
                " needed",
            ),
        ):
            with Raised(RuntimeError, text):
                autograd.grad(context_id, *call)
            with Raised(RuntimeError, text):
                autograd.backward(context_id, call[0], inputs=call[1])
        with Raised(TypeError, "input 0 is of type `int`; give tensors"):
            autograd.grad(context_id, loss, [1])
    with Raised(RuntimeError, f"Could not find autograd context with id: {context_id}"):
        autograd.grad(context_id, loss, a)


@on_zero
def a_call_that_takes_no_part():
    a = torch.ones(2, requires_grad=True)
    before = rpc.get_rpc_timeout()
    rpc._set_rpc_timeout(1)
    try:
        with autograd.context() as context_id:
            used = distributed.remote_sync_call(product, args=(a, a), partitioner=1)[0]
            distributed.remote_sync_call(product, args=(a, a), partitioner=1)
            try:
                autograd.backward(context_id, used)
            except distributed.DistributedError as error:
                assert "RPC ran for more than set timeout (1000 ms)" in str(error)
                assert str(error).endswith(
                    "; the pass waits for the gradient of every call that the context has recorded,"
                    " so make calls whose results are not used under `torch.no_grad()` or in"
                    " another context"
                )
                assert "Exception raised from" not in str(error)
            else:
                raise AssertionError("nothing was raised")
            assert a.grad is None
        with autograd.context() as context_id:
            used = distributed.remote_sync_call(product, args=(a, a), partitioner=1)[0]
            with torch.no_grad():
                found = distributed.remote_sync_call(product, args=(a, a), partitioner=1)[0]
            assert found == 2 and not found.requires_grad
            autograd.backward(context_id, used)
        assert a.grad.tolist() == [2, 2]
    finally:
        rpc._set_rpc_timeout(before)


@on_zero
def workers_record_what_needs_no_gradient_here():
    with autograd.context() as context_id:
        call = functools.partial(distributed.remote_sync_call, partitioner=1)
        (loss,) = call(with_own_weight, args=(torch.tensor([3.0, 4.0]),))
        autograd.backward(context_id, loss)
        assert call(own_gradient, args=(context_id,))[0].tolist() == [3, 4]


@on_zero
def threads_share_a_context():
    a = torch.arange(6.0, requires_grad=True)
    found = [None] * 8
    with autograd.context() as context_id:
        loss = distributed.remote_sync_call(product, args=(a, a), reducer=distributed.sum_reducer)

        def work(index):
            (gradient,) = autograd.grad(context_id, loss * index, a, retain_graph=True)
            found[index] = gradient.tolist()

        threads = [threading.Thread(target=work, args=(index,)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [[2.0 * index * x for x in range(6)] for index in range(8)]
        expected = [2.0 * sum(range(8)) * x for x in range(6)]
        assert autograd.get_gradients(context_id)[a].tolist() == expected


@on_zero
def modules_arrive_with_their_graph():
    model = torch.nn.Linear(4, 1)
    batch = torch.randn(7, 4)
    with autograd.context() as context_id:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loss = output_mean(distributed.module_clone(model, by="clone"), batch)
            output = model(batch).mean()
        torch.testing.assert_close(loss, output)
        found = autograd.grad(context_id, loss, model.parameters())
    expected = torch.autograd.grad(output, [*model.parameters()])
    torch.testing.assert_close(found, expected)


@distributed.parallelize()
def output_mean(model, batch):
    return model(batch).mean()


@on_zero
def parameters_are_warned_of():
    model = torch.nn.Linear(4, 1)
    call = functools.partial(distributed.remote_sync_call, who, partitioner=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(args=(model,))  # no gradients are requested
        with autograd.context():
            with torch.no_grad():
                call(args=(model,))
            call(args=(model.requires_grad_(False),))
            assert caught == []
            model.bias.requires_grad_(True)
            call(args=(1, [model]))
            call(args=(model.bias,))
    assert [str(warning.message) for warning in caught] == [
        f"{what} is a `torch.nn.Parameter`, which is sent without its graph and gets no gradient"
        " from this call; send `module_clone(model, by='clone')`, or a parameter's `clone()`"
        for what in ("`bias` of argument 1[0]", "argument 0")
    ]
    assert {warning.filename for warning in caught} == {__file__}


def initialize():
    torch.set_num_threads(1)


@distributed.auto_init_rpc(
    initialize,
    lambda world_rank, world_size, local_rank, local_world_size: f"trainer-{world_rank}",
)
def main():
    answers = {}
    for function in CHECKS:
        try:
            function()
            answers[function.__name__] = None
        except Exception:
            answers[function.__name__] = traceback.format_exc()
        distributed.barrier()
    (folder() / f"{distributed.get_rank()}.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main()
