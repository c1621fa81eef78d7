"""Step counts of optimizers whose states have none in torch: random numbers and probes continue."""

import copy

import pytest
import torch

from updraft import optim

from .torch_training import parameters, set_gradients

SHAPES = [(8, 4), (4, 8)]
STOCHASTIC = {"storage": {"param": "bf16_stochastic"}}
MAKERS = {
    "SGD": lambda params, **options: optim.SGD(params, lr=0.1, **options),
    "SGD with momentum": lambda params, **options: optim.SGD(
        params, lr=0.1, momentum=0.9, **options
    ),
    "Muon": lambda params, **options: optim.Muon(params, lr=0.1, **options),
    "Muon in one rule": lambda params, **options: optim.Muon(
        params, lr=0.1, numerics="ieee", **options
    ),
}
# The others take no storage of parameters and no probes.
OF_ONE_RULE = sorted(MAKERS.keys() - {"Muon"})


def released(optimizer, make):
    optimizer.release()
    return optimizer


def moved(optimizer, make):
    for param in optimizer.param_groups[0]["params"]:
        param.data = param.data.clone()
    return optimizer


def copied(optimizer, make):
    return copy.deepcopy(optimizer)


def loaded(optimizer, make):
    params = [param.detach().clone() for param in optimizer.param_groups[0]["params"]]
    other = make(params)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    return other


def trained(make, change=lambda optimizer, make: optimizer):
    """Takes four steps, with a change in the middle."""
    optimizer = make(parameters(torch.bfloat16, SHAPES))
    rows = []
    for step in range(4):
        if step == 2:
            rows += optimizer.probe_values()
            optimizer = change(optimizer, make)
        set_gradients(optimizer.param_groups[0]["params"], step)
        optimizer.step()
    return optimizer, rows + optimizer.probe_values()


def step_again(optimizer):
    set_gradients(optimizer.param_groups[0]["params"], 0)
    optimizer.step()
    return optimizer


@pytest.mark.parametrize("change", [released, moved, copied, loaded])
@pytest.mark.parametrize("name", OF_ONE_RULE)
def test_random_numbers_continue(name, change):
    def make(params):
        return MAKERS[name](params, **STOCHASTIC)

    (one, _), (other, _) = trained(make), trained(make, change)
    pairs = zip(one.param_groups[0]["params"], other.param_groups[0]["params"], strict=True)
    assert all(a.equal(b) for a, b in pairs)
    assert [state["step"].item() for state in other.state.values()] == [4, 4]


@pytest.mark.parametrize("change", [released, moved, copied, loaded])
@pytest.mark.parametrize("name", OF_ONE_RULE)
def test_probes_continue(name, change):
    _, rows = trained(lambda params: MAKERS[name](params, probes=["update_ratio"]), change)
    assert sorted({row.step for row in rows}) == [1, 2, 3, 4]


@pytest.mark.parametrize("name", MAKERS)
def test_others_have_no_count(name):
    optimizer, _ = trained(MAKERS[name])
    assert all("step" not in state for state in optimizer.state.values())


@pytest.mark.parametrize("name", OF_ONE_RULE)
def test_torch_loads_the_count_and_it_may_lack(name):
    optimizer, _ = trained(lambda params: MAKERS[name](params, **STOCHASTIC))
    plain, _ = trained(MAKERS[name])
    kind = torch.optim.SGD if name.startswith("SGD") else torch.optim.Muon
    options = {"momentum": 0.9} if name != "SGD" else {}
    theirs = kind(parameters(torch.bfloat16, SHAPES), lr=0.1, **options)
    theirs.load_state_dict(optimizer.state_dict())
    step_again(theirs)
    for saved in (theirs, plain):
        ours = MAKERS[name](parameters(torch.bfloat16, SHAPES), **STOCHASTIC)
        ours.load_state_dict(saved.state_dict())
        step_again(ours)


def test_a_count_that_nothing_reads_changes_nothing():
    optimizer, _ = trained(lambda params: MAKERS["SGD with momentum"](params, **STOCHASTIC))
    saved = optimizer.state_dict()
    ends = []
    for drops in (False, True):
        for state in saved["state"].values() if drops else ():
            del state["step"]
        ours = MAKERS["SGD with momentum"](parameters(torch.bfloat16, SHAPES))
        ours.load_state_dict(copy.deepcopy(saved))
        step_again(ours)
        ends.append(ours.param_groups[0]["params"])
    assert all(one.equal(other) for one, other in zip(*ends, strict=True))


def test_momentum_that_begins_later_begins_with_the_gradient():
    """The first buffer is the undamped gradient, as in torch."""
    ends = []
    for probes in ((), ["update_ratio"]):
        optimizer = optim.SGD(parameters(shapes=SHAPES), lr=0.1, probes=probes)
        for step in range(4):
            if step == 2:
                optimizer.param_groups[0].update(momentum=0.9, dampening=0.5)
            set_gradients(optimizer.param_groups[0]["params"], step)
            optimizer.step()
        ends.append(optimizer.param_groups[0]["params"])
    assert all(one.equal(other) for one, other in zip(*ends, strict=True))
