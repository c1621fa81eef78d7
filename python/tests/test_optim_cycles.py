"""Cycles through an optimizer are freed, as with the classes of torch."""

import gc
import weakref

import pytest
import torch

import updraft
from updraft import optim
from updraft.optim import devices

from .torch_training import DENSE_CASES, parameters, set_gradients


def is_freed(make_cycle):
    """Whether an optimizer and its parameters, from `make_cycle`, are freed."""
    gc.collect()
    optimizer, *params = make_cycle()
    references = [weakref.ref(optimizer), *map(weakref.ref, params)]
    del optimizer, params
    gc.collect()
    return all(reference() is None for reference in references)


def stepped(make, params, count=2):
    optimizer = make(params)
    for step in range(count):
        set_gradients(params, step)
        optimizer.step()
    return optimizer


def owned_parameter(make, **options):
    def make_cycle():
        params = parameters(shapes=[(3, 3)] * 10, **options)
        optimizer = stepped(make, params)
        params[0].owner = optimizer
        return optimizer, params[0]

    return make_cycle


@pytest.mark.parametrize(("name", "options"), [*DENSE_CASES, ("LBFGS", {})])
def test_a_parameter_that_leads_back(name, options):
    def make_cycle(module):
        params = parameters(shapes=[(3, 3)] * 10)
        optimizer = getattr(module, name)(params, **options)

        def closure():
            set_gradients(params, 0)
            return params[0].sum()

        for _ in range(2):
            optimizer.step(closure)
        params[0].owner = optimizer
        return optimizer, *params

    assert is_freed(lambda: make_cycle(torch.optim))
    assert is_freed(lambda: make_cycle(optim))


def test_parameters_of_several_groups_and_types():
    def make_cycle():
        params = [*parameters(shapes=[(3,)] * 2), *parameters(torch.float64, shapes=[(3,)])]
        groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.1}]
        optimizer = optim.AdamW(groups)
        for step in range(2):
            set_gradients(params, step)
            optimizer.step()
        for param in params:
            param.owner = optimizer
        return optimizer, *params

    assert is_freed(make_cycle)


def test_a_module_that_leads_back():
    def make_cycle():
        module = torch.nn.Linear(3, 2)
        module.optimizer = stepped(optim.AdamW, [*module.parameters()])
        module.weight.owner = module
        return module.optimizer, module.weight, module

    assert is_freed(make_cycle)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.bfloat16])
def test_parameters_of_other_types(dtype):
    assert is_freed(owned_parameter(optim.AdamW, dtype=dtype))


def test_parameters_that_are_copied_in_each_step():
    def make_cycle():
        memory = torch.zeros(4, 6)
        param = torch.nn.Parameter(memory[:, ::2])
        optimizer = stepped(optim.AdamW, [param])
        param.owner = optimizer
        return optimizer, param

    assert is_freed(make_cycle)


def test_sparse_gradients():
    def make_cycle():
        embedding = torch.nn.Embedding(5, 3, sparse=True)
        optimizer = optim.SparseAdam([*embedding.parameters()])
        for _ in range(2):
            optimizer.zero_grad()
            embedding(torch.tensor([1, 3])).sum().backward()
            optimizer.step()
        embedding.weight.owner = optimizer
        return optimizer, embedding.weight

    assert is_freed(make_cycle)


def test_clipped_gradients():
    assert is_freed(
        owned_parameter(lambda params: optim.with_clipping(optim.AdamW(params), max_norm=1.0))
    )


@pytest.mark.parametrize("storage", [{}, {"exp_avg": "q8_linear"}], ids=["plain", "blocks"])
def test_any_rule(storage):
    def make(params):
        return updraft.optimizer(updraft.load("AdamW"), params, storage=storage)

    assert is_freed(owned_parameter(make))


def test_a_step_through_torch():
    def make_cycle():
        param = torch.zeros(3)
        optimizer = stepped(lambda params: optim.AdamW(params, differentiable=True), [param])
        param.owner = optimizer
        return optimizer, param

    assert is_freed(make_cycle)


def test_parameters_on_a_device(monkeypatch):
    monkeypatch.setattr(devices, "is_emulated", lambda tensor: True)

    def make_cycle():
        params = parameters(shapes=[(3,), (2, 2)])
        optimizer = stepped(optim.AdamW, params)
        params[0].owner = optimizer
        optimizer.state[params[1]]["step"].owner = optimizer
        optimizer.state[params[1]]["exp_avg"].owner = optimizer
        return optimizer, *params

    assert is_freed(make_cycle)


@pytest.mark.parametrize("name", ["step", "exp_avg", "exp_avg_sq"])
@pytest.mark.parametrize("looks_again", [False, True], ids=["last step", "further steps"])
def test_a_state_that_leads_back(name, looks_again):
    def make_cycle():
        params = parameters(shapes=[(3,), (2, 2)])
        optimizer = stepped(optim.AdamW, params)
        optimizer.state[params[0]][name].owner = optimizer
        if looks_again:
            set_gradients(params, 5)
            optimizer.step()
        return optimizer, *params

    assert is_freed(make_cycle)


@pytest.mark.parametrize("name", ["step", "exp_avg"])
def test_a_state_of_the_caller_that_leads_back(name):
    def make_cycle():
        (param,) = parameters(shapes=[(3,)])
        optimizer = stepped(optim.AdamW, [param])
        state = optimizer.state[param]
        state[name] = state[name].clone()
        state[name].owner = optimizer
        for step in range(2):
            set_gradients([param], step)
            optimizer.step()
        return optimizer, param

    assert is_freed(make_cycle)


def test_a_loaded_state_that_leads_back():
    def make_cycle():
        (param,) = parameters(shapes=[(3,)])
        optimizer = stepped(optim.AdamW, [param])
        loaded = optim.AdamW([param])
        loaded.load_state_dict(optimizer.state_dict())
        param.grad = torch.ones(3)
        loaded.step()
        for state in loaded.state[param].values():
            state.owner = loaded
        return loaded, param

    assert is_freed(make_cycle)


def test_an_entry_of_a_group_that_leads_back():
    def make_cycle():
        params = parameters(shapes=[(3,)])
        lr = torch.tensor(0.1)
        optimizer = stepped(lambda some: optim.AdamW(some, lr=lr), params)
        optimizer.param_groups[0]["owner"] = optimizer
        lr.owner = optimizer
        return optimizer, *params, lr

    assert is_freed(make_cycle)


def test_parameters_die_with_their_optimizer():
    params = parameters(shapes=[(3,)] * 3)
    optimizer = stepped(optim.AdamW, params)
    references = [*map(weakref.ref, params)]
    states = [weakref.ref(state["exp_avg"]) for state in optimizer.state.values()]
    del params
    assert all(reference() is not None for reference in [*references, *states])
    del optimizer
    assert all(reference() is None for reference in [*references, *states])


def test_a_state_outlives_its_optimizer():
    (param,) = parameters(shapes=[(3,)])
    optimizer = stepped(optim.AdamW, [param], count=1)
    average, count = (optimizer.state[param][name] for name in ("exp_avg", "step"))
    expected = (0.1 * param.grad).detach()
    del optimizer
    gc.collect()
    torch.testing.assert_close(average, expected)
    assert count.item() == 1
