"""The numerics mode `torch`: the bits of torch.optim's for-loop on the CPU, in f32.

How close each rule is to be stands in the table of docs/numerics.md, which these tests read.
"""

import pathlib
import re

import numpy
import pytest
import torch

import updraft

from .conftest import RULES
from .stepping import Closeness, random_params, twenty_steps
from .test_against_torch import CASES

SIZES = [(1,), (7,), (8,), (16,), (1003,), (3, 5, 2), ()]
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
HEADING = "| rules of torch | the same bits as | because |\n|---|---|---|\n"

pytestmark = pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability(),
    reason="torch contracts to fused multiply-adds only in its AVX2 and AVX-512 loops",
)


def read_table():
    """Returns, for each rule of the page's table, what it has the bits of."""
    text = PAGE.read_text()
    rows = text[text.index(HEADING) + len(HEADING) :].split("\n\n")[0].splitlines()
    table = {}
    for row in rows:
        names, same, reason = (cell.strip() for cell in row.strip("|").split("|"))
        assert reason, row
        for name in re.findall(r"`(\w+)`", names):
            table[name] = same
    return table


TABLE = read_table()
STOCK, ROUNDED_ROOT, NEITHER = "torch", "torch with rounded roots", "neither"


def rounded_root(tensor):
    """Returns the correctly rounded square root."""
    return torch.from_numpy(numpy.asarray(numpy.sqrt(tensor.numpy())))


@pytest.fixture
def torch_with_rounded_root(monkeypatch):
    """Replaces torch's own square root, which on some machines is off by one place."""
    monkeypatch.setattr(torch.Tensor, "sqrt", rounded_root)
    monkeypatch.setattr(torch.Tensor, "sqrt_", lambda tensor: tensor.copy_(rounded_root(tensor)))


def first_difference(case, numerics):
    """Steps both optimizers; returns where their bits first differ, or None."""
    generator = torch.Generator().manual_seed(20)
    theirs, ours = random_params(generator, torch.float32, SIZES)
    closeness = Closeness(theirs, ours)
    reference = case.create(theirs)
    rule = updraft.compile_file(RULES / f"{case.rule}.upd", set=case.settings, numerics=numerics)
    optimizer = updraft.Optimizer(rule, ours)
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


def of_table(*same):
    return [case for case in CASES if TABLE[case.optimizer.__name__] in same]


def test_table_has_every_rule():
    assert set(TABLE) == {case.optimizer.__name__ for case in CASES}
    assert set(TABLE.values()) <= {STOCK, ROUNDED_ROOT, NEITHER}


@pytest.mark.parametrize("case", of_table(STOCK), ids=str)
def test_same_bits_as_torch(case):
    assert first_difference(case, "torch") is None


@pytest.mark.parametrize("case", of_table(ROUNDED_ROOT), ids=str)
def test_same_bits_with_a_rounded_root(case, torch_with_rounded_root):
    assert first_difference(case, "torch") is None


@pytest.mark.parametrize("case", of_table(NEITHER)[:1], ids=str)
def test_exceptions_are_none_too_many(case, torch_with_rounded_root):
    assert first_difference(case, "torch") is not None


def test_the_root_is_the_exception():
    values = torch.rand(4096, generator=torch.Generator().manual_seed(1))
    if (values.sqrt().numpy() == numpy.sqrt(values.numpy())).all():
        pytest.skip("the root of this torch is correctly rounded on this machine")
    case = of_table(ROUNDED_ROOT)[0]
    assert first_difference(case, "torch") is not None


@pytest.mark.parametrize("case", of_table(STOCK)[:1], ids=str)
def test_ieee_has_other_bits(case):
    assert first_difference(case, "ieee") is not None
