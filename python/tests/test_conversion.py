"""`updraft.optim.convert`: from an optimizer of torch to the compiled one, and back."""

import pytest
import torch

from updraft import optim

from .test_against_torch import CASES
from .torch_training import (
    assert_close,
    assert_same_states,
    create,
    groups_of,
    parameters,
    set_gradients,
    without_empty,
)


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


def test_optimizers_without_a_counterpart_are_refused():
    class Own(torch.optim.SGD):
        pass

    for optimizer, message in (
        (Own(parameters(), lr=0.1), "there is no compiled step for .*Own"),
        (optim.Lion(parameters()), "torch has no optimizer `Lion`"),
    ):
        with pytest.raises(TypeError, match=message):
            optim.convert(optimizer)


def test_matrices_that_torch_would_step_whole():
    param = torch.nn.Parameter(torch.ones(4, 2))
    for entries in ({"matrix_blocks": 2}, {"matrix_layout": "transposed"}):
        optimizer = optim.Muon([{"params": [param], **entries}], numerics="ieee")
        with pytest.raises(TypeError, match="`matrix_blocks` or `matrix_layout`, but torch's"):
            optim.convert(optimizer)


def test_batches_of_matrices_are_refused():
    param = torch.nn.Parameter(torch.ones(3, 4, 2))
    optimizer = optim.Muon([param], numerics="ieee")
    with pytest.raises(TypeError, match="torch's `Muon` takes only parameters of two dimensions"):
        optim.convert(optimizer)


def test_subclass_of_an_own_class_is_refused():
    class Mine(optim.Adam):
        pass

    with pytest.raises(TypeError, match="is a subclass of an optimizer"):
        optim.convert(Mine([torch.nn.Parameter(torch.ones(3))]))
