"""If one part of a step refuses, no part is stepped."""

import copy
import functools
import itertools

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft import optim
from updraft.optim import devices

SHAPE = (6, 4)


def dense(param):
    param.grad = torch.ones_like(param)


def of_another_shape(param):
    dense(param)
    param.grad.data = torch.ones(2, 2)


def of_another_type(param):
    dense(param)
    param.grad.data = torch.ones(SHAPE, dtype=torch.complex64)


def sparse(param):
    param.grad = torch.ones(SHAPE).to_sparse()


def in_its_own_memory(param):
    param.grad = param.detach().view(SHAPE)


REFUSED = {
    "shape": (of_another_shape, "is .*, but the parameter is|another shape|has shape"),
    "dtype": (of_another_type, "is .*, but the parameter is|complex"),
    "sparse": (sparse, "sparse"),
    "overlap": (in_its_own_memory, "overlaps"),
}


def with_gaps():
    return torch.nn.Parameter(torch.ones(6, 8)[:, ::2])


def plain():
    return torch.nn.Parameter(torch.ones(SHAPE))


def of_a_subclass():
    return torch.nn.Parameter(TwoTensor(torch.ones(SHAPE), torch.ones(SHAPE)))


KINDS = {"plain": plain, "gaps": with_gaps, "subclass": of_a_subclass}


def observed(optimizer, params):
    values = [param.detach().clone() for param in params]
    return values, copy.deepcopy(optimizer.state_dict()["state"])


def same(one, other):
    if isinstance(one, TwoTensor):
        return same(one.a, other.a) and same(one.b, other.b)
    return one.equal(other)


def assert_same(before, after):
    assert all(map(same, before[0], after[0]))
    assert before[1].keys() == after[1].keys()
    for number, state in before[1].items():
        assert state.keys() == after[1][number].keys()
        assert all(same(value, after[1][number][name]) for name, value in state.items())


@pytest.fixture(params=["cpu", "emulator"])
def device(request, monkeypatch):
    if request.param == "emulator":
        monkeypatch.setattr(devices, "is_emulated", lambda tensor: True)


@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
@pytest.mark.parametrize("refused", REFUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_that_are_refused(device, kind, refused, first):
    refuse, text = REFUSED[refused]
    params = [KINDS[kind](), plain(), torch.nn.Parameter(torch.ones(3).double()), plain()]
    optimizer = optim.AdamW([{"params": params[:3]}, {"params": params[3:], "lr": 0.1}])
    for param in params:
        dense(param)
    if not first:
        optimizer.step()
    before = observed(optimizer, params)
    refuse(params[3])
    with pytest.raises((ValueError, RuntimeError), match=text):
        optimizer.step()
    assert_same(before, observed(optimizer, params))

    # Everything is as before the step.
    others = [param.detach().clone().requires_grad_() for param in params]
    fresh = optim.AdamW([{"params": others[:3]}, {"params": others[3:], "lr": 0.1}])
    fresh.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for param in (*params, *others):
        dense(param)
    optimizer.step()
    fresh.step()
    assert_same(observed(fresh, others), observed(optimizer, params))


@pytest.mark.parametrize("max_norm", [None, 0.5])
def test_memory_that_moves_beside_what_is_refused(device, max_norm):
    params = [plain(), plain(), plain()]
    optimizer = optim.AdamW([{"params": [param]} for param in params])
    if max_norm is not None:
        optim.with_clipping(optimizer, max_norm)
    for param in params:
        dense(param)
    optimizer.step()
    params[1].data = params[1].detach().clone()
    params[2].grad = params[2].detach().view(SHAPE)
    before = observed(optimizer, params)
    with pytest.raises((ValueError, RuntimeError), match="overlaps"):
        optimizer.step()
    assert_same(before, observed(optimizer, params))
    dense(params[2])
    optimizer.step()
    assert all(param.equal(params[0]) for param in params)
    assert {state["step"].item() for state in optimizer.state.values()} == {2}


@pytest.mark.parametrize("found", [0.0, 1.0])
def test_a_scaler_and_what_is_refused(device, found):
    params = [plain(), plain()]
    optimizer = optim.AdamW([{"params": [param]} for param in params], lr=0.1)
    for refused in (True, False):
        dense(params[0])
        (in_its_own_memory if refused else dense)(params[1])
        optimizer.grad_scale, optimizer.found_inf = torch.tensor(2.0), torch.tensor(found)
        try:
            optimizer.step()
        except (ValueError, RuntimeError) as error:
            assert refused and "overlaps" in str(error)
        for name in ("grad_scale", "found_inf"):
            vars(optimizer).pop(name, None)
        stepped = not refused and not found
        assert all((param != 1).all() == stepped for param in params)


def test_a_rule_of_ones_own(device):
    params = [plain(), plain()]
    optimizer = updraft.optimizer("Lion", [{"params": [param]} for param in params], lr=0.5)
    dense(params[0])
    in_its_own_memory(params[1])
    with pytest.raises((ValueError, RuntimeError), match="overlaps"):
        optimizer.step()
    assert not optimizer.state and all((param == 1).all() for param in params)


def muon(params, **options):
    return optim.Muon([{"params": [param]} for param in params], **options)


@pytest.mark.parametrize("kind", KINDS)
def test_muon(device, kind):
    params = [KINDS[kind](), plain()]
    optimizer = muon(params)
    for param in params:
        dense(param)
    optimizer.step()
    before = observed(optimizer, params)
    sparse(params[1])
    with pytest.raises((ValueError, RuntimeError), match="sparse"):
        optimizer.step()
    assert_same(before, observed(optimizer, params))


@pytest.mark.parametrize(
    "change", [lambda grad: grad[:2], TwoTensor.cfloat], ids=["shape", "dtype"]
)
def test_gradients_of_subclasses_that_muon_refuses(change):
    params = [plain(), of_a_subclass()]
    optimizer = muon(params)
    for param in params:
        dense(param)
    before = observed(optimizer, params)
    params[1].grad.data = change(params[1].grad)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient"):
        optimizer.step()
    assert_same(before, observed(optimizer, params))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", [{"ns_steps": 100}, {"ns_coefficients": (1.0, 2.0)}], ids=str)
def test_invalid_groups_of_muon(kind, change):
    params = [plain(), KINDS[kind]()]
    optimizer = muon(params)
    for param in params:
        dense(param)
    optimizer.step()
    before = observed(optimizer, params)
    options = optimizer.param_groups[1]
    kept = dict(options)
    options.update(change)
    with pytest.raises(ValueError, match=r"Number of steps|exactly 3 values"):
        optimizer.step()
    assert_same(before, observed(optimizer, params))
    options.update(kept)
    optimizer.step()
    assert not any(map(same, before[0], observed(optimizer, params)[0]))


def test_steps_that_autograd_follows():
    """A leaf among the tensors that the graph would have changed."""
    start = [torch.ones(3, requires_grad=True) for _ in range(2)]
    params = [start[0].clone(), start[1], start[1].clone()]
    groups = [{"params": [param]} for param in params]
    for param in params:
        param.retain_grad()
        param.grad = torch.ones(3)
    optimizer = optim.SGD(groups, lr=0.5, momentum=0.9, differentiable=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        optimizer.step()
    assert not optimizer.state
    assert all((param == 1).all() for param in params)


def in_graph(*shape):
    return torch.ones(shape, requires_grad=True).clone()


def expanded():
    return in_graph(1, 3).expand(2, 3)


def one_of_several_views():
    return in_graph(2, 3).unbind()[0]


def view_without_gradients():
    whole = in_graph(3)
    with torch.no_grad():
        return whole.view(3, 1)


def from_inference():
    with torch.inference_mode():
        return torch.ones(3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (expanded, "more than one element of the written-to tensor"),
        (one_of_several_views, "MULTI_OUTPUT_NODE"),
        (view_without_gradients, "NO_GRAD_MODE"),
        (from_inference, "Inplace update to inference tensor"),
    ],
)
def test_tensors_that_autograd_does_not_let_a_step_write(make, text):
    params = [in_graph(3), make()]
    for param in params:
        if param.requires_grad and not param.is_leaf:
            param.retain_grad()
        param.grad = torch.ones_like(param)
    groups = [{"params": [param]} for param in params]
    optimizer = optim.SGD(groups, lr=0.5, momentum=0.9, differentiable=True)
    with pytest.raises(RuntimeError, match=text):
        optimizer.step()
    assert not optimizer.state
    assert all((param == 1).all() for param in params)


class Stepping(TwoTensor):
    """Steps an optimizer during each operation, once."""

    optimizer = None

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        optimizer, cls.optimizer = cls.optimizer, None
        if optimizer is not None:
            optimizer.step()
        return super().__torch_dispatch__(func, types, args, kwargs)


def test_a_step_within_a_step():
    params = [plain(), torch.nn.Parameter(Stepping(torch.ones(SHAPE), torch.ones(SHAPE)))]
    optimizer = optim.AdamW(params)
    dense(params[0])
    params[1].grad = TwoTensor(torch.ones(SHAPE), torch.ones(SHAPE))
    Stepping.optimizer = optimizer
    with pytest.raises(RuntimeError, match="a parameter called `step` of its optimizer"):
        optimizer.step()
    assert (params[0] == 1).all() and not optimizer.state
    optimizer.step()
    assert (params[0] != 1).all()


class Calling(TwoTensor):
    """Calls a function at one of the operators, once."""

    function = None
    operators_before = 0

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs):
        cls.operators_before -= 1
        if cls.operators_before < 0 and cls.function is not None:
            function, cls.function = cls.function, None
            function()
        return super().__torch_dispatch__(func, types, args, kwargs)


def move(*tensors):
    for tensor in tensors:
        tensor.share_memory_()


def test_memory_that_a_tensor_frees_in_a_step():
    for at in itertools.count():
        params = [plain() for _ in range(4)]
        params[2] = torch.nn.Parameter(Calling(torch.ones(SHAPE), torch.ones(SHAPE)))
        optimizer = optim.SGD([{"params": [param]} for param in params], lr=0.5)
        for param in params:
            dense(param)
        Calling.operators_before = at
        Calling.function = functools.partial(move, params[0], params[3].grad)
        optimizer.step()
        if Calling.function is not None:
            break
        assert all((getattr(param.detach(), "a", param) == 0.5).all() for param in params), at
    assert at > 5
