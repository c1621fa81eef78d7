"""Classes without a compiled rule."""

import threading
import time
import warnings

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import (
    attributes,
    backward,
    copies,
    give_up_locks,
    gradients,
    hold_locks,
    in_threads,
    move,
    parameters,
    set_grad,
    step_both,
)

import updraft.optim
from updraft.distributed.optim import (
    DistributedOptimizer,
    FunctionalOptimizer,
    Options,
    eager_optimizer,
    register_functional_optim,
)
from updraft.distributed.optim.remote import RemoteOptimizer


class Halving(torch.optim.Optimizer):
    """Writes to gradients, as no optimizer should."""

    def __init__(self, params, lr=0.5):
        if lr < 0:
            raise ValueError(f"Invalid lr: {lr}")
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param -= param.grad.mul_(group["lr"])


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistributedOptimizer(*args, **kwargs)


@on_client
def test_steps_with_a_warning():
    rrefs = parameters("worker1", (3,), (4,))
    before = [rref.to_here().clone() for rref in rrefs]
    with pytest.warns(UserWarning) as caught:
        optimizer = DistributedOptimizer(Halving, rrefs)
    texts = [str(warning.message) for warning in caught]
    assert texts == [
        "there is no compiled step for test_eager.Halving; `updraft.optimizer` makes one from a "
        "rule: steps of Halving run in Python on the workers, and need the GIL; "
        "`Options(strict=True)` makes this an error"
    ], texts
    assert caught[0].filename == __file__
    assert not optimizer.is_functional_optim
    mine = torch.full((3,), 7.0)
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[0], mine))
    with dist_autograd.context() as context:
        backward(context, rrefs[:1])
        held = gradients(context, rrefs[:1])[0]
        optimizer.param_groups[0]["lr"] = 0.25
        optimizer.step(context)
        assert torch.equal(gradients(context, rrefs[:1])[0], held)
        with pytest.raises(RuntimeError, match="were already applied"):
            optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), before[0] - held * 0.25)
    assert torch.equal(rrefs[1].to_here(), before[1])
    assert torch.equal(rpc.rpc_sync("worker1", attributes, args=(rrefs[0],))[0], mine)


@on_client
def test_a_reference_to_no_tensor_is_named_by_its_index():
    good = [parameters(worker, (3,)) for worker in ("worker2", "worker1")]
    groups = [{"params": rrefs} for rrefs in (*good, [rpc.remote("worker1", list)])]
    with pytest.raises(TypeError) as caught:
        quietly(Halving, groups)
    assert str(caught.value) == (
        "no optimizer was made on `worker1`: expected parameter 2 to refer to a tensor, got []"
    )


@on_client
def test_strict():
    with pytest.raises(TypeError) as caught:
        DistributedOptimizer(Halving, parameters("worker1", (3,)), options=Options(strict=True))
    text = str(caught.value)
    expected = (
        "there is no compiled step for test_eager.Halving; "
        "`updraft.optimizer` makes one from a rule"
    )
    assert text == expected, text


@on_client
def test_no_update_is_lost_beside_compiled_steps():
    rrefs = parameters("worker1", (20_000,))
    before = rrefs[0].to_here().clone()
    optimizers = [quietly(Halving, rrefs, lr=2.0**-4), DistributedOptimizer("SGD", rrefs, lr=2**-4)]
    count = 20

    def train(number):
        for _ in range(count):
            with dist_autograd.context() as context:
                backward(context, rrefs, of=ones)
                optimizers[number % 2].step(context)

    errors = in_threads(4, train)
    assert not errors, errors[0]
    moved = before - rrefs[0].to_here()
    torch.testing.assert_close(moved, torch.full_like(moved, 4 * count * 2**-4), rtol=0, atol=1e-4)


def ones(rrefs, factor):
    return sum(rref.local_value().sum() for rref in rrefs) * factor


class MuonByName(FunctionalOptimizer):
    """Names the rule instead of the class."""

    optimizer_class = "Muon"


class OwnMuon(torch.optim.Muon):
    """A class with a registered functional optimizer."""


register_functional_optim(OwnMuon, MuonByName)
MUONS = {
    "class": (updraft.optim.Muon, {}),
    "torch": (torch.optim.Muon, {}),
    "name": ("Muon", {}),
    "no numerics": ("Muon", {"numerics": None}),
    "functional": (MuonByName, {}),
    "registered": (OwnMuon, {}),
}


def steps_as_here(optimizer, local, rrefs, params, count=2):
    for _ in range(count):
        step_both(optimizer, local, rrefs, params)
    for rref, param in zip(rrefs, params, strict=True):
        assert torch.equal(rref.to_here(), param)


@pytest.mark.parametrize("given", MUONS)
@on_client
def test_muon_steps_as_it_does_here(given):
    rrefs = parameters("worker1", (4, 6))
    params = copies(rrefs)
    kind, options = MUONS[given]
    with pytest.warns(UserWarning, match=r"^Muon with the numerics \"torch\" calls functions"):
        optimizer = DistributedOptimizer(kind, rrefs, **options)
    steps_as_here(optimizer, updraft.optim.Muon(params), rrefs, params)
    with pytest.raises(TypeError, match=r"^Muon with the numerics \"torch\" calls functions"):
        DistributedOptimizer(kind, rrefs, **options, options=Options(strict=True))


@on_client
def test_hyperparameters_of_muon():
    """Those of a group, of a scheduler, and changed ones."""
    rrefs = parameters("worker1", (4, 6), (5, 3))
    params = copies(rrefs)

    def groups(of):
        return [{"params": of[:1]}, {"params": of[1:], "lr": 0.5, "weight_decay": 0.25}]

    optimizer = quietly(torch.optim.Muon, groups(rrefs))
    local = updraft.optim.Muon(groups(params))
    both = optimizer, local
    schedulers = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in both]
    for _ in range(3):
        steps_as_here(optimizer, local, rrefs, params, 1)
        for scheduler in schedulers:
            scheduler.step()
    for each in both:
        each.param_groups[1]["lr"] = 0.75
        each.param_groups[0]["momentum"] = 0.5
    steps_as_here(optimizer, local, rrefs, params)
    # A loaded group has the scheduler's `initial_lr`, too.
    for each in both:
        each.load_state_dict(each.state_dict())
        each.param_groups[0]["nesterov"] = False
    steps_as_here(optimizer, local, rrefs, params)


class Backwards(updraft.optim.SGD):
    """Steps differently from its compiled base."""

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param += group["lr"] * param.grad


class FunctionalBackwards(FunctionalOptimizer):
    """Steps differently from its base."""

    optimizer_class = updraft.optim.SGD

    def step(self, gradients):
        super().step([None if each is None else -each for each in gradients])


class FunctionalHalf(FunctionalOptimizer):
    """Takes half of the learning rate."""

    optimizer_class = updraft.optim.SGD

    def __init__(self, params, lr):
        super().__init__(params, lr=lr / 2)


class UnchangedSGD(updraft.optim.SGD):
    """Steps as its base does."""


@on_client
def test_a_step_of_a_subclass_runs():
    for kind in (Backwards, FunctionalBackwards):
        rrefs = parameters("worker1", (3,))
        params = copies(rrefs)
        with pytest.warns(UserWarning, match=f"^{kind.__name__} has a `step` of its own: steps of"):
            optimizer = DistributedOptimizer(kind, rrefs, lr=0.5)
        local = updraft.optim.SGD(params, lr=0.5, maximize=True)
        steps_as_here(optimizer, local, rrefs, params)
    strict = Options(strict=True)
    with pytest.raises(TypeError, match=r"^Backwards has a `step` of its own$"):
        DistributedOptimizer(Backwards, rrefs, options=strict)
    DistributedOptimizer(UnchangedSGD, rrefs, options=strict)


class Breaking(Halving):
    """Raises after the first parameter."""

    def __init__(self, params, lr=0.5, breaks=True):
        super().__init__(params, lr)
        self.defaults["breaks"] = breaks
        for group in self.param_groups:
            group.setdefault("breaks", breaks)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                param -= param.grad.mul_(group["lr"])
                if group["breaks"]:
                    raise ValueError("it broke")


@on_client
def test_a_step_that_failed_halfway_is_reported_and_not_retried():
    rrefs = [*parameters("worker1", (3,), (4,)), *parameters("worker2", (5,))]
    before = [rref.to_here().clone() for rref in rrefs]
    groups = [{"params": rrefs[:2]}, {"params": rrefs[2:], "breaks": False}]
    optimizer = quietly(Breaking, groups)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        for _ in range(2):
            with pytest.raises(RuntimeError) as caught:
                optimizer.step(context)
            assert (type(caught.value), str(caught.value)) == (
                RuntimeError,
                "a step failed midway, with unknown effect, on `worker1`: ValueError: it broke; "
                "the request succeeded on `worker2`",
            ), caught.value
            # A retry does nothing, even if the cause is gone.
            optimizer.param_groups[0]["breaks"] = False
        held = gradients(context, rrefs)
    assert torch.equal(rrefs[0].to_here(), before[0] - held[0] * 0.5)
    assert torch.equal(rrefs[1].to_here(), before[1])
    assert torch.equal(rrefs[2].to_here(), before[2] - held[2] * 0.5)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        optimizer.step(context)
    assert not torch.equal(rrefs[1].to_here(), before[1])


@on_client
def test_locks_are_those_of_the_memory_that_parameters_have():
    rrefs = parameters("worker1", (3,))
    optimizer = quietly(Halving, rrefs, lr=1.0, options=Options(timeout=1.0))
    before = rrefs[0].to_here().clone()
    rpc.rpc_sync("worker1", move, args=(rrefs[0],))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)[0]
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))
        with pytest.raises(RuntimeError, match=r"^it is unknown whether a step ran on"):
            optimizer.step(context)
        assert torch.equal(rrefs[0].to_here(), before)
        rpc.rpc_sync("worker1", give_up_locks)
        optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), before - held)


class Waiting(Halving):
    """Waits in the middle of a step."""

    began, may_go_on = threading.Event(), threading.Event()

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["half"] = torch.ones(())
                self.began.set()
                assert self.may_go_on.wait(60)
                self.state[param]["half"] += 1


def wait_until_it_began():
    assert Waiting.began.wait(60)


def let_it_go_on():
    Waiting.may_go_on.set()


@on_client
def test_states_are_those_between_steps():
    rrefs = parameters("worker1", (3,))
    optimizer = quietly(Waiting, rrefs)
    saved = []
    with dist_autograd.context() as context:
        backward(context, rrefs)
        stepping = threading.Thread(target=optimizer.step, args=(context,))
        stepping.start()
        rpc.rpc_sync("worker1", wait_until_it_began)
        saving = threading.Thread(target=lambda: saved.append(optimizer.state_dict()))
        saving.start()
        time.sleep(1)
        assert not saved
        rpc.rpc_sync("worker1", let_it_go_on)
        stepping.join()
        saving.join()
    assert saved[0]["state"] == {0: {"half": 2}}


@on_client
def test_a_released_optimizer_is_an_error():
    rrefs = parameters("worker1", (3,))
    optimizer = quietly(Halving, rrefs)
    (remote,) = optimizer.remote_optimizers
    optimizer._execution.release([remote])
    with dist_autograd.context() as context:
        backward(context, rrefs)
        # The release isn't waited for.
        deadline = time.monotonic() + 60
        error = None
        while error is None and time.monotonic() < deadline:
            try:
                optimizer._execution.states(remote).wait()
            except Exception as raised:
                error = raised
        with pytest.raises(IndexError) as caught:
            optimizer.step(context)
    assert str(caught.value) == (
        f"nothing was stepped on `worker1`: this worker has no optimizer {remote.number}; it was "
        "released, or the worker was restarted"
    ), caught.value


@on_client
def test_an_optimizer_released_before_its_creation_is_not_created():
    rrefs = parameters("worker1", (3,))
    optimizer = quietly(Halving, rrefs)
    (remote,) = optimizer.remote_optimizers
    late = RemoteOptimizer(remote.worker, -1.0, members=remote.members, rrefs=remote.rrefs)
    rpc.rpc_sync("worker1", eager_optimizer.release, args=(late.number,))
    for made, text in (
        (late, f"optimizer {late.number} was released before it was created"),
        (remote, f"this worker has an optimizer {remote.number} already"),
    ):
        with pytest.raises((RuntimeError, ValueError), match=text):
            optimizer._execution.create(made, optimizer.param_groups, None).wait()


class Growing(Halving):
    """Changes a parameter so that its `.grad` doesn't fit."""

    @torch.no_grad()
    def step(self):
        param = self.param_groups[0]["params"][0]
        param.data = torch.zeros(7)


@on_client
def test_grad_is_restored_where_it_can_be():
    rrefs = parameters("worker1", (3,), (4,))
    optimizer = quietly(Growing, rrefs)
    mine = torch.full((4,), 7.0)
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[0], torch.zeros(3)))
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[1], mine))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        with pytest.raises(RuntimeError, match=r"^a step failed midway, .*assign a gradient of"):
            optimizer.step(context)
    assert torch.equal(rpc.rpc_sync("worker1", attributes, args=(rrefs[1],))[0], mine)


@on_client
def test_hogwild_is_for_compiled_steps():
    rrefs = parameters("worker1", (3,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DistributedOptimizer(Halving, rrefs, options=Options(concurrency="hogwild"))
    texts = [str(warning.message) for warning in caught]
    assert len(texts) == 2, texts
    assert texts[1] == (
        '"hogwild" needs compiled steps; steps of Halving count versions of parameters, as in '
        '"checked"'
    ), texts


@on_client
def test_an_init_of_a_subclass_runs():
    rrefs = parameters("worker1", (3,))
    params = copies(rrefs)
    with pytest.warns(UserWarning, match=r"^FunctionalHalf has an `__init__` of its own: steps of"):
        optimizer = DistributedOptimizer(FunctionalHalf, rrefs, lr=0.5)
    local = updraft.optim.SGD(params, lr=0.25)
    steps_as_here(optimizer, local, rrefs, params)
