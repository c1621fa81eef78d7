"""The numerics mode `torch`: the same bits as torch.optim's for-loop on the CPU, in f32.

The table of docs/numerics.md, which these tests read, says how close each rule must be.
"""

import inspect
import pathlib
import re

import numpy
import pytest
import torch

import updraft

from .conftest import RULES
from .stepping import STEPS, Closeness, random_params, twenty_steps
from .test_against_torch import CASES
from .test_rows import CASES as ROW_CASES
from .test_rows import SHAPES as ROW_SHAPES
from .test_rows import sparse_gradient

SIZES = [(1,), (7,), (8,), (16,), (1003,), (3, 5, 2), ()]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
HEADING = "| rules of torch | the same bits as | because |\n|---|---|---|\n"

pytestmark = pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability(),
    reason="torch contracts to fused multiply-adds only in its AVX2 and AVX-512 loops",
)


def read_table():
    """Returns, for each rule of the page's table, whose bits it has.

    Keys are the name of torch's class, and whether its gradients are sparse.
    """
    text = PAGE.read_text()
    rows = text[text.index(HEADING) + len(HEADING) :].split("\n\n")[0].splitlines()
    table = {}
    for row in rows:
        names, same, reason = (cell.strip() for cell in row.strip("|").split("|"))
        assert reason, row
        for name, sparse in re.findall(r"`(\w+)`( on sparse gradients)?", names):
            assert (name, bool(sparse)) not in table
            table[name, bool(sparse)] = same
    return table


TABLE = read_table()
STOCK, ROUNDED_ROOT, NEITHER = "torch", "torch with rounded roots", "neither"
ROWS_ONLY, NO_RULE = "torch, but for single elements", "there is no rule"
PRODUCTS = "torch around its products"


def first_difference(case, numerics):
    """Steps both optimizers; returns the location of the first difference in bits, or None."""
    generator = torch.Generator().manual_seed(20)
    theirs, ours = random_params(generator, torch.float32, SIZES)
    closeness = Closeness(theirs, ours)
    reference = case.create(theirs)
    rule = updraft.compile_file(
        RULES / f"{case.rule}.upd", defaults=case.settings, numerics=numerics
    )
    optimizer = updraft.ArrayOptimizer(rule, ours)
    for step in twenty_steps(reference, optimizer, generator):
        for index, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            bits = their.detach().numpy().view("uint32")
            if not (our.view("uint32") == bits).all():
                return f"step {step}, parameter {index}"
            for name in rule.states:
                if rule.states[name] != "f32" or name not in reference.state[their]:
                    continue
                state = reference.state[their][name].numpy()
                if state.shape != our.shape:
                    continue
                mine = numpy.asarray(optimizer.state(index)[name])
                if not (mine.view("uint32") == state.view("uint32")).all():
                    return f"step {step}, state {name} of parameter {index}"
    assert closeness.all_moved()
    return None


def first_difference_of_rows(case, numerics, shapes=ROW_SHAPES):
    """The same for parameters with sparse gradients."""
    generator = torch.Generator().manual_seed(20)
    theirs = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    ours = [param.detach().clone() for param in theirs]
    starts = [param.clone() for param in ours]
    reference = case.create(theirs)
    rule = updraft.compile_file(
        RULES / f"{case.rule}.upd", defaults=case.settings, numerics=numerics
    )
    optimizer = updraft.ArrayOptimizer(rule, ours)
    for step in range(1, STEPS + 1):
        for param in theirs:
            param.grad = sparse_gradient(param.shape, generator, step).coalesce()
        optimizer.step([param.grad for param in theirs])
        reference.step()
        for index, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            if not torch.equal(our.view(torch.int32), their.detach().view(torch.int32)):
                return f"step {step}, parameter {index}"
            for name in rule.states:
                state = reference.state[their][name]
                mine = torch.as_tensor(optimizer.state(index)[name])
                if not torch.equal(mine.view(torch.int32), state.view(torch.int32)):
                    return f"step {step}, state {name} of parameter {index}"
    assert all((our != start).any() for our, start in zip(ours, starts, strict=True))
    return None


def of_table(*same):
    return [case for case in CASES if TABLE[case.optimizer.__name__, False] in same]


def rows_of_table(*same):
    return [case for case in ROW_CASES if TABLE[case.optimizer.__name__, True] in same]


def test_table_has_every_optimizer_of_torch():
    """Also each that supports sparse gradients; and all entries are compared here."""
    shipped = {
        name
        for name, each in vars(torch.optim).items()
        if inspect.isclass(each) and issubclass(each, torch.optim.Optimizer)
    }
    assert {name for name, _ in TABLE} == shipped - {"Optimizer"}
    compared = {(case.optimizer.__name__, False) for case in CASES}
    compared |= {(case.optimizer.__name__, True) for case in ROW_CASES}
    assert {key for key, same in TABLE.items() if same not in (NO_RULE, PRODUCTS)} == compared
    assert set(TABLE.values()) == {STOCK, ROUNDED_ROOT, ROWS_ONLY, NEITHER, NO_RULE, PRODUCTS}


@pytest.mark.parametrize("name", sorted({case.optimizer.__name__ for case in CASES}))
def test_table_has_what_takes_sparse_gradients(name):
    """Classes without a row for sparse gradients refuse them."""
    param = torch.nn.Parameter(torch.ones(3, 4))
    param.grad = torch.sparse_coo_tensor([[1]], torch.ones(1, 4), (3, 4), check_invariants=True)
    optimizer = getattr(torch.optim, name)([param])
    if (name, True) in TABLE:
        optimizer.step()
    else:
        with pytest.raises((RuntimeError, NotImplementedError, ValueError)):
            optimizer.step()


@pytest.mark.parametrize("case", of_table(STOCK), ids=str)
def test_same_bits_as_torch(case):
    assert first_difference(case, "torch") is None


@pytest.mark.parametrize("case", of_table(ROUNDED_ROOT), ids=str)
def test_same_bits_with_a_rounded_root(case, torch_with_rounded_root):
    assert first_difference(case, "torch") is None


@pytest.mark.parametrize("case", rows_of_table(ROWS_ONLY), ids=str)
def test_same_bits_of_rows(case):
    matrices = [shape for shape in ROW_SHAPES if len(shape) > 1]
    assert first_difference_of_rows(case, "torch", matrices) is None
    vectors = [shape for shape in ROW_SHAPES if len(shape) == 1]
    assert first_difference_of_rows(case, "torch", vectors) is not None
    assert first_difference_of_rows(case, "ieee", vectors) is None


@pytest.mark.parametrize("case", rows_of_table(ROUNDED_ROOT), ids=str)
def test_same_bits_of_rows_with_a_rounded_root(case, torch_with_rounded_root):
    assert first_difference_of_rows(case, "torch") is None


@pytest.mark.parametrize("case", rows_of_table(NEITHER), ids=str)
def test_no_exception_for_rows_is_unnecessary(case, torch_with_rounded_root):
    assert first_difference_of_rows(case, "torch") is not None


@pytest.mark.parametrize("case", of_table(NEITHER)[:1], ids=str)
def test_no_exception_is_unnecessary(case, torch_with_rounded_root):
    assert first_difference(case, "torch") is not None


def test_the_root_is_the_exception():
    values = torch.rand(4096, generator=torch.Generator().manual_seed(1))
    if (values.sqrt().numpy() == numpy.sqrt(values.numpy())).all():
        pytest.skip("the root of this torch is correctly rounded on this machine")
    # If few roots are off, rounding hides the difference in most rules' parameters.
    assert any(first_difference(case, "torch") for case in of_table(ROUNDED_ROOT))


@pytest.mark.parametrize("case", of_table(STOCK)[:1], ids=str)
def test_ieee_has_other_bits(case):
    assert first_difference(case, "ieee") is not None
