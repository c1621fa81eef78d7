"""Every scheduler of `torch.optim.lr_scheduler`, and averaged weights."""

import copy

import pytest
import torch
from torch.optim import lr_scheduler
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn

from updraft import optim

STEPS = 12

# Name of the class: the optimizer, and a function that makes the scheduler.
SCHEDULERS = {
    "LambdaLR": ("AdamW", lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch)),
    "MultiplicativeLR": ("Adam", lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 0.95)),
    "StepLR": ("SGD", lambda o: lr_scheduler.StepLR(o, step_size=4)),
    "MultiStepLR": ("SGD", lambda o: lr_scheduler.MultiStepLR(o, milestones=[3, 7])),
    "ConstantLR": ("RMSprop", lambda o: lr_scheduler.ConstantLR(o, factor=0.5, total_iters=4)),
    "LinearLR": ("NAdam", lambda o: lr_scheduler.LinearLR(o, total_iters=6)),
    "ExponentialLR": ("RAdam", lambda o: lr_scheduler.ExponentialLR(o, gamma=0.8)),
    "PolynomialLR": ("Adamax", lambda o: lr_scheduler.PolynomialLR(o, total_iters=9, power=2)),
    "CosineAnnealingLR": ("AdamW", lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=8)),
    "CosineAnnealingWarmRestarts": (
        "Adagrad",
        lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=4),
    ),
    "ReduceLROnPlateau": ("Adadelta", lambda o: lr_scheduler.ReduceLROnPlateau(o, patience=2)),
    # These two also change the momentum, or the first beta.
    "CyclicLR": (
        "SGD",
        lambda o: lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3),
    ),
    "OneCycleLR": ("AdamW", lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=14)),
    "SequentialLR": (
        "AdamW",
        lambda o: lr_scheduler.SequentialLR(
            o,
            [lr_scheduler.LinearLR(o, total_iters=4), lr_scheduler.CosineAnnealingLR(o, T_max=8)],
            milestones=[4],
        ),
    ),
    "ChainedScheduler": (
        "SGD",
        lambda o: lr_scheduler.ChainedScheduler(
            [lr_scheduler.ConstantLR(o, total_iters=4), lr_scheduler.ExponentialLR(o, gamma=0.9)]
        ),
    ),
}


def run(module, name, tensor):
    kind, make = SCHEDULERS[name]
    torch.manual_seed(0)
    param = torch.nn.Parameter(torch.randn(9))
    rate = 0.1
    options = {"momentum": 0.9} if kind == "SGD" else {}
    if module is torch.optim:
        options["foreach"] = False
    optimizer = getattr(module, kind)([param], lr=torch.tensor(rate) if tensor else rate, **options)
    scheduler = make(optimizer)
    generator = torch.Generator().manual_seed(1)
    for step in range(STEPS):
        param.grad = torch.randn(9, generator=generator)
        optimizer.step()
        if name == "ReduceLROnPlateau":
            scheduler.step(1.0)
        else:
            scheduler.step()
        if step == 5:  # saves the scheduler's state too, and continues with another optimizer
            saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
            optimizer = type(optimizer)(optimizer.param_groups[0]["params"], lr=rate, **options)
            scheduler = make(optimizer)
            optimizer.load_state_dict(saved[0])
            scheduler.load_state_dict(saved[1])
    return param.detach(), optimizer.param_groups[0]


def test_every_scheduler_is_tested():
    """All except the base class, and an old alias."""
    assert {*lr_scheduler.__all__} - {"LRScheduler"} == {*SCHEDULERS}


@pytest.mark.parametrize("tensor", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_scheduler(name, tensor):
    (theirs, their_group), (ours, our_group) = (
        run(module, name, tensor) for module in (torch.optim, optim)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    assert their_group["lr"] == our_group["lr"]
    for moved in ("momentum", "betas"):
        assert their_group.get(moved) == our_group.get(moved)


@pytest.mark.parametrize("average", [None, get_ema_multi_avg_fn(0.9)], ids=["equal", "exponential"])
def test_averaged_weights(average):
    def run(module):
        torch.manual_seed(0)
        model = torch.nn.Linear(5, 3)
        averaged = AveragedModel(model, multi_avg_fn=average)
        optimizer = module.AdamW(model.parameters(), lr=0.1)
        scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=3)
        generator = torch.Generator().manual_seed(1)
        for _ in range(6):
            optimizer.zero_grad()
            model(torch.randn(4, 5, generator=generator)).square().mean().backward()
            optimizer.step()
            averaged.update_parameters(model)
            scheduler.step()
        return [*averaged.parameters()]

    for their, our in zip(run(torch.optim), run(optim), strict=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-6)
