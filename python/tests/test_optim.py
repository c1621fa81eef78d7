"""The classes of `updraft.optim` beside those of `torch.optim`, which they stand in for."""

import copy
import io
import math
import pickle

import pytest
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from updraft import optim

from .test_against_torch import CASES, REFUSED

STEPS = 30
# Than the torch whose classes are the pattern.
OLDER = [int(part) for part in torch.__version__.split(".")[:2]] < [2, 15]
SHAPES = [(41, 29), (7,), (1,), (3, 5, 2), (), (0,), (64, 3, 3)]


def parameters(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(5)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype))
        for shape in shapes
    ]


def transposed(params):
    """The same values, with the memory of matrices the other way round."""
    return [
        torch.nn.Parameter(param.detach().t().contiguous().t()) if param.dim() == 2 else param
        for param in params
    ]


def set_gradients(params, step, absent=()):
    generator = torch.Generator().manual_seed(step)
    for number, param in enumerate(params):
        grad = torch.randn(param.shape, generator=generator, dtype=torch.float64)
        param.grad = None if number in absent else grad.to(param.dtype)


def groups_of(params):
    """Two groups of different learning rates and decays."""
    return [{"params": params[:3]}, {"params": params[3:], "lr": 0.02}]


def create(module, case, params):
    options = dict(case.options)
    if module is torch.optim and case.optimizer is not torch.optim.SparseAdam:
        options["foreach"] = False
    return getattr(module, case.optimizer.__name__)(params, **options)


def assert_close(theirs, ours, steps=STEPS, dtype=None):
    for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if their.numel() == 0:
            continue
        spacing = torch.finfo(dtype or their.dtype).eps * max(their.detach().abs().max().item(), 1)
        error = (their.detach().double() - our.detach().double()).abs().max().item()
        assert error <= 2 * steps * spacing, f"parameter {number}: {error / spacing} ULP"


def assert_same_states(theirs, ours):
    their_states, our_states = theirs.state_dict()["state"], ours.state_dict()["state"]
    assert their_states.keys() == our_states.keys()
    for number, state in their_states.items():
        assert list(state) == list(our_states[number])
        for name, value in state.items():
            other = our_states[number][name]
            assert (other.shape, other.dtype) == (value.shape, value.dtype), name


def without_empty(case):
    # torch's Adafactor divides by the number of elements.
    empty = case.optimizer is torch.optim.Adafactor
    return [shape for shape in SHAPES if not empty or shape != (0,)]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_thirty_steps(case, dtype):
    theirs, ours = (parameters(dtype, without_empty(case)) for _ in range(2))
    reference = create(torch.optim, case, groups_of(theirs))
    optimizer = create(optim, case, groups_of(ours))
    for step in range(STEPS):
        for params in (theirs, ours):
            set_gradients(params, step, absent={0} if step % 7 == 3 else {4} if step < 2 else ())
        reference.step()
        optimizer.step()
    # NAdam's product of momenta is f32 whatever the parameter is, and torch multiplies it in f32.
    nadam = case.optimizer is torch.optim.NAdam
    assert_close(theirs, ours, dtype=torch.float32 if nadam else None)
    assert_same_states(reference, optimizer)
    assert repr(optimizer).replace("None", "False") == repr(reference).replace("None", "False")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_state_goes_to_torch_and_back(case):
    theirs, ours = (parameters(shapes=without_empty(case)) for _ in range(2))
    reference = create(torch.optim, case, groups_of(theirs))
    optimizer = create(optim, case, groups_of(ours))
    for step in range(STEPS):
        if step in (10, 20):
            saved = io.BytesIO()
            torch.save(optimizer.state_dict(), saved)
            saved.seek(0)
            optimizer = create(torch.optim if step == 10 else optim, case, groups_of(ours))
            optimizer.load_state_dict(torch.load(saved, weights_only=True))
        for params in (theirs, ours):
            set_gradients(params, step)
        reference.step()
        optimizer.step()
    assert_close(theirs, ours)
    assert_same_states(reference, optimizer)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.optimizer is not torch.optim.Adafactor], ids=str
)
def test_memory_of_any_order(case):
    theirs, ours = (transposed(parameters(shapes=[(41, 29), (7, 3)])) for _ in range(2))
    reference, optimizer = create(torch.optim, case, theirs), create(optim, case, ours)
    for step in range(5):
        for params in (theirs, ours):
            set_gradients(params, step)
        reference.step()
        optimizer.step()
    assert_close(theirs, ours, 5)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refuses_with_the_words_of_torch(case):
    optimizer, _, options = case
    if optimizer is torch.optim.ASGD and OLDER:
        pytest.skip("this torch refuses no arguments of ASGD")
    with pytest.raises(Exception) as theirs:
        optimizer(parameters(), **options)
    with pytest.raises(type(theirs.value)) as ours:
        getattr(optim, optimizer.__name__)(parameters(), **options)
    assert str(ours.value) == str(theirs.value)


def test_is_an_optimizer_of_torch():
    optimizer = optim.AdamW(parameters())
    assert isinstance(optimizer, torch.optim.AdamW)
    assert optimizer.defaults == torch.optim.AdamW(parameters()).defaults


def test_gradients_are_only_read():
    (param,) = parameters(shapes=[(5, 3)])
    param.grad = torch.randn(5, 3)
    grad, copied = param.grad, param.grad.clone()
    optim.SGD([param], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1).step()
    assert param.grad is grad
    assert grad.equal(copied)
    assert grad._version == 0


def test_versions_tell_autograd_of_the_change():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param])
    squared = param.square().sum()
    param.grad = torch.ones(3)
    before = param._version
    optimizer.step()
    assert param._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.backward()
    average = optimizer.state[param]["exp_avg"]
    assert optimizer.state[param]["step"].item() == 1
    optimizer.step()
    assert optimizer.state[param]["exp_avg"] is average


def scheduled(make):
    def steps(module):
        params = parameters(shapes=[(9,)])
        optimizer = module.SGD(params, lr=0.1, momentum=0.9)
        scheduler = make(optimizer)
        for step in range(12):
            set_gradients(params, step)
            optimizer.step()
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(1.0)
            else:
                scheduler.step()
        return params

    assert_close(steps(torch.optim), steps(optim), 12)


@pytest.mark.parametrize(
    "make",
    [
        lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 0.9**epoch),
        lambda o: torch.optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=14),
        lambda o: torch.optim.lr_scheduler.CyclicLR(o, base_lr=0.01, max_lr=0.1, step_size_up=3),
        lambda o: torch.optim.lr_scheduler.ReduceLROnPlateau(o, patience=2),
        lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=4),
    ],
    ids=["lambda", "one_cycle", "cyclic", "plateau", "warm_restarts"],
)
def test_schedulers(make):
    scheduled(make)


def test_learning_rate_in_a_tensor():
    (param,) = parameters(shapes=[(3,)])
    before = param.detach().clone()
    rate = torch.tensor(0.5)
    optimizer = optim.SGD([param], lr=rate)
    param.grad = torch.ones(3)
    optimizer.step()
    rate.fill_(0.25)
    optimizer.step()
    assert torch.allclose(param, before - 0.75)


def test_hooks_and_closure():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("pre"))
    optimizer.register_step_post_hook(lambda *_: calls.append("post"))

    def closure():
        calls.append("closure")
        optimizer.zero_grad()
        loss = param.square().sum()
        loss.backward()
        return loss

    before = param.detach().clone()
    loss = optimizer.step(closure)
    assert loss.item() == pytest.approx(before.square().sum().item())
    assert torch.allclose(param, 0.8 * before)
    assert calls == ["pre", "closure", "post"]


def test_hooks_that_a_closure_adds():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    calls = []
    optimizer.step(lambda: optimizer.register_step_post_hook(lambda *_: calls.append("post")))
    assert calls == ["post"]


def test_hooks_of_all_optimizers():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    set_gradients([param], 0)
    calls = []
    handles = [
        register_optimizer_step_pre_hook(lambda *_: calls.append("pre")),
        register_optimizer_step_post_hook(lambda *_: calls.append("post")),
    ]
    try:
        optimizer.step()
    finally:
        for handle in handles:
            handle.remove()
    optimizer.step()
    assert calls == ["pre", "post"]


def test_profilers_see_steps():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.SGD([param], lr=0.1)
    set_gradients([param], 0)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        optimizer.step()
    assert "Optimizer.step#SGD.step" in {event.key for event in profile.key_averages()}


def test_one_step_for_each_call_of_compiled_code():
    """What torch.compile traces is run more than once on the first call; a step must not be."""
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param], lr=0.1)

    @torch.compile(backend="eager")
    def train(x):
        optimizer.zero_grad()
        (param * x).sum().backward()
        optimizer.step()

    counts = []
    for _ in range(3):
        train(torch.ones(3))
        counts.append(optimizer.state[param]["step"].item())
    assert counts == [1, 2, 3]


def test_added_groups_and_flags_that_change():
    theirs, ours = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    optimizers = [
        module.AdamW([params[0]], lr=0.1)
        for module, params in ((torch.optim, theirs), (optim, ours))
    ]
    for step in range(6):
        for params in (theirs, ours):
            set_gradients(params, step)
        for optimizer, params in zip(optimizers, (theirs, ours), strict=True):
            if step == 2:
                optimizer.add_param_group({"params": [params[1]], "lr": 0.01})
            if step == 4:
                optimizer.param_groups[0]["maximize"] = True
                optimizer.param_groups[1]["betas"] = (0.5, 0.9)
            optimizer.step()
    assert_close(theirs, ours, 6)


def test_states_that_are_changed_from_outside():
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(8):
        for params in (theirs, ours):
            set_gradients(params, step)
        for optimizer in optimizers:
            (state,) = optimizer.state.values() if step else ({},)
            if step == 2:
                state["exp_avg"].zero_()
            if step == 3:
                state["exp_avg_sq"] = torch.full((9,), 0.5)
            if step == 4:
                state["step"].fill_(40)
            if step == 5:
                optimizer.state.clear()
            optimizer.step()
    assert_close(theirs, ours, 8)


def test_a_step_count_that_is_a_number():
    """Files of older versions of torch have it so."""
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.AdamW([param])
    set_gradients([param], 0)
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 7
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 8


@pytest.mark.parametrize("assign", ["setdefault", "__ior__", "__setitem__", "update"])
def test_states_are_noticed_however_they_are_given(assign):
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.SGD([param], lr=0.5, momentum=0.5)
    given = {"momentum_buffer": torch.ones(9)}
    if assign in ("setdefault", "__setitem__"):
        getattr(optimizer.state, assign)(param, given)
    else:
        getattr(optimizer.state, assign)({param: given})
    before = param.detach().clone()
    param.grad = torch.zeros(9)
    optimizer.step()
    assert torch.allclose(param, before - 0.25)
    optimizer.state[param]["momentum_buffer"] = torch.zeros(9)
    optimizer.step()
    assert torch.allclose(param, before - 0.25)


def test_memory_that_is_replaced():
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                param.data = torch.ones(9)
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_memory_of_another_order():
    """The same memory, but seen otherwise."""
    theirs, ours = (parameters(shapes=[(3, 3)]) for _ in range(2))
    optimizers = torch.optim.SGD(theirs, lr=0.1, foreach=False), optim.SGD(ours, lr=0.1)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                param.data = param.data.t()
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_an_equal_parameter_in_place_of_another():
    old, new = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizer = optim.SGD([old], lr=0.0)
    old.grad = torch.ones(1)
    optimizer.step()
    optimizer.param_groups[0].update(params=[new], lr=1.0)
    new.grad = torch.ones(1)
    optimizer.step()
    assert old == 1 and new == 0


def test_step_counts_in_f64():
    """torch makes such ones where that is its default type."""
    theirs, ours = (parameters(shapes=[(3, 3)]) for _ in range(2))
    reference, optimizer = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(6):
        if step == 2:
            state = copy.deepcopy(reference.state_dict())
            state["state"][0]["step"] = state["state"][0]["step"].double()
            optimizer.load_state_dict(state)
        if step == 4:
            for each in (reference, optimizer):
                each.state_dict()["state"][0]["step"].fill_(40)
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step)
            each.step()
    assert optimizer.state[ours[0]]["step"].dtype == torch.float64
    assert optimizer.state[ours[0]]["step"] == 42
    assert_close(theirs, ours, 8)


def test_a_step_count_that_is_none():
    param = torch.nn.Parameter(torch.ones(1))
    optimizer = optim.AdamW([param])
    param.grad = torch.ones(1)
    optimizer.step()
    for count in (math.inf, math.nan, 1.5, -1.0):
        optimizer.state[param]["step"].fill_(count)
        with pytest.raises(ValueError, match=r"the step count of parameter 0 is .*; it is a whole"):
            optimizer.step()


def stepped():
    """An optimizer whose states nobody has looked at."""
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


def test_memory_that_is_freed_and_taken_again():
    """As sharded training does between steps."""
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                values, storage = param.detach().clone(), param.untyped_storage()
                size = storage.nbytes()
                storage.resize_(0)
                kept = [torch.zeros(9) for _ in range(8)]
                storage.resize_(size)
                param.data.copy_(values)
                del kept
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_many_parameters_of_all_kinds():
    """More than one thread looks at them."""
    kinds = [(3,), (2, 3), (), (0,), (2, 3, 2)]
    theirs, ours = (parameters(shapes=[kinds[i % 5] for i in range(5000)]) for _ in range(2))
    optimizers = torch.optim.Adam(theirs, lr=0.1), optim.Adam(ours, lr=0.1)
    for step in range(4):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            set_gradients(params, step, absent={5 * step, 700, 4999 - step})
            for param in params[1::50]:  # another layout than the parameter has
                param.grad = param.grad.t().contiguous().t()
            optimizer.step()
    assert_close(theirs, ours, 4)
    assert_same_states(*optimizers)


def test_gradients_of_other_shapes_are_refused():
    params = parameters(shapes=[(3,)] * 1000)
    optimizer = optim.AdamW(params)
    set_gradients(params, 0)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    params[900].grad.resize_(4)
    with pytest.raises(ValueError, match=r"gradient of parameter `900` is \[4\]"):
        optimizer.step()
    assert all(param.equal(value) for param, value in zip(params, before, strict=True))
    params[900].grad.resize_(3)
    optimizer.step()
    assert not params[900].equal(before[900])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies(duplicate):
    params = parameters(shapes=[(9,), (4, 2)])
    optimizer = optim.AdamW(params, lr=0.1, amsgrad=True)
    set_gradients(params, 0)
    optimizer.step()
    other = duplicate(optimizer)
    (copied_group,) = other.param_groups
    for params in (optimizer.param_groups[0]["params"], copied_group["params"]):
        set_gradients(params, 1)
    optimizer.step()
    other.step()
    for param, copied in zip(params, copied_group["params"], strict=True):
        assert param.equal(copied)
    plain = optimizer.state_dict()["state"]
    assert {type(state) for state in plain.values()} == {dict}


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_scaled_gradients(name):
    """A scaler's step is that of the unscaled gradients, or none if one is not finite."""
    ours, plain = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    optimizer, reference = getattr(optim, name)(ours, lr=0.1), getattr(optim, name)(plain, lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000)
    for step in range(4):
        set_gradients(plain, step)
        set_gradients(ours, step)
        scaler.scale(torch.ones(()))
        for param in ours:
            param.grad *= scaler.get_scale()
        if step == 2:
            ours[0].grad[0] = math.inf
        grads = [param.grad.clone() for param in ours]
        scaler.step(optimizer)
        scaler.update()
        assert all(param.grad.equal(grad) for param, grad in zip(ours, grads, strict=True))
        if step != 2:
            reference.step()
    assert_close(plain, ours, 4)


def test_complex_parameters_are_pairs():
    def steps(module):
        generator = torch.Generator().manual_seed(3)
        param = torch.nn.Parameter(torch.randn(6, 5, generator=generator, dtype=torch.complex64))
        optimizer = module.Adam([param], lr=0.1)
        for _ in range(5):
            param.grad = torch.randn(6, 5, generator=generator, dtype=torch.complex64)
            optimizer.step()
        return torch.view_as_real(param.detach()), optimizer

    (theirs, reference), (ours, optimizer) = steps(torch.optim), steps(optim)
    assert_close([theirs], [ours], 5)
    assert_same_states(reference, optimizer)


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_sparse_gradients(name):
    def steps(module):
        (table,) = parameters(shapes=[(20, 4)])
        optimizer = getattr(module, name)([table], lr=0.1)
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            rows = torch.randint(20, (1, 7), generator=generator)
            values = torch.randn(7, 4, generator=generator)
            table.grad = torch.sparse_coo_tensor(rows, values, (20, 4))
            optimizer.step()
        return [table]

    assert_close(steps(torch.optim), steps(optim), 4)


@pytest.mark.parametrize("options", [{}, {"lr": 0.05, "betas": (0.8, 0.99), "maximize": True}])
def test_sparse_adam(options):
    tables = [parameters(shapes=[(20, 4), (9,)]) for _ in range(2)]
    optimizers = [
        module.SparseAdam(params, **options)
        for module, params in zip((torch.optim, optim), tables, strict=True)
    ]
    for step in range(8):
        if step == 4:  # each goes on with the states of the other
            saved = [copy.deepcopy(optimizer.state_dict()) for optimizer in optimizers]
            for optimizer, other in zip(optimizers, reversed(saved), strict=True):
                optimizer.load_state_dict(other)
        for params in tables:
            generator = torch.Generator().manual_seed(step)
            for param in params:
                rows = torch.randint(len(param), (1, 7), generator=generator)
                values = torch.randn(7, *param.shape[1:], generator=generator)
                param.grad = torch.sparse_coo_tensor(rows, values, param.shape)
        for optimizer in optimizers:
            optimizer.step()
    assert_close(*tables, 8)
    for theirs, ours in zip(*(o.state_dict()["state"].values() for o in optimizers), strict=True):
        assert list(theirs) == list(ours)
        assert type(ours["step"]) is int
        assert ours["step"] == 8
    tables[1][0].grad = torch.ones(20, 4)
    with pytest.raises(RuntimeError) as error:
        optimizers[1].step()
    assert str(error.value) == (
        "SparseAdam does not support dense gradients, please consider Adam instead"
    )


@pytest.mark.parametrize("case", [c for c in CASES if not c.options], ids=str)
def test_sparse_gradients_are_refused_as_in_torch(case):
    if case.optimizer in (torch.optim.SGD, torch.optim.Adagrad):
        return
    messages = []
    for module in (torch.optim, optim):
        (table,) = parameters(shapes=[(20, 4)])
        optimizer = create(module, case, [table])
        table.grad = torch.sparse_coo_tensor([[1, 5]], torch.ones(2, 4), (20, 4))
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("case", [c for c in CASES if not c.options.get("maximize")], ids=str)
def test_converted_in_training(case):
    theirs, ours = (parameters(shapes=without_empty(case)) for _ in range(2))
    reference = create(torch.optim, case, groups_of(theirs))
    optimizer = create(torch.optim, case, groups_of(ours))
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    for step in range(9):
        if step in (3, 6):
            optimizer = optim.convert(optimizer)
        for params in (theirs, ours):
            set_gradients(params, step)
        reference.step()
        optimizer.step()
        kind = optim if 3 <= step < 6 else torch.optim
        assert type(optimizer) is getattr(kind, case.optimizer.__name__)
    assert len(calls) == 9
    assert_close(theirs, ours, 9)
    assert_same_states(reference, optimizer)


def test_what_cannot_be_converted():
    class Own(torch.optim.SGD):
        pass

    for optimizer, message in (
        (Own(parameters(), lr=0.1), "there is no compiled step for .*Own"),
        (optim.Lion(parameters()), "torch has no optimizer `Lion`"),
    ):
        with pytest.raises(TypeError, match=message):
            optim.convert(optimizer)
