"""Functional optimizers in torch's DistributedOptimizer, ZeRO, and DDP's hooks."""

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.optim as torchs
import torch.distributed.rpc as rpc
from torch.distributed.algorithms._optimizer_overlap import _as_overlapped_optim
from torch.distributed.optim.utils import functional_optim_map
from torch.nn.parallel import DistributedDataParallel

import updraft
from updraft import optim
from updraft.distributed import optim as distributed


def product(rref, values, factor):
    return (rref.local_value() * values).sum() * factor


def stepped_by(make, start):
    """The value of a parameter on another worker after two steps of torch's optimizer."""
    rref = rpc.remote("worker1", torch.nn.Parameter, args=(start,))
    optimizer = make([rref])
    for step in range(2):
        with dist_autograd.context() as context:
            values = torch.linspace(1, 2 + step, start.numel())
            factor = torch.ones((), requires_grad=True)
            loss = rpc.rpc_sync("worker1", product, args=(rref, values, factor))
            dist_autograd.backward(context, [loss])
            optimizer.step(context)
    return rref.to_here().detach(), optimizer.is_functional_optim


def on_the_client():
    start = torch.arange(7.0)
    local = torch.nn.Parameter(start.clone())
    adam = optim.AdamW([local], lr=0.1)
    for step in range(2):
        local.grad = torch.linspace(1, 2 + step, 7)
        adam.step()
    distributed.install()
    try:
        for kind in (optim.AdamW, torch.optim.AdamW):
            found, functional = stepped_by(
                lambda rrefs, kind=kind: torchs.DistributedOptimizer(kind, rrefs, lr=0.1), start
            )
            assert functional
            assert torch.equal(found, local.detach())
    finally:
        distributed.uninstall()


def under_the_distributed_optimizer_of_torch(folder):
    rank = torch.distributed.get_rank()
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rpc")
    rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2, rpc_backend_options=options)
    try:
        if rank == 0:
            on_the_client()
    finally:
        rpc.shutdown()


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def trained(model, step=lambda: None, steps=4):
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        batch = torch.randn(4 * world, 6, generator=generator)[rank::world]
        model.zero_grad()
        model(batch).square().mean().backward()
        step()
    return [param.detach() for param in model.parameters()]


def in_the_hooks_of_data_parallel(folder):
    for kind in (optim.SGD, optim.AdamW, optim.Adagrad, optim.NAdam):
        model = DistributedDataParallel(network())
        overlapped = _as_overlapped_optim(kind, None, 0.1)
        overlapped.register_ddp(model)
        state = overlapped._opt_hook_state.functional_optimizer.state
        ours = trained(model)
        assert len(state) == (4 if kind is not optim.SGD else 0)
        model = DistributedDataParallel(network())
        expected = trained(model, kind(model.parameters(), lr=0.1).step)
        for our, other in zip(ours, expected, strict=True):
            assert torch.equal(our, other)


def in_zero_redundancy(folder):
    """The registered class isn't a functional one, and remains usable without overlap."""
    results = []
    for kind in (optim.RMSprop, torch.optim.RMSprop):
        model = DistributedDataParallel(network())
        zero = torchs.ZeroRedundancyOptimizer(
            model.parameters(), optimizer_class=kind, lr=0.01, momentum=0.5
        )
        results.append(trained(model, zero.step))
    for our, other in zip(*results, strict=True):
        torch.testing.assert_close(our, other, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(
    hasattr(torchs.optimizer, "_new_script_local_optimizer"),
    reason="this torch compiles functional optimizers with TorchScript",
)
def test_torchs_distributed_optimizer(in_processes):
    in_processes(under_the_distributed_optimizer_of_torch)


def test_data_parallel_hooks(in_processes):
    in_processes(in_the_hooks_of_data_parallel)


def test_zero_redundancy(in_processes):
    in_processes(in_zero_redundancy)


def test_the_map_of_torch():
    """It has our classes; torch's own entries stay until `install`."""
    of_torch = functional_optim_map[torch.optim.SGD]
    assert of_torch.__module__ == "torch.distributed.optim.functional_sgd"
    assert functional_optim_map[optim.SGD] is distributed.FunctionalSGD
    distributed.install()
    try:
        assert functional_optim_map[torch.optim.SGD] is distributed.FunctionalSGD
        made = torchs.as_functional_optim(torch.optim.SGD, lr=0.5)
        assert type(made) is distributed.FunctionalSGD
    finally:
        distributed.uninstall()
    assert functional_optim_map[torch.optim.SGD] is of_torch
    assert updraft.distributed.optim.functional_optim_map[torch.optim.SGD].optimizer_class is (
        optim.SGD
    )
