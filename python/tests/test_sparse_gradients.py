"""Gradients that are sparse in any number of dimensions."""

import contextlib
import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import updraft
from updraft import optim

from .changing_indices import changing
from .torch_training import assert_close

STEPS = 8
#: Shapes, and the number of sparse dimensions of the gradient.
CASES = [
    ((20, 4), 1),
    ((20, 4), 2),
    ((6, 5, 4), 2),
    ((6, 5, 4), 3),
    ((6, 1, 4), 1),
    ((1, 7, 3), 2),
    ((9,), 1),
    ((5, 4), 0),
    ((), 0),
    ((4, 0, 3), 2),
    ((3, 0), 1),
]
ORDERS = {
    "as it is": lambda tensor: tensor,
    "turned": lambda tensor: tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor,
    "last first": lambda tensor: tensor.movedim(-1, 0).contiguous().movedim(0, -1),
    "with gaps": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
}


def sparse_gradient(shape, dims, step, dtype):
    """Some positions, some of them repeated; empty at one step."""
    generator = torch.Generator().manual_seed(step)
    count = 0 if 0 in shape or step == 5 else 7 if dims else 1
    places = [torch.randint(size, (count,), generator=generator) for size in shape[:dims] if count]
    values = torch.randn((count, *shape[dims:]), generator=generator, dtype=dtype)
    indices = torch.stack(places) if places else torch.empty((dims, count), dtype=torch.int64)
    grad = torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)
    # torch's sequential sum would round in between.
    return grad.coalesce()


def trained(
    module, name, shape, dims, order="as it is", options=None, dtype=torch.float32, as_rows=False
):
    """A parameter and its states after some steps. With `as_rows`, the same rows as a matrix."""
    whole = torch.randn(shape, generator=torch.Generator().manual_seed(9), dtype=dtype)
    matrix = math.prod(shape[:dims]), math.prod(shape[dims:])
    whole = whole.reshape(matrix) if as_rows else ORDERS[order](whole) if shape else whole
    param = torch.nn.Parameter(whole)
    assert param.stride() == whole.stride()
    optimizer = getattr(module, name)([param], lr=0.1, **(options or {}))
    for step in range(STEPS):
        grad = sparse_gradient(shape, dims, step, dtype)
        if as_rows:
            places = torch.zeros(grad._nnz(), dtype=torch.int64)
            for place, size in zip(grad.indices(), shape, strict=False):
                places = places * size + place
            values = grad.values().reshape(-1, matrix[1])
            grad = torch.sparse_coo_tensor(places[None], values, matrix, is_coalesced=True)
        param.grad = grad
        optimizer.step()
    return [
        torch.as_tensor(each, dtype=dtype)
        for each in (param.detach(), *optimizer.state[param].values())
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shape, dims", CASES, ids=str)
@pytest.mark.parametrize(
    "name, options",
    [("SGD", {"maximize": True}), ("Adagrad", {"lr_decay": 0.1}), ("SparseAdam", {})],
    ids=str,
)
def test_any_dimensions_and_orders(name, options, shape, dims, order):
    ours = trained(optim, name, shape, dims, order, options)
    if 0 not in shape:
        rows = trained(optim, name, shape, dims, options=options, as_rows=True)
        for our, row in zip(ours, rows, strict=True):
            assert our.flatten().equal(row.flatten())
    assert_close(trained(torch.optim, name, shape, dims, order, options), ours, STEPS)


@pytest.mark.parametrize("order", ["as it is", "last first"])
@pytest.mark.parametrize("shape, dims", [((20, 4), 1), ((6, 5, 4), 2), ((6, 4), 2), ((), 0)])
def test_complex_numbers_are_pairs(shape, dims, order):
    theirs, ours = (
        trained(module, "SGD", shape, dims, order, dtype=torch.complex64)
        for module in (torch.optim, optim)
    )
    assert_close(*(map(torch.view_as_real, each) for each in (theirs, ours)), STEPS)


@pytest.mark.parametrize("shape, dims", [case for case in CASES if case[1]], ids=str)
def test_arrays(shape, dims):
    rule = updraft.load("SGD")
    ours = torch.ones(shape)
    theirs = torch.nn.Parameter(ours.clone())
    optimizer = updraft.ArrayOptimizer(rule, [ours.numpy() if dims == 2 else ours], lr=0.1)
    reference = torch.optim.SGD([theirs], lr=0.1)
    for step in range(STEPS):
        theirs.grad = sparse_gradient(shape, dims, step, torch.float32)
        reference.step()
        optimizer.step([theirs.grad])
    assert_close([theirs], [ours], STEPS)


def test_rows_of_two_dimensions_are_named_in_the_order_of_memory():
    table = torch.zeros(3, 4).mT.contiguous().mT
    rule = updraft.load("SGD")
    rows = updraft.Rows([5], [1.0], dims=2)
    assert repr(rows) == "Rows([5], [1.0], dims=2)"
    optimizer = updraft.ArrayOptimizer(rule, [table], lr=1)
    optimizer.step([updraft.Rows([5], torch.ones(1), dims=2)])
    assert table.nonzero().tolist() == [[2, 1]]


def test_single_elements_are_refused_by_rules_of_rows():
    rule = updraft.load("RowwiseAdagrad")
    optimizer = updraft.ArrayOptimizer(rule, [torch.zeros(3, 4)])
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optimizer.step([sparse_gradient((3, 4), 2, 0, torch.float32)])
    assert str(error.value) == (
        "the gradient of parameter `0` has single elements, but rule `RowwiseAdagrad` works on the "
        "rows of matrices; give whole rows"
    )


def stepped(make, how, dtype=torch.float32, shape=(6, 4), dims=1):
    """A parameter and its states after sparse steps: compiled, under a mode, or differentiable."""
    start = torch.randn(shape, generator=torch.Generator().manual_seed(9), dtype=dtype)
    param = start if how == "differentiable" else torch.nn.Parameter(start)
    options = {"differentiable": True} if how == "differentiable" else {}
    optimizer = make([{"params": [param], **options}])
    mode = FlopCounterMode(display=False) if how == "mode" else contextlib.nullcontext()
    for step in range(STEPS):
        param.grad = sparse_gradient(shape, dims, step, dtype)
        with mode:
            optimizer.step()
    states = optimizer.state[param].values()
    return [each + torch.zeros(()) for each in (param.detach(), *states)]


@pytest.mark.parametrize("how", ["mode", "differentiable"])
@pytest.mark.parametrize("name", ["Lion", "AdEMAMix", "AdamMini", "RowwiseAdagrad", "FTRL"])
def test_operators_step_the_listed_rows(name, how):
    theirs, ours = (stepped(getattr(optim, name), each) for each in ("compiled", how))
    assert_close(theirs, ours, STEPS)


@pytest.mark.parametrize(("shape", "dims"), [case for case in CASES if 0 not in case[0]], ids=str)
def test_operators_step_the_listed_elements(shape, dims):
    cases = ((torch.optim.SparseAdam, "compiled"), (optim.SparseAdam, "mode"))
    theirs, ours = (stepped(make, how, shape=shape, dims=dims) for make, how in cases)
    assert_close(theirs, ours, STEPS)


def test_operators_step_the_listed_complex_rows():
    theirs, ours = (
        stepped(optim.Lion, how, torch.complex64) for how in ("compiled", "differentiable")
    )
    assert_close(
        *([torch.view_as_real(t) if t.is_complex() else t for t in each] for each in (theirs, ours))
    )


@pytest.mark.parametrize(("name", "dims"), [("LAMB", 1), ("CAME", 1), ("RowwiseAdagrad", 2)])
def test_operators_refuse_rows_of_rules_that_need_the_others(name, dims):
    param = torch.nn.Parameter(torch.ones(6, 4))
    optimizer = getattr(optim, name)([param])
    param.grad = sparse_gradient((6, 4), dims, 0, torch.float32)
    with pytest.raises(updraft.UnsupportedError) as error, FlopCounterMode(display=False):
        optimizer.step()
    assert str(error.value) == (
        f"operators of torch can't step some rows of parameter 0: the rule `{name}` depends on "
        "other elements of the parameter or the group; give a gradient of the whole parameter"
    )
    assert param.detach().equal(torch.ones(6, 4))


def test_indices_that_another_thread_changes():
    """The checked and the used indices are the same."""
    rows = 100_000
    table = torch.nn.Parameter(torch.zeros(rows, 4))
    optimizer = optim.SGD([table], lr=1.0)
    indices = torch.arange(rows)[None]
    table.grad = torch.sparse_coo_tensor(
        indices, torch.ones(rows, 4), (rows, 4), is_coalesced=True, check_invariants=True
    )
    assert table.grad._indices().data_ptr() == indices.data_ptr()
    taken = 0
    with changing(indices.numpy()[0], 10**13):
        for _ in range(200):
            try:
                optimizer.step()
                taken += 1
            except ValueError as error:
                assert "is 10000000000000, but its rows are from 0 to" in str(error)
    assert (table == -taken).all()
