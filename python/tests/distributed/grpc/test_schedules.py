"""torch's schedulers of an optimizer on workers, compared with those of a local one."""

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

from updraft.distributed.grpc import Client
from updraft.distributed.grpc.torch_optimizer import TorchOptimizer

from .conftest import running

STEPS = 4

SCHEDULES = {
    "lambda": lambda o: lr_scheduler.LambdaLR(o, [lambda n: 1 / (1 + n), lambda n: 0.5**n]),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(
        o, max_lr=[0.1, 0.3], total_steps=STEPS + 1, cycle_momentum=False
    ),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 2),
    "cosine": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3),
    "sequential": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, 0.5, 2), lr_scheduler.ExponentialLR(o, 0.9)], [2]
    ),
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.5, patience=0),
}


@pytest.fixture(scope="module")
def client():
    with running() as (one, _), running() as (other, _), Client([one, other]) as client:
        yield client


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_of_torch(client, schedule):
    values = {"v": np.arange(6, dtype=np.float32), "w": np.ones((2, 2), np.float32)}
    client.put(values)
    groups = [{"params": ["v"]}, {"params": ["w"], "lr": 0.5}]
    on_workers = client.optimizer(
        schedule,
        "SGD",
        [{"lr": 0.1, "momentum": 0.9} | group for group in groups],
        numerics="torch",
    )
    distributed = TorchOptimizer(on_workers)
    params = {name: torch.nn.Parameter(torch.tensor(value)) for name, value in values.items()}
    local = torch.optim.SGD(
        [group | {"params": [params[name] for name in group["params"]]} for group in groups],
        lr=0.1,
        momentum=0.9,
        foreach=False,
    )
    schedulers = [SCHEDULES[schedule](optimizer) for optimizer in (distributed, local)]
    for _ in range(STEPS):
        gradients = {name: value + 1 for name, value in values.items()}
        with on_workers.context() as context:
            context.push(gradients)
            assert distributed.step(context) == 2
        for name, param in params.items():
            param.grad = torch.tensor(gradients[name])
        local.step()
        for scheduler in schedulers:
            scheduler.step(*[1.0] if schedule == "plateau" else [])
        assert [group["lr"] for group in distributed.param_groups] == [
            group["lr"] for group in local.param_groups
        ]
    for name, value in client.get(params).items():
        np.testing.assert_array_equal(value, params[name].detach().numpy())


def test_what_is_on_the_workers_is_refused(client):
    client.put({"x": np.zeros(2, np.float32)})
    optimizer = TorchOptimizer(client.optimizer("x", "SGD", [{"params": ["x"]}]))
    assert repr(optimizer) == "TorchOptimizer('x')"
    for call in (optimizer.zero_grad, optimizer.state_dict):
        with pytest.raises(NotImplementedError, match="on the workers, not here"):
            call()
