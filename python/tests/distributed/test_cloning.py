"""Modules with tensors in place of parameters."""

import copy

import pytest
import torch

from updraft.distributed import module_clone


class Tied(torch.nn.Module):
    """A module with a shared weight, a frozen one, and a buffer."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3, bias=False)
        self.second = torch.nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight
        self.norm = torch.nn.BatchNorm1d(3)
        self.norm.weight.requires_grad_(False)

    def forward(self, x):
        return self.second(self.norm(self.first(x)))


@pytest.mark.parametrize("by", ["reference", "ref", "clone", "copy", "deepcopy", "deepclone"])
def test_every_kind_of_copy(by):
    model = Tied()
    made = module_clone(model, by=by)
    assert type(made) is Tied and made is not model
    assert made.second.weight is made.first.weight
    names = [name for name, _ in model.named_parameters()]
    assert [name for name, _ in made.named_parameters()] == names
    # Training changes the buffers; by reference they are the model's.
    inputs = torch.randn(4, 3)
    expected = copy.deepcopy(model)(inputs)
    torch.testing.assert_close(made(inputs), expected)
    for name, param in model.named_parameters():
        tensor = dict(made.named_parameters())[name]
        assert type(tensor) is torch.Tensor
        assert tensor.requires_grad == param.requires_grad
        shared = tensor.data_ptr() == param.data_ptr()
        assert shared == (by in ("reference", "ref"))
        assert tensor.is_leaf == (by in ("deepcopy", "deepclone") or not param.requires_grad)
    made(inputs).sum().backward()
    reached = model.first.weight.grad is not None
    assert reached == (by not in ("deepcopy", "deepclone"))
    assert isinstance(model.first.weight, torch.nn.Parameter)


def test_buffers():
    model = torch.nn.BatchNorm1d(3)
    inputs = torch.randn(4, 3)
    module_clone(model, by="reference", detach_buffers=True)(inputs)
    module_clone(model, by="clone")(inputs)
    assert model.num_batches_tracked.item() == 0
    module_clone(model, by="reference")(inputs)
    assert model.num_batches_tracked.item() == 1


def test_clones_of_clones():
    model = torch.nn.Linear(2, 1, bias=False)
    again = module_clone(module_clone(model, by="clone"), by="clone")
    again(torch.ones(1, 2)).sum().backward()
    assert model.weight.grad.tolist() == [[1, 1]]


def test_another_device():
    made = module_clone(torch.nn.BatchNorm1d(3), device="meta")
    assert {tensor.device.type for tensor in (*made.parameters(), *made.buffers())} == {"meta"}


def test_invalid_arguments_are_refused():
    with pytest.raises(TypeError, match=r"^the target is of type `list`; give a module$"):
        module_clone([])
    with pytest.raises(ValueError) as caught:
        module_clone(torch.nn.Linear(1, 1), by="magic")
    assert str(caught.value) == (
        "`by` is `'magic'`; it must be one of `'reference'`, `'ref'`, `'copy'`, `'clone'`,"
        " `'deepcopy'`, `'deepclone'`"
    )
