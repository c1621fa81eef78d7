"""`updraft.optim.LBFGS` against `torch.optim.LBFGS`: the same search, so the same bits."""

import copy
import io
import pickle

import pytest
import torch

import updraft
from updraft import optim

from .torch_training import OLDER, assert_refused_alike

OPTIONS = [
    {},
    {"lr": 0.1, "max_iter": 5, "history_size": 3},
    {"line_search_fn": "strong_wolfe", "max_iter": 8},
    {"lr": torch.tensor(0.5), "max_eval": 7, "tolerance_grad": 1e-3, "tolerance_change": 1e-5},
    pytest.param(
        {"lr": 0.1, "maximize": True, "max_iter": 3},
        marks=pytest.mark.skipif(OLDER, reason="this torch only minimises"),
    ),
]


SHAPES = ((6, 4), (4,), (), (0, 3), (2, 3, 2), (5,), (1,), (3, 3))


def problem(dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(2)
    params = [
        torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for shape in shapes
    ]
    targets = [torch.randn(param.shape, generator=generator).to(dtype) for param in params]
    return params, targets


def closure_of(optimizer, params, targets):
    sign = -1 if optimizer.param_groups[0].get("maximize") else 1

    def closure():
        optimizer.zero_grad()
        loss = sum(
            ((param - target).abs() ** 2 * (number + 1)).sum() + (param - target).abs().pow(4).sum()
            for number, (param, target) in enumerate(zip(params, targets, strict=True))
        )
        (sign * loss).backward()
        return sign * loss

    return closure


def assert_same_state(theirs, ours):
    assert theirs.keys() == ours.keys()
    for name, value in theirs.items():
        other = ours[name]
        pairs = zip(value, other, strict=True) if isinstance(value, list) else [(value, other)]
        for one, two in pairs:
            assert type(one) is type(two)
            assert one.equal(two) if isinstance(one, torch.Tensor) else one == two, name


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
def test_thirty_steps(options, dtype):
    theirs, ours = problem(dtype), problem(dtype)
    reference = torch.optim.LBFGS(theirs[0], **options)
    optimizer = optim.LBFGS(ours[0], **options)
    for step in range(30):
        if step == 12:  # in separate memory
            ours[0][0].data = ours[0][0].data.clone()
        losses = [
            each.step(closure_of(each, *both))
            for each, both in ((reference, theirs), (optimizer, ours))
        ]
        assert losses[0].equal(losses[1])
    for their, our in zip(theirs[0], ours[0], strict=True):
        assert their.equal(our)
    assert_same_state(*(each.state_dict()["state"][0] for each in (reference, optimizer)))
    assert optimizer._move is not None
    assert repr(optimizer) == repr(reference)


@pytest.mark.parametrize("options", [{}, {"line_search_fn": "strong_wolfe"}], ids=str)
def test_state_goes_to_torch_and_back(options):
    theirs, ours = problem(), problem()
    reference = torch.optim.LBFGS(theirs[0], lr=0.1, max_iter=4, **options)
    optimizer = optim.LBFGS(ours[0], lr=0.1, max_iter=4, **options)
    for step in range(9):
        if step in (3, 6):
            saved = io.BytesIO()
            torch.save(optimizer.state_dict(), saved)
            saved.seek(0)
            module = torch.optim if step == 3 else optim
            optimizer = module.LBFGS(ours[0], lr=0.1, max_iter=4, **options)
            optimizer.load_state_dict(torch.load(saved, weights_only=True))
        reference.step(closure_of(reference, *theirs))
        optimizer.step(closure_of(optimizer, *ours))
    for their, our in zip(theirs[0], ours[0], strict=True):
        assert their.equal(our)


def test_converted_in_training():
    theirs, ours = problem(), problem()
    reference = torch.optim.LBFGS(theirs[0], lr=0.1)
    optimizer = torch.optim.LBFGS(ours[0], lr=0.1)
    for step in range(9):
        if step in (3, 6):
            optimizer = optim.convert(optimizer)
            assert type(optimizer) is (optim if step == 3 else torch.optim).LBFGS
        reference.step(closure_of(reference, *theirs))
        optimizer.step(closure_of(optimizer, *ours))
    for their, our in zip(theirs[0], ours[0], strict=True):
        assert their.equal(our)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies(duplicate):
    params, targets = problem()
    optimizer = optim.LBFGS(params, lr=0.1)
    optimizer.step(closure_of(optimizer, params, targets))
    other = duplicate(optimizer)
    copies = other.param_groups[0]["params"]
    for each, mine in ((optimizer, params), (other, copies)):
        each.step(closure_of(each, mine, targets))
    for param, copied in zip(params, copies, strict=True):
        assert param is not copied and param.equal(copied)


def test_parameters_that_the_compiled_pass_does_not_support():
    """Parameters with gaps, of two dtypes, and few parameters."""
    plain = [torch.ones(3) for _ in range(8)]
    for more in ([torch.arange(8.0).reshape(2, 4)[:, ::2]], [torch.ones(2).double()], None):
        results = []
        for module in (torch.optim, optim):
            tensors = plain[:2] if more is None else [*plain, *more]
            params = [copy.deepcopy(tensor).requires_grad_() for tensor in tensors]
            optimizer = module.LBFGS(params, lr=0.1)
            optimizer.step(closure_of(optimizer, params, [torch.zeros_like(p) for p in params]))
            results.append([param.detach() for param in params])
            assert getattr(optimizer, "_move", None) is None
        for their, our in zip(*results, strict=True):
            assert their.equal(our)


def test_versions_tell_autograd_of_the_change():
    params, targets = problem()
    optimizer = optim.LBFGS(params, max_iter=1)
    before = [param._version for param in params]
    optimizer.step(closure_of(optimizer, params, targets))
    assert all(param._version > old for param, old in zip(params, before, strict=True))


@pytest.mark.parametrize(
    "attempt",
    [
        lambda module: module.LBFGS(problem()[0], lr=-1.0),
        lambda module: module.LBFGS(problem()[0], lr=torch.ones(2)),
        lambda module: module.LBFGS([{"params": [param]} for param in problem()[0]]),
        lambda module: module.LBFGS([]),
    ],
)
def test_refuses_with_the_words_of_torch(attempt):
    assert_refused_alike(attempt)


def test_refuses_clipping():
    with pytest.raises(updraft.UnsupportedError, match="`LBFGS` can't clip, because its step"):
        optim.with_clipping(optim.LBFGS(problem()[0]), 1.0)
