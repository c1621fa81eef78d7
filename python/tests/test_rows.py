"""Gradients of some rows: against PyTorch's optimizers on sparse tensors, and errors."""

import math

import numpy
import pytest
import torch

import updraft

from .conftest import RULES
from .stepping import STEPS, Closeness
from .test_against_torch import MAX_ULP_PER_STEP, Case

SHAPES = [(300, 16), (1000,), (50, 3, 5), (40, 1)]

CASES = [
    Case(torch.optim.SparseAdam, "sparse_adam"),
    Case(torch.optim.SparseAdam, "sparse_adam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6}),
    Case(torch.optim.SparseAdam, "sparse_adam", {"maximize": True}),
    Case(torch.optim.SGD, "sgd", {"lr": 0.1}),
    Case(torch.optim.SGD, "sgd", {"lr": 0.1, "maximize": True}),
    Case(torch.optim.Adagrad, "adagrad"),
    Case(torch.optim.Adagrad, "adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    Case(torch.optim.Adagrad, "adagrad", {"initial_accumulator_value": 0.5, "maximize": True}),
]


def sparse_gradient(shape, generator, step):
    """Rows in any order, some more than once, like an embedding's backward; empty at one step."""
    count = 0 if step == 7 else shape[0] // 3
    indices = torch.randint(shape[0], (count,), generator=generator)
    values = torch.randn((count, *shape[1:]), generator=generator)
    return torch.sparse_coo_tensor(indices[None], values, shape, check_invariants=True)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_twenty_steps_agree(case):
    generator = torch.Generator().manual_seed(20)
    theirs = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]
    ours = [param.detach().clone().numpy() for param in theirs]
    reference = case.create(theirs)
    rule = updraft.compile_file(RULES / f"{case.rule}.upd", defaults=case.settings)
    optimizer = updraft.ArrayOptimizer(rule, ours)

    closeness = Closeness(theirs, ours)
    for step in range(1, STEPS + 1):
        for param in theirs:
            param.grad = sparse_gradient(param.shape, generator, step)
        grads = [param.grad.clone() for param in theirs]
        if step % 2:
            grads = [grad.coalesce() for grad in grads]
        optimizer.step(grads)
        reference.step()
        assert all(optimizer.step_count(index) == step for index in range(len(ours)))
        closeness.check(step, MAX_ULP_PER_STEP)


@pytest.mark.parametrize(
    "options",
    [{"lr": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.9)}, {"betas": (0.9, -0.5)}, {"lr": -math.inf}],
    ids=str,
)
def test_messages_are_those_of_torch(options):
    case = Case(torch.optim.SparseAdam, "sparse_adam", options)
    with pytest.raises(ValueError) as theirs:
        case.create([torch.nn.Parameter(torch.zeros(1))])
    rule = updraft.compile_file(RULES / "sparse_adam.upd")
    with pytest.raises(updraft.InvalidArgumentError) as ours:
        updraft.ArrayOptimizer(rule, [numpy.zeros(1, dtype="float32")], **case.settings)
    assert str(theirs.value) in str(ours.value)


def test_defaults_are_those_of_torch():
    defaults = torch.optim.SparseAdam([torch.nn.Parameter(torch.zeros(1))]).defaults
    expected = Case(torch.optim.SparseAdam, "sparse_adam", dict(defaults)).settings
    for name, default in updraft.compile_file(RULES / "sparse_adam.upd").hypers.items():
        assert default == expected[name], name


def test_an_embedding_beside_a_dense_layer(momentum):
    """One step with both kinds of gradients, as computed by `backward`."""
    embedding = torch.nn.Embedding(20, 4, sparse=True)
    layer = torch.nn.Linear(4, 2)
    params = [embedding.weight, *layer.parameters()]
    before = [param.detach().clone() for param in params]
    optimizer = updraft.ArrayOptimizer(momentum, params)
    layer(embedding(torch.tensor([3, 7, 3]))).sum().backward()
    optimizer.step([param.grad for param in params])
    for param, old in zip(params, before, strict=True):
        grad = param.grad.to_dense() if param.grad.is_sparse else param.grad
        assert torch.equal(param.detach(), old - 0.1 * grad)
    changed = (embedding.weight.detach() != before[0]).any(dim=1).nonzero()[:, 0]
    assert changed.tolist() == [3, 7]


@pytest.mark.parametrize("indices", [[1, 3], numpy.array([1, 3], dtype="int32"), (1, 3)], ids=repr)
def test_rows_of_arrays(momentum, indices):
    table = numpy.zeros((5, 2), dtype="float32")
    other = numpy.zeros(3, dtype="float32")
    optimizer = updraft.ArrayOptimizer(momentum, [other, table], lr=1)
    values = numpy.array([[1, 2], [3, 4]], dtype="float32")
    optimizer.step([None, updraft.Rows(indices, values)])
    optimizer.step_rows(torch.tensor([3]), torch.ones(1, 2), param=1)
    expected = numpy.zeros((5, 2), dtype="float32")
    expected[1] = [-1, -2]
    expected[3] = numpy.array([-3, -4]) - numpy.array([0.9 * 3 + 1, 0.9 * 4 + 1], "float32")
    assert numpy.array_equal(table, expected)
    assert optimizer.step_count(0) == 0 and optimizer.step_count(1) == 2
    optimizer.step_rows([], numpy.zeros((0, 2), dtype="float32"), param=1)
    assert optimizer.step_count(1) == 3


def test_invalid_rows_are_refused(momentum):
    table = numpy.zeros((5, 2), dtype="float32")
    optimizer = updraft.ArrayOptimizer(momentum, [table])
    values = numpy.ones((2, 2), dtype="float32")

    def refuse(kind, text, *arguments, **options):
        with pytest.raises(kind) as error:
            optimizer.step_rows(*arguments, **options)
        assert str(error.value) == text

    invalid = updraft.InvalidArgumentError
    refuse(invalid, "index 1 of parameter `0` is 5, but its rows are from 0 to 4", [1, 5], values)
    beyond = numpy.array([1, 2**63 + 1], dtype="uint64")
    text = "index 1 of gradient 0 is 9223372036854775809, but indices are at most 2^63 - 1"
    refuse(invalid, text, beyond, values)
    refuse(
        invalid,
        "index 1 of parameter `0` is 1, after 3; give rows in ascending order",
        [3, 1],
        values,
    )
    refuse(
        invalid,
        "indices 0 and 1 of parameter `0` are both 3; add up the gradients of a row, and give it "
        "once",
        [3, 3],
        values,
    )
    refuse(TypeError, "the indices of gradient 0 are bool; give integers", [True, False], values)
    refuse(TypeError, "the indices of gradient 0 are float64; give integers", [1.0, 2.0], values)
    refuse(
        invalid,
        "the indices of gradient 0 have 2 dimensions; give a list of rows, numbered as they lie in "
        "memory (see `updraft.Rows`)",
        [[1]],
        values,
    )
    refuse(invalid, "parameter 1 does not exist; the optimizer has 1", [1], values, param=1)
    with pytest.raises(invalid) as error:
        optimizer.step([torch.sparse_coo_tensor(numpy.empty((0, 1)), torch.ones(1, 5, 2))])
    assert str(error.value) == "gradient 0 has no sparse dimension; give a dense tensor"
    with pytest.raises(invalid) as error:
        optimizer.step([updraft.Rows([1], values[0, :1], dims=3)])
    assert str(error.value) == (
        "index_dims of parameter `0` is 3, but it has 2 dimensions; give how many of them count "
        "the rows"
    )
    larger = torch.sparse_coo_tensor([[1]], torch.ones(1, 2), (9, 2), check_invariants=True)
    with pytest.raises(invalid) as error:
        optimizer.step([larger])
    assert str(error.value) == (
        "gradient 0 is [9, 2], but its parameter is [5, 2]; give a tensor of the same shape"
    )
    ragged = "cannot convert the indices of gradient 0 to an array: setting an array element"
    with pytest.raises(invalid, match=ragged):
        optimizer.step_rows([[1], [2, 3]], values)
    assert not table.any() and optimizer.step_count(0) == 0


def test_a_rule_that_looks_at_more():
    table = numpy.ones((5, 2), dtype="float32")
    optimizer = updraft.ArrayOptimizer(updraft.compile_file(RULES / "lamb.upd"), [table])
    with pytest.raises(updraft.InvalidArgumentError, match="it reduces over whole tensors"):
        optimizer.step_rows([1], numpy.ones((1, 2), dtype="float32"))
    optimizer = updraft.ArrayOptimizer(updraft.compile_file(RULES / "adafactor.upd"), [table])
    with pytest.raises(updraft.InvalidArgumentError, match="it reduces over whole"):
        optimizer.step_rows([1], numpy.ones((1, 2), dtype="float32"))


def test_row_states(tmp_path):
    """Row-wise Adagrad has one accumulator per row; a loaded one continues."""
    rule = updraft.compile_file(RULES / "rowwise_adagrad.upd")
    first = numpy.ones((6, 3), dtype="float32")
    optimizer = updraft.ArrayOptimizer(rule, [first])
    grad = numpy.array([[3, 4, 5]], dtype="float32")
    optimizer.step_rows([2], grad)
    sums = optimizer.state(0)["sum"]
    assert sums.shape == (6, 1)
    assert sums[:, 0].tolist() == pytest.approx([0, 0, 50 / 3, 0, 0, 0])
    optimizer.save(tmp_path / "rows.safetensors")
    second = first.copy()
    other = updraft.ArrayOptimizer(rule, [second])
    other.load(tmp_path / "rows.safetensors")
    for each in (optimizer, other):
        each.step_rows([2, 4], numpy.ones((2, 3), dtype="float32"))
    assert numpy.array_equal(first, second)
    assert (first[[0, 1, 3, 5]] == 1).all()


TEXT = """
rule Anchored(lr = 0.1) {
  state start = param
  state total over tensor = step
  update(param, grad) {
    next param = lerp(param - lr * grad, start, 0.5)
  }
}
"""


@pytest.mark.parametrize(
    "chain, state", [(None, "start"), ("master_copy |> Anchored", "master")], ids=str
)
def test_states_that_start_from_the_parameter(chain, state):
    """Rows that a first step doesn't list would start from zero."""
    rule = updraft.compile(TEXT, rule=chain)
    table = numpy.full((5, 2), 3, dtype="float32")
    values = numpy.ones((1, 2), dtype="float32")
    optimizer = updraft.ArrayOptimizer(rule, [table])
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optimizer.step_rows([1], values)
    assert str(error.value) == (
        f"parameter `0` has taken no step, and its state `{state}` starts from the parameter, its "
        "gradient or the step count, for all rows at once; give a gradient of the whole parameter "
        "first"
    )
    assert (table == 3).all() and optimizer.step_count(0) == 0
    optimizer.step([numpy.zeros((5, 2), dtype="float32")])
    optimizer.step_rows([1], values)
    assert (table[[0, 2, 3, 4]] == 3).all()
    assert table[1].tolist() == pytest.approx([2.95, 2.95])
