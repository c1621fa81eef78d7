"""Data parallel training: DistributedDataParallel and ZeroRedundancyOptimizer."""

import torch
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from updraft import optim

from .parallel_training import assert_close, network, train


def data_parallel(folder):
    results = []
    for module in (torch.optim, optim):
        # Gradients are views into buckets.
        model = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        results.append(train(model, module.AdamW(model.parameters(), lr=0.1)))
    assert_close(*results)


def zero_redundancy(folder):
    results = []
    for kind in (torch.optim.AdamW, optim.AdamW):
        model = DistributedDataParallel(network())
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=kind, lr=0.1, weight_decay=0.1
        )
        assert type(optimizer.optim) is kind
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        train(model, optimizer, 2)
        scheduler.step()
        train(model, optimizer, 2)
        # Collects the states of all in one process, and loads them into a new optimizer.
        optimizer.consolidate_state_dict(to=0)
        saved = [optimizer.state_dict() if torch.distributed.get_rank() == 0 else None]
        torch.distributed.broadcast_object_list(saved, src=0)
        assert len(saved[0]["state"]) == 4
        optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=kind)
        optimizer.load_state_dict(saved[0])
        assert optimizer.param_groups[0]["lr"] == 0.05
        results.append(train(model, optimizer))
    assert_close(*results)


def test_data_parallel(in_processes):
    in_processes(data_parallel)


def test_zero_redundancy(in_processes):
    in_processes(zero_redundancy)
