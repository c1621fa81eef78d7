"""Dicts that the caller assigns to or in `optimizer.state`: the step uses them directly."""

import collections
import copy
import pickle

import pytest
import torch

from updraft import optim

from .torch_training import assert_close, parameters, set_gradients


def step(optimizer, params, number):
    set_gradients(params, number)
    optimizer.step()


def run_alike(program, name="SGD", **options):
    """Runs a program with torch's class and with ours, and compares the parameters."""
    options = options or {"lr": 0.1, "momentum": 0.9}
    results = []
    for module in (torch.optim, optim):
        params = parameters(shapes=[(3,), (1,), (2, 2)])
        optimizer = getattr(module, name)(params, **options)
        step(optimizer, params, 0)
        program(optimizer, params)
        step(optimizer, params, 7)
        results.append((params, optimizer))
    (theirs, their), (ours, our) = results
    assert_close(theirs, ours, 10)
    assert [their.state.get(p, {}).keys() for p in theirs] == [
        our.state.get(p, {}).keys() for p in ours
    ]


def buffer(value=50.0):
    return {"momentum_buffer": torch.full((3,), value)}


def assign(optimizer):
    """Makes a dict of the caller the state, with the same entries."""
    states = collections.defaultdict(dict)
    for param, state in optimizer.state.items():
        states[param] = dict(state)
    optimizer.state = states
    assert optimizer.state is states
    return states


def test_the_same_object_put_back():
    def program(optimizer, params):
        states = optimizer.state
        optimizer.state = states
        assert optimizer.state is states
        step(optimizer, params, 1)
        states[params[0]]["momentum_buffer"].zero_()
        states[params[0]] = buffer()
        assert optimizer.state is states

    run_alike(program)


OF_ALL = {
    "set": lambda d, p: d.__setitem__(p, buffer()),
    "delete": lambda d, p: d.__delitem__(p),
    "clear": lambda d, p: d.clear(),
    "pop": lambda d, p: d.pop(p),
    "popitem": lambda d, p: d.popitem(),
    "update": lambda d, p: d.update({p: buffer()}),
    "setdefault": lambda d, p: (d.pop(p), d.setdefault(p, buffer())),
    "ior": lambda d, p: d.__ior__({p: buffer()}),
    "missing": lambda d, p: (d.pop(p), d[p].update(buffer())),
}
OF_ONE = {
    "set": lambda d: d.__setitem__("momentum_buffer", torch.full((3,), 50.0)),
    "delete": lambda d: d.__delitem__("momentum_buffer"),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop("momentum_buffer"),
    "popitem": lambda d: d.popitem(),
    "update": lambda d: d.update(buffer()),
    "setdefault": lambda d: (
        d.clear(),
        d.setdefault("momentum_buffer", buffer()["momentum_buffer"]),
    ),
    "ior": lambda d: d.__ior__(buffer()),
}


@pytest.mark.parametrize("change", OF_ALL)
@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "after a step"])
def test_changes_of_an_assigned_dict(change, is_late):
    def program(optimizer, params):
        states = assign(optimizer)
        if is_late:
            step(optimizer, params, 1)
        OF_ALL[change](states, params[0])
        step(optimizer, params, 2)
        assert optimizer.state is states
        OF_ALL[change](states, params[0])

    run_alike(program)


@pytest.mark.parametrize("change", OF_ONE)
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
@pytest.mark.parametrize("is_assigned", [False, True], ids=["in ours", "in an assigned dict"])
def test_changes_of_the_dict_of_a_parameter(change, kind, is_assigned):
    def program(optimizer, params):
        states = assign(optimizer) if is_assigned else optimizer.state
        mine = states[params[0]] = kind(buffer(5.0))
        assert optimizer.state[params[0]] is mine
        step(optimizer, params, 1)
        assert optimizer.state[params[0]] is mine
        OF_ONE[change](mine)
        step(optimizer, params, 2)
        assert list(mine) == ["momentum_buffer"]
        OF_ONE[change](mine)

    run_alike(program)


def test_an_assigned_dict_gets_new_states_at_once():
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    optimizer.state = states = collections.defaultdict(dict)
    step(optimizer, params, 0)
    assert dict.__len__(states) == 2
    assert type(states[params[0]]) is dict
    known = dict(states[params[0]])
    step(optimizer, params, 1)
    assert all(states[params[0]][name] is value for name, value in known.items())
    assert known["step"].item() == 2


def test_an_assigned_dict_without_defaults():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param])
    optimizer.state = states = {}
    step(optimizer, [param], 0)
    assert list(states[param]) == ["step", "exp_avg", "exp_avg_sq"]


def test_a_state_that_is_not_a_mapping_is_refused():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param])
    before = optimizer.state
    with pytest.raises(TypeError) as refused:
        optimizer.state = 3
    assert str(refused.value) == "`state` is <class 'int'>; give a dict"
    assert optimizer.state is before


def test_nothing_is_recreated_without_changes():
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    step(optimizer, params, 0)
    assign(optimizer)
    step(optimizer, params, 1)
    compiled = optimizer._compiled[0]
    for number in range(3):
        step(optimizer, params, number)
    assert optimizer._compiled[0] is compiled


def test_an_assigned_dict_of_other_types_than_the_rule_has():
    def program(optimizer, params):
        states = assign(optimizer)
        states[params[0]]["step"] = 3
        step(optimizer, params, 1)
        assert optimizer.state is states

    params = parameters(shapes=[(3,)])
    optimizer = optim.AdamW(params)
    step(optimizer, params, 0)
    program(optimizer, params)
    assert optimizer.state[params[0]]["step"].item() == 4


def test_two_optimizers_that_share_their_states():
    results = []
    for module in (torch.optim, optim):
        params = parameters(shapes=[(3,), (2, 2)])
        first, second = (module.SGD(params, lr=lr, momentum=0.9) for lr in (0.1, 0.01))
        second.state = first.state
        assert second.state is first.state
        for number in range(3):
            step(first, params, number)
            step(second, params, 10 + number)
        first.state[params[0]]["momentum_buffer"] = torch.full((3,), 50.0)
        step(second, params, 20)
        second.state[params[1]].clear()
        step(first, params, 21)
        results.append(params)
    assert_close(*results, 10)


def test_two_optimizers_that_share_the_dict_of_a_parameter():
    results = []
    for module in (torch.optim, optim):
        (param,) = parameters(shapes=[(3,)])
        first, second = (module.SGD([param], lr=lr, momentum=0.9) for lr in (0.1, 0.01))
        step(first, [param], 0)
        second.state[param] = first.state[param]
        step(second, [param], 1)
        first.state[param]["momentum_buffer"] = torch.full((3,), 50.0)
        step(second, [param], 2)
        results.append([param])
    assert_close(*results, 10)


def test_assigned_and_given_back():
    def program(optimizer, params):
        own = optimizer.state
        assign(optimizer)
        step(optimizer, params, 1)
        optimizer.state = own
        assert optimizer.state is own

    run_alike(program)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_have_dicts_of_their_own(copied):
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    step(optimizer, params, 0)
    states = assign(optimizer)
    step(optimizer, params, 1)
    other = copied(optimizer)
    mine = other.param_groups[0]["params"]
    assert other.state is not states
    assert [*other.state] == mine
    for number in range(2, 4):
        step(optimizer, params, number)
        step(other, mine, number)
    assert_close(params, mine, 1)
    assert states[params[0]]["step"].item() == other.state[mine[0]]["step"].item() == 4


def test_state_dicts_of_an_assigned_dict():
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    step(optimizer, params, 0)
    states = assign(optimizer)
    saved = copy.deepcopy(optimizer.state_dict())
    step(optimizer, params, 1)
    optimizer.load_state_dict(saved)
    assert optimizer.state is not states
    assert states[params[0]]["step"].item() == 2
    assert optimizer.state[params[0]]["step"].item() == 1
    step(optimizer, params, 1)
    assert optimizer.state[params[0]]["step"].item() == 2


def test_a_differentiable_step():
    param = torch.zeros(3)
    optimizer = optim.SGD([param], lr=0.1, momentum=0.9, differentiable=True)
    optimizer.state = states = collections.defaultdict(dict)
    for number in range(3):
        step(optimizer, [param], number)
    states[param]["momentum_buffer"] = torch.full((3,), 50.0)
    step(optimizer, [param], 4)
    assert (param < -3).all()


@pytest.mark.parametrize("is_given_back", [False, True])
def test_dicts_are_made_of_their_own_classes(is_given_back):
    """As in libraries that move all tensors of a nested container."""
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    step(optimizer, params, 0)
    for param in params:
        state = optimizer.state[param]
        rebuilt = type(state)(collections.OrderedDict(state))
        assert rebuilt == dict(state)
        if is_given_back:
            optimizer.state[param] = rebuilt
            assert optimizer.state[param] is rebuilt
            rebuilt["step"] = torch.tensor(7.0)
    states = optimizer.state
    whole = type(states)(states.default_factory, collections.OrderedDict(states))
    assert whole.keys() == states.keys()
    step(optimizer, params, 1)
    assert optimizer.state[params[0]]["step"].item() == (8 if is_given_back else 2)
    if is_given_back:
        optimizer.state = whole
        whole[params[0]]["step"] = torch.tensor(20.0)
        step(optimizer, params, 2)
        assert whole[params[0]]["step"].item() == 21


def test_step_count_of_one_element_is_counted_in_place():
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.Adam([param], lr=0.1)
    count = torch.zeros(1)
    optimizer.state[param].update(step=count, exp_avg=torch.zeros(3), exp_avg_sq=torch.zeros(3))
    for expected in (1, 2):
        param.grad = torch.ones(3)
        optimizer.step()
        assert count.tolist() == [expected]
