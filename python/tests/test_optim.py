"""The classes of `updraft.optim` against those of `torch.optim`, which they replace."""

import io

import pytest
import torch

from updraft import optim

from .test_against_torch import CASES, REFUSED
from .torch_training import (
    DUPLICATES,
    OLDER,
    STEPS,
    assert_close,
    assert_refused_alike,
    assert_same_states,
    copy_in_training,
    create,
    groups_of,
    now_and_then,
    parameters,
    set_gradients,
    step_alike,
    transposed,
    without_empty,
)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_thirty_steps(case, dtype):
    theirs, ours = (parameters(dtype, without_empty(case)) for _ in range(2))
    reference = create(torch.optim, case, groups_of(theirs))
    optimizer = create(optim, case, groups_of(ours))
    step_alike((reference, optimizer), STEPS, now_and_then)
    # NAdam's product of momenta is f32 for all dtypes, and torch multiplies it in f32.
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
    step_alike((reference, optimizer), 5)
    assert_close(theirs, ours, 5)


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refuses_with_the_words_of_torch(case):
    optimizer, _, options = case
    if optimizer is torch.optim.ASGD and OLDER:
        pytest.skip("this torch refuses no arguments of ASGD")
    assert_refused_alike(
        lambda module: getattr(module, optimizer.__name__)(parameters(), **options)
    )


def test_is_an_optimizer_of_torch():
    optimizer = optim.AdamW(parameters())
    assert isinstance(optimizer, torch.optim.AdamW)
    assert optimizer.defaults == torch.optim.AdamW(parameters()).defaults


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies(duplicate):
    optimizer = optim.AdamW(parameters(shapes=[(9,), (4, 2)]), lr=0.1, amsgrad=True)
    copy_in_training(optimizer, duplicate)
    plain = optimizer.state_dict()["state"]
    assert {type(state) for state in plain.values()} == {dict}


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


def test_many_parameters_of_all_kinds():
    """Several threads process them."""
    kinds = [(3,), (2, 3), (), (0,), (2, 3, 2)]
    theirs, ours = (parameters(shapes=[kinds[i % 5] for i in range(5000)]) for _ in range(2))
    optimizers = torch.optim.Adam(theirs, lr=0.1), optim.Adam(ours, lr=0.1)
    for step in range(4):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            set_gradients(params, step, absent={5 * step, 700, 4999 - step})
            for param in params[1::50]:  # a layout other than the parameter's
                param.grad = param.grad.t().contiguous().t()
            optimizer.step()
    assert_close(theirs, ours, 4)
    assert_same_states(*optimizers)
