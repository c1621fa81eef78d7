"""The surroundings of a step: schedulers, hooks, closures, profilers, and torch.compile."""

import functools

import pytest
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

import updraft
from updraft import optim
from updraft.optim import direct_parts
from updraft.optim.adapter import JointStep

from .torch_training import assert_close, parameters, set_gradients


def scheduled(make):
    def steps(module):
        params = parameters(shapes=[(9,)])
        optimizer = module.SGD(params, lr=0.1, momentum=0.9)
        scheduler = make(optimizer)
        for step in range(12):
            set_gradients(params, step)
            optimizer.step()
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(1.0)
            else:
                scheduler.step()
        return params

    assert_close(steps(torch.optim), steps(optim), 12)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=14),
        lambda o: torch.optim.lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3),
        lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=2),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=4),
    ],
    ids=["lambda", "one_cycle", "cyclic", "plateau", "warm_restarts"],
)
def test_schedulers(make):
    scheduled(make)


def test_learning_rate_in_a_tensor():
    (param,) = parameters(shapes=[(3,)])
    before = param.detach().clone()
    rate = torch.tensor(0.5)
    optimizer = optim.SGD([param], lr=rate)
    param.grad = torch.ones(3)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert torch.allclose(param, before - 0.75)


def test_hooks_and_closure():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("pre"))
    optimizer.register_step_post_hook(lambda *_: calls.append("post"))

    def closure():
        calls.append("closure")
        optimizer.zero_grad()
        loss = param.square().sum()
        loss.backward()
        return loss

    before = param.detach().clone()
    loss = optimizer.step(closure)
    assert loss.item() == pytest.approx(before.square().sum().item())
    assert torch.allclose(param, 0.8 * before)
    assert calls == ["pre", "closure", "post"]


def test_hooks_that_a_closure_adds():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    calls = []
    optimizer.step(lambda: optimizer.register_step_post_hook(lambda *_: calls.append("post")))
    assert calls == ["post"]


def test_hooks_of_all_optimizers():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    set_gradients([param], 0)
    calls = []
    handles = [
        register_optimizer_step_pre_hook(lambda *_: calls.append("pre")),
        register_optimizer_step_post_hook(lambda *_: calls.append("post")),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    optimizer.step()
    assert calls == ["pre", "post"]


def test_profilers_see_steps():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    set_gradients([param], 0)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        optimizer.step()
    assert "Optimizer.step#SGD.step" in {event.key for event in profile.key_averages()}


class CountingStep(JointStep):
    """Counts its steps."""

    calls = 0

    def __init__(self, steppers):
        super().__init__(steppers)
        take = self.take

        def counted():
            CountingStep.calls += 1
            return take()

        self.take = counted


@pytest.mark.parametrize(
    "make",
    [
        optim.AdamW,
        functools.partial(optim.AdamW, numerics="ieee"),
        optim.Lion,
        functools.partial(updraft.optimizer, "Lion"),
        functools.partial(updraft.optimizer, "AdamW"),
    ],
)
def test_optimizers_made_in_compiled_code(make):
    torch.compiler.reset()
    (param,) = parameters(shapes=[(3,)])
    optimizer = torch.compile(lambda: make([param], lr=0.5), backend="eager")()
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert optimizer.param_groups[0]["params"][0] is param


@pytest.mark.parametrize("together", [False, True], ids=["one part", "several parts"])
def test_a_step_that_is_interrupted_keeps_its_states(together, monkeypatch):
    """Python raises KeyboardInterrupt after the call that takes the step."""

    class InterruptedStep(JointStep):
        def __init__(self, steppers):
            super().__init__(steppers)
            take = self.take

            def interrupted():
                take()
                raise KeyboardInterrupt

            self.take = interrupted

    monkeypatch.setattr(direct_parts, "JointStep", InterruptedStep)
    (param,) = parameters(shapes=[(3,)])
    groups = [{"params": [param]}]
    if together:
        groups.append({"params": parameters(shapes=[(2,)])})
    optimizer = optim.Adam(groups)
    set_gradients([param], 0)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    (state,) = optimizer.state_dict()["state"].values()
    assert state["step"] == 1
    assert torch.equal(state["exp_avg"], param.grad * (1 - 0.9))


@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize(
    ("name", "options"), [("SGD", {}), ("SGD", {"momentum": 0.9}), ("AdamW", {})]
)
def test_one_step_for_each_call_of_compiled_code(name, options, backend, monkeypatch):
    """torch.compile runs traced code several times on the first call; a step must run once."""
    monkeypatch.setattr(direct_parts, "JointStep", CountingStep)
    torch.compiler.reset()
    trained = []
    for compiled in (False, True):
        (param,) = parameters(shapes=[(3,)])
        optimizer = getattr(optim, name)([param], lr=0.1, **options)

        def train(x, optimizer=optimizer, param=param):
            optimizer.zero_grad()
            (param * x).square().sum().backward()
            optimizer.step()

        call = torch.compile(train, backend=backend) if compiled else train
        counts, steps = [], []
        for number in range(4):
            before = CountingStep.calls
            call(torch.full((3,), 1.0 + number))
            counts.append(CountingStep.calls - before)
            steps.append(param.detach().clone())
        assert counts == [1, 1, 1, 1]
        trained.append(steps)
    for plain, through in zip(*trained, strict=True):
        torch.testing.assert_close(through, plain)


def test_step_that_wraps_that_of_the_class_is_called(monkeypatch):
    # Torch wraps the step of each class once, when the first optimizer is created.
    monkeypatch.delattr(optim.SGD.step, "hooked", raising=False)
    calls = []

    class Logged(optim.SGD):
        @functools.wraps(optim.SGD.step)
        def step(self, closure=None):
            calls.append(1)
            return super().step(closure)

    param = torch.nn.Parameter(torch.ones(3))
    param.grad = torch.ones(3)
    Logged([param], lr=1.0).step()
    assert calls == [1]
    assert param.tolist() == [0.0] * 3
