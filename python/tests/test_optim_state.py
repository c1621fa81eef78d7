"""`optimizer.state` is filled lazily, on first access."""

import copy
import pickle

import pytest
import torch

from updraft import optim

from .torch_training import groups_of, parameters, set_gradients


def stepped():
    """An optimizer whose states nobody has accessed."""
    params = parameters(shapes=[(9,), (4, 2), (2, 3)])
    optimizer = optim.AdamW(groups_of(params))
    held = optimizer.state
    set_gradients(params, 0, absent={1})
    optimizer.step()
    return params, optimizer, held


LOOKS = {
    "len": len,
    "bool": lambda states: 2 * bool(states),
    "iter": lambda states: len(list(states)),
    "reversed": lambda states: len(list(reversed(states))),
    "dict": lambda states: len(dict(states)),
    "unpacked": lambda states: len({**states}),
    "keys": lambda states: len(states.keys()),
    "values": lambda states: sum("exp_avg" in state for state in states.values()),
    "items": lambda states: len(states.items()),
    "equal": lambda states: 2 * (states != {}),
    "copy": lambda states: len(states.copy()),
    "copied": lambda states: len(copy.copy(states)),
    "deepcopied": lambda states: len(copy.deepcopy(states)),
    "pickled": lambda states: len(pickle.loads(pickle.dumps(states))),
    "or": lambda states: len(states | {}),
    "ror": lambda states: len({} | states),
    "repr": lambda states: repr(states).count("'exp_avg'"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_states_are_there_when_somebody_looks(look):
    _, optimizer, held = stepped()
    assert LOOKS[look](held) == 2
    assert LOOKS[look](optimizer.state) == 2


def test_single_states_are_there_when_somebody_looks():
    (first, without, last), optimizer, held = stepped()
    assert first in held and without not in held
    assert held[last]["step"] == 1
    assert held.get(first) is optimizer.state[first]
    assert [*held] == [first, last]
    _, optimizer, held = stepped()
    assert held.pop(optimizer.param_groups[0]["params"][0])["step"] == 1
    _, optimizer, held = stepped()
    del held[optimizer.param_groups[0]["params"][0]]
    assert len(held) == 1
    params, optimizer, held = stepped()
    held.clear()
    set_gradients(params, 1)
    optimizer.step()
    assert [state["step"] for state in held.values()] == [1, 1, 1]
    params, optimizer, held = stepped()
    optimizer.release()
    set_gradients(params, 1)
    optimizer.step()
    assert [held[param]["step"] for param in params] == [2, 1, 2]


def test_a_state_that_somebody_has_before_it_is_filled():
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.AdamW([param])
    state = optimizer.state[param]
    set_gradients([param], 0)
    optimizer.step()
    assert list(state) == ["step", "exp_avg", "exp_avg_sq"]


def test_versions_of_states():
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.AdamW([param])
    set_gradients([param], 0)
    optimizer.step()
    state = dict(optimizer.state[param])
    before = [value._version for value in state.values()]
    optimizer.step()
    assert all(v._version > old for v, old in zip(state.values(), before, strict=True))


def test_states_that_only_tensors_of_other_dimensions_have():
    factored, whole = ("row_var", "col_var"), ("variance",)
    for shape, names, kind in ((12,), factored, "matrices"), ((4, 3), whole, "vectors"):
        (param,) = parameters(shapes=[shape])
        optimizer = optim.Adafactor([param])
        state = optimizer.state[param]
        state["step"] = torch.tensor(3.0)
        state |= {name: torch.ones(4, 3) for name in names}
        set_gradients([param], 0)
        message = f"^parameter `0` has no state `{names[0]}`, which is for {kind} only$"
        with pytest.raises(IndexError, match=message):
            optimizer.step()


def test_load_post_hook_may_add_a_group():
    saved = optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.5, momentum=0.9)
    optimizer = optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1, momentum=0.9)
    added = torch.nn.Parameter(torch.ones(2))
    optimizer.register_load_state_dict_post_hook(
        lambda self: self.add_param_group({"params": [added]})
    )
    optimizer.load_state_dict(saved.state_dict())
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]


def test_load_post_hook_sees_states_in_the_saved_dtype():
    param = torch.nn.Parameter(torch.ones(3))
    saved = optim.Lion([param], lr=0.5)
    param.grad = torch.ones(3)
    saved.step()
    state = saved.state_dict()
    state["state"][0]["exp_avg"] = state["state"][0]["exp_avg"].double()
    optimizer = optim.Lion([param], lr=0.5)
    seen = []
    optimizer.register_load_state_dict_post_hook(
        lambda self: seen.append(self.state[param]["exp_avg"].dtype)
    )
    optimizer.load_state_dict(state)
    assert seen == [torch.float64]
