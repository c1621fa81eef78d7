"""Training with optimizers like torch's, and comparison of two that were trained alike."""

import copy
import math
import pickle

import pytest
import torch

from updraft import optim

STEPS = 30

# Whether torch is older than the version that the classes imitate.
OLDER = [int(part) for part in torch.__version__.split(".")[:2]] < [2, 15]

#: Classes that take dense gradients and no closure, with options that give them all states.
DENSE_CASES = [
    ("ASGD", {}),
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("Adadelta", {}),
    ("Adafactor", {}),
    ("Adagrad", {}),
    ("Adam", {"amsgrad": True}),
    ("AdamW", {}),
    ("Adamax", {}),
    ("Muon", {}),
    ("NAdam", {}),
    ("RAdam", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
    ("Rprop", {}),
]

SHAPES = [(41, 29), (7,), (1,), (3, 5, 2), (), (0,), (64, 3, 3)]


def parameters(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(5)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype))
        for shape in shapes
    ]


def transposed(params):
    """The same values, with the memory of matrices transposed."""
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
    """Two groups with different learning rates and decays."""
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


def step_alike(optimizers, steps, absent=lambda step: ()):
    """Steps optimizers with the same gradients; parameters in `absent` get none."""
    for step in range(steps):
        for optimizer in optimizers:
            params = [param for group in optimizer.param_groups for param in group["params"]]
            set_gradients(params, step, absent(step))
            optimizer.step()


def now_and_then(step):
    """Parameters without a gradient: one at the first two steps, another every seventh step."""
    return {0} if step % 7 == 3 else {4} if step < 2 else ()


def assert_refused_alike(attempt):
    """Asserts that an attempt with our class fails like with torch's."""
    with pytest.raises(Exception) as expected:
        attempt(torch.optim)
    with pytest.raises(type(expected.value)) as found:
        attempt(optim)
    assert str(found.value) == str(expected.value)


#: Ways to copy an optimizer together with its parameters.
DUPLICATES = {"deepcopy": copy.deepcopy, "pickle": lambda o: pickle.loads(pickle.dumps(o))}


def copy_in_training(optimizer, duplicate):
    """Copies an optimizer after a step; returns the copy. Another step of each must be equal."""
    (group,) = optimizer.param_groups
    set_gradients(group["params"], 0)
    optimizer.step()
    other = DUPLICATES[duplicate](optimizer)
    (copied_group,) = other.param_groups
    for each in (group["params"], copied_group["params"]):
        set_gradients(each, 1)
    optimizer.step()
    other.step()
    for param, copied in zip(group["params"], copied_group["params"], strict=True):
        assert param is not copied
        assert param.equal(copied)
    return other


def scaled_steps(optimizer, reference):
    """Steps an optimizer with a gradient scaler, and another with unscaled gradients.

    One gradient isn't finite: both optimizers skip that step. Yields after every step that was
    taken.
    """
    ours, plain = (each.param_groups[0]["params"] for each in (optimizer, reference))
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000)
    for step in range(4):
        for params in (plain, ours):
            set_gradients(params, step)
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
            yield
