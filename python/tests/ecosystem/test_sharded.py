"""Parameters sharded over processes: `fully_shard`, whose parameters are DTensors."""

from unittest import mock

import pytest
import torch
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from updraft import optim

from .parallel_training import assert_close, network, train


def sharded():
    mesh = torch.distributed.device_mesh.init_device_mesh(
        "cpu", (torch.distributed.get_world_size(),)
    )
    model = network()
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    return model


def fully_sharded(folder):
    results = []
    for module in (torch.optim, optim):
        model = sharded()
        optimizer = module.AdamW(model.parameters(), lr=0.1)
        train(model, optimizer)
        for param in model.parameters():
            assert isinstance(optimizer.state[param]["exp_avg"], DTensor)
        results.append([param.full_tensor().detach() for param in model.parameters()])
    assert_close(*results)


def test_fully_sharded(in_processes):
    in_processes(fully_sharded)


def clipped(folder):
    """The norm covers the parts of all processes, with one reduction per step."""
    models, norms = (sharded(), sharded()), ([], [])
    theirs = torch.optim.AdamW(models[0].parameters(), lr=0.1)

    def clip(*_):
        norm = torch.nn.utils.clip_grad_norm_(models[0].parameters(), 0.1)
        norms[0].append(norm.full_tensor())

    theirs.register_step_pre_hook(clip)
    train(models[0], theirs)
    ours = optim.with_clipping(optim.AdamW(models[1].parameters(), lr=0.1), 0.1)
    ours.register_step_post_hook(lambda *_: norms[1].append(ours.last_grad_norm))
    reduce = torch.distributed.all_reduce
    with mock.patch.object(torch.distributed, "all_reduce", wraps=reduce) as reduced:
        train(models[1], ours, 5)
    assert reduced.call_count == 5
    assert_close(*norms)
    assert all(norm > 0.1 for norm in norms[0])
    assert_close(*([p.full_tensor().detach() for p in model.parameters()] for model in models))


def test_clipped(in_processes):
    in_processes(clipped)


def matrices_fully_sharded(folder):
    """Muon steps matrices, and AdamW the other parameters."""
    results = []
    for module in (torch.optim, optim):
        model = sharded()
        matrices = [param for param in model.parameters() if param.dim() == 2]
        others = [param for param in model.parameters() if param.dim() != 2]
        muon, adamw = module.Muon(matrices, lr=0.1), module.AdamW(others, lr=0.1)
        adamw.register_step_post_hook(lambda *_, muon=muon: muon.step())
        train(model, adamw)
        for param in matrices:
            assert isinstance(muon.state[param]["momentum_buffer"], DTensor)
        results.append([param.full_tensor().detach() for param in model.parameters()])
    assert_close(*results)


def test_matrices_fully_sharded(in_processes):
    in_processes(matrices_fully_sharded)


def adamw(model):
    return optim.AdamW(model.parameters(), lr=0.1)


def routed(model):
    return optim.for_model(model, blocks={"0.weight": 2}, lr=0.1, verbose=False)


def routed_fully_sharded(folder):
    """Products take whole matrices, so the bits are those of one process with these gradients."""
    model, plain = sharded(), network()
    optimizer, reference = routed(model), routed(plain)
    rank = torch.distributed.get_rank()
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        batch = torch.randn(4, 4, 6, generator=generator)[rank]
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        for param, its in zip(plain.parameters(), model.parameters(), strict=True):
            param.grad = its.grad.full_tensor()
        optimizer.step()
        reference.step()
    for param, its in zip(plain.parameters(), model.parameters(), strict=True):
        assert torch.equal(its.full_tensor(), param)
    momentum = optimizer.state[model[0].weight]["momentum_buffer"]
    assert momentum.placements == model[0].weight.placements


def test_routed_fully_sharded(in_processes):
    in_processes(routed_fully_sharded)


def logits_fully_sharded(folder):
    """Every rank records the same logits, and clips its part of the rows."""
    model, plain = sharded(), network()
    optimizers = [optim.MuonClip([each[0].weight], lr=0.1) for each in (model, plain)]
    generator = torch.Generator().manual_seed(1)
    before = plain[0].weight.detach().clone()
    for _ in range(3):
        model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        plain[0].weight.grad = model[0].weight.grad.full_tensor()
        for optimizer, each in zip(optimizers, (model, plain), strict=True):
            optimizer.record_max_logits(each[0].weight, [400.0, 1.0])
            optimizer.step()
        model.zero_grad()
    assert torch.equal(model[0].weight.full_tensor(), plain[0].weight)
    rows = len(before) // 2
    ratios = plain[0].weight.detach().norm(dim=1) / before.norm(dim=1)
    assert ratios[:rows].max() < 0.5 < ratios[rows:].min()


def test_logits_fully_sharded(in_processes):
    in_processes(logits_fully_sharded)


def saves(folder, make):
    model = sharded()
    optimizer = make(model)
    train(model, optimizer)
    weights, states = get_state_dict(model, optimizer)
    saved = {"model": weights, "optimizer": states}
    checkpoint.save(saved, checkpoint_id=folder / "checkpoint")
    train(model, optimizer, 1)
    parameters = [param.full_tensor().detach() for param in model.parameters()]
    if torch.distributed.get_rank() == 0:
        torch.save(parameters, folder / "after.pt")


def saves_adamw(folder):
    saves(folder, adamw)


def saves_routed(folder):
    saves(folder, routed)


@pytest.mark.parametrize(("saving", "make"), [(saves_adamw, adamw), (saves_routed, routed)])
def test_loaded_in_one_process_after_two(in_processes, tmp_path, saving, make):
    """A single process continues from the checkpoint of two."""
    in_processes(saving)
    model = network()
    optimizer = make(model)
    weights, states = get_state_dict(model, optimizer)
    saved = {"model": weights, "optimizer": states}
    checkpoint.load(saved, checkpoint_id=tmp_path / "checkpoint")
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=states)
    # The whole batch, of which each of the two had a half.
    generator = torch.Generator().manual_seed(1)
    model(torch.randn(8, 6, generator=generator)).square().mean().backward()
    optimizer.step()
    assert_close(
        torch.load(tmp_path / "after.pt"), [param.detach() for param in model.parameters()]
    )
