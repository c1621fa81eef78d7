"""`torch.distributed.checkpoint`: states by parameter name, for any number of processes."""

import pytest
import torch
import torch.distributed.checkpoint as checkpoint
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    get_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)

import updraft
from updraft import optim

MODULES = {"torch": torch.optim, "updraft": optim}


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def train(model, optimizer, steps=3):
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        optimizer.step()


def save(model, optimizer, folder):
    weights, states = get_state_dict(model, optimizer)
    checkpoint.save({"model": weights, "optimizer": states}, checkpoint_id=folder)


def load(model, optimizer, folder):
    weights, states = get_state_dict(model, optimizer)
    checkpoint.load({"model": weights, "optimizer": states}, checkpoint_id=folder)
    set_state_dict(model, optimizer, model_state_dict=weights, optim_state_dict=states)


def goes_on(first, then, folder):
    """Trains, saves, and continues training with another optimizer that has loaded the file."""
    straight = network()
    reference = torch.optim.AdamW(straight.parameters(), lr=0.05)
    train(straight, reference)
    train(straight, reference)

    model = network()
    optimizer = MODULES[first].AdamW(model.parameters(), lr=0.05)
    train(model, optimizer)
    save(model, optimizer, folder)
    model = network()
    optimizer = MODULES[then].AdamW(model.parameters(), lr=0.3)
    load(model, optimizer, folder)
    assert optimizer.param_groups[0]["lr"] == 0.05
    train(model, optimizer)
    for param, expected in zip(model.parameters(), straight.parameters(), strict=True):
        torch.testing.assert_close(param, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("then", MODULES)
@pytest.mark.parametrize("first", MODULES)
def test_saved_and_loaded(tmp_path, first, then):
    goes_on(first, then, tmp_path / "checkpoint")


@pytest.mark.parametrize("flatten", [False, True])
def test_states_by_names_of_parameters(flatten):
    """The same as torch's, for each name."""
    dicts = []
    options = StateDictOptions(flatten_optimizer_state_dict=flatten)
    for module in MODULES.values():
        model = network()
        optimizer = module.Adam(model.parameters(), lr=0.05, amsgrad=True)
        train(model, optimizer)
        states = get_optimizer_state_dict(model, optimizer, options=options)
        dicts.append(states)
        model.zero_grad()  # torch creates states for parameters without gradients
        other = module.Adam(model.parameters(), amsgrad=True)
        set_optimizer_state_dict(model, other, states, options=options)
        assert other.param_groups[0]["lr"] == 0.05
        for param in model.parameters():
            for name, value in optimizer.state[param].items():
                assert value.equal(other.state[param][name])
    theirs, ours = dicts
    assert theirs.keys() == ours.keys()
    if flatten:
        return
    assert theirs["state"].keys() == ours["state"].keys()
    for name, state in theirs["state"].items():
        assert state.keys() == ours["state"][name].keys()


def test_other_rules(tmp_path):
    model = network()
    optimizer = updraft.optimizer("Lion", model.parameters(), lr=0.01)
    train(model, optimizer)
    save(model, optimizer, tmp_path / "checkpoint")
    other_model = network()
    other = updraft.optimizer("Lion", other_model.parameters(), lr=0.5)
    load(other_model, other, tmp_path / "checkpoint")
    train(model, optimizer)
    train(other_model, other)
    for param, expected in zip(other_model.parameters(), model.parameters(), strict=True):
        assert param.equal(expected)


def saves_on_each(folder):
    model = torch.nn.parallel.DistributedDataParallel(network())
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    train(model, optimizer)
    save(model, optimizer, folder / "checkpoint")


def test_loaded_in_one_process_after_two(in_processes, tmp_path):
    in_processes(saves_on_each)
    model = network()
    optimizer = optim.AdamW(model.parameters())
    load(model, optimizer, tmp_path / "checkpoint")
    straight = network()
    reference = torch.optim.AdamW(straight.parameters(), lr=0.05)
    train(straight, reference)
    for each in ((model, optimizer), (straight, reference)):
        train(*each)
    for param, expected in zip(model.parameters(), straight.parameters(), strict=True):
        torch.testing.assert_close(param, expected, rtol=1e-5, atol=1e-6)
