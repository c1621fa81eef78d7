"""A network that several processes train together, and comparison of results."""

import torch


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def train(model, optimizer, steps=5):
    """Trains on this process's part of each batch; returns the parameters."""
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        batch = torch.randn(4 * world, 6, generator=generator)[rank::world]
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return [param.detach() for param in model.parameters()]


def assert_close(theirs, ours):
    for their, our in zip(theirs, ours, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-6)
