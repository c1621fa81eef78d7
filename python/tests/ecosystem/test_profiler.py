"""A step under `torch.profiler`."""

import torch

from updraft import optim


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def test_profiled():
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    for _ in range(2):
        model(torch.ones(4, 6)).sum().backward()
        with torch.profiler.profile() as profile:
            optimizer.step()
    names = [event.key for event in profile.key_averages()]
    assert "Optimizer.step#AdamW.step" in names
    # torch's operators don't run over parameters or states.
    assert not [name for name in names if name.startswith("aten::") and name.endswith("_")]
