"""torch's schedulers of a distributed optimizer, compared with those of a local one."""

import torch
from clients import on_client
from remote_models import copies, parameters, step_both
from torch.optim import lr_scheduler

import updraft.optim
from updraft.distributed.optim import DistributedOptimizer

STEPS = 4


def sequential(optimizer):
    first = lr_scheduler.ConstantLR(optimizer, 0.5, 2)
    return lr_scheduler.SequentialLR(
        optimizer, [first, lr_scheduler.ExponentialLR(optimizer, 0.9)], [2]
    )


SCHEDULES = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, [lambda n: 1 / (1 + n), lambda n: 0.5**n]),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=[0.1, 0.3], total_steps=STEPS + 1),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 2, cycle_momentum=True),
    "cosine": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "sequential": sequential,
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=0),
}


def groups(of):
    return [{"params": [of[0]]}, {"params": [of[1]], "lr": 0.5}]


@on_client
def test_values_that_constructors_refuse():
    """Only constructors check values; workers step with any."""
    changes = {
        "SGD": [{"lr": -0.5}, {"momentum": -0.5}, {"weight_decay": -1.0}, {"lr": float("nan")}],
        "Adam": [{"betas": (22.0, 0.999)}, {"eps": -1e-3}, {"lr": float("nan")}],
    }
    for name, changed in changes.items():
        for change in changed:
            rrefs = [*parameters("worker1", (6,)), *parameters("worker2", (2, 2))]
            params = copies(rrefs)
            remote = DistributedOptimizer(getattr(torch.optim, name), rrefs, lr=0.1)
            local = getattr(torch.optim, name)(params, lr=0.1, foreach=False)
            for step in range(STEPS):
                if step == 1:
                    remote.param_groups[0].update(change)
                    local.param_groups[0].update(change)
                step_both(remote, local, rrefs, params, 1 + step)
            for rref, param in zip(rrefs, params, strict=True):
                torch.testing.assert_close(
                    rref.to_here(), param.detach(), equal_nan=True, msg=f"{name} {change}"
                )
            # Created with them: `betas` of another worker's optimizer come with a `state_dict`.
            again = DistributedOptimizer(getattr(torch.optim, name), rrefs, lr=0.1)
            again.load_state_dict(remote.state_dict())
            step_both(again, local, rrefs, params, 1)
            for rref, param in zip(rrefs, params, strict=True):
                torch.testing.assert_close(rref.to_here(), param.detach(), equal_nan=True)


@on_client
def test_schedules_are_those_of_a_local_optimizer():
    for name, schedule in SCHEDULES.items():
        rrefs = [*parameters("worker1", (6,)), *parameters("worker2", (2, 2))]
        params = copies(rrefs)
        options = {"lr": 0.1, "momentum": 0.5}
        remote = DistributedOptimizer(torch.optim.SGD, groups(rrefs), **options)
        local = updraft.optim.SGD(groups(params), **options)
        both = [remote, local]
        schedules = [schedule(each) for each in both]
        for step in range(STEPS):
            step_both(remote, local, rrefs, params, 1 + step)
            for each in schedules:
                each.step(*([1.0] if name == "plateau" else []))
            rates = [[(g["lr"], g["momentum"]) for g in each.param_groups] for each in both]
            assert rates[0] == rates[1], name
            for rref, param in zip(rrefs, params, strict=True):
                assert torch.equal(rref.to_here(), param), (name, step)
        assert [group["lr"] for group in remote.param_groups] != [0.1, 0.5], name
