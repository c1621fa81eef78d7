"""Every class of torch.optim, and every rule of the package, beside local optimizers."""

import pytest
import torch
import torch.distributed.autograd as dist_autograd
from clients import on_client
from remote_models import backward, gradients, loss, loss_that_reads, parameters

import updraft
import updraft.optim
from updraft.distributed.optim import DistributedOptimizer

STEPS = 5
SHAPES = {"worker1": ((5, 3), (17,)), "worker2": ((4, 8), (2, 3, 4))}
OPTIONS = {
    "Adafactor": {"weight_decay": 0.1},
    "Adagrad": {"lr_decay": 0.1},
    "Adam": {"amsgrad": True},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
}
# A host algorithm; one for gradients of some rows; and one that has products, of torch in
# test_eager.py. The last two are tested below.
OTHERS = {"LBFGS", "SparseAdam", "Muon"}
OF_TORCH = sorted(
    name
    for name in torch.optim.__all__
    if isinstance(kind := getattr(torch.optim, name), type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind is not torch.optim.Optimizer
    and name not in OTHERS
)
# Its noise depends on the parameter's number, which is another one in an optimizer on workers.
RANDOM = {"PSGDPro"}
OURS = sorted(set(updraft.shipped_rules()) - {*OF_TORCH, *OTHERS, *RANDOM})
# torch rounds the last elements of small parameters differently.
NEAR = {"rtol": 1e-5, "atol": 1e-6}


def mixed(rrefs, factor):
    """A loss with a different gradient for each element and step."""
    return loss(rrefs, factor) + loss_that_reads(rrefs, factor)


def of_rows(rrefs, factor):
    """A loss with gradients of some rows."""
    ids = torch.tensor([0, 2, 2])
    rows = [torch.nn.functional.embedding(ids, r.local_value(), sparse=True) for r in rrefs]
    return sum((row * row).sum() for row in rows) * factor


def compare(given, local, of=mixed, shapes=SHAPES, apart=False, dtype=torch.float32, **options):
    """Steps parameters of two workers, and local copies of them with an optimizer for each worker.

    If `apart`, the parameters of each worker are a separate group.
    """
    by_worker = [parameters(worker, *some, dtype=dtype) for worker, some in shapes.items()]
    rrefs = [rref for some in by_worker for rref in some]
    copies = [
        [torch.nn.Parameter(rref.to_here().detach().clone()) for rref in some] for some in by_worker
    ]
    params = [param for some in copies for param in some]
    groups = [{"params": some} for some in by_worker]
    optimizer = DistributedOptimizer(given, groups if apart else rrefs, **options)
    locals_ = [local(some, **options) for some in copies]
    for step in range(STEPS):
        with dist_autograd.context() as context:
            backward(context, rrefs, 1 + step, of=of)
            for param, grad in zip(params, gradients(context, rrefs), strict=True):
                param.grad = grad
            optimizer.step(context)
        for each in locals_:
            each.step()
    return [rref.to_here().detach() for rref in rrefs], [param.detach() for param in params]


def assert_equal(pair):
    for there, here in zip(*pair, strict=True):
        assert torch.equal(there, here), (there - here).abs().max()


def assert_near(pair):
    for there, here in zip(*pair, strict=True):
        torch.testing.assert_close(there, here, **NEAR)


@pytest.mark.parametrize("name", OF_TORCH)
@on_client
def test_classes_of_torch(name):
    options = OPTIONS.get(name, {})
    assert_equal(compare(getattr(torch.optim, name), getattr(updraft.optim, name), **options))
    assert_near(compare(getattr(torch.optim, name), getattr(torch.optim, name), **options))


@pytest.mark.parametrize("name", OURS)
@on_client
def test_rules_that_torch_has_not(name):
    shapes = {worker: (some[0],) for worker, some in SHAPES.items()}

    def local(params):
        return updraft.optimizer(name, params)

    # Some reduce over a group, which is stepped as a whole or not at all.
    assert_equal(compare(name, local, shapes=shapes, apart=True))


@on_client
def test_muon_with_compiled_products():
    """Wide and tall matrices, batches of them, and for the rule vectors."""
    rule = updraft.load("Muon")
    for ns_set in ("simple", "polar_express"):
        assert_equal(
            compare(
                rule,
                lambda params, **options: updraft.optimizer(rule, params, **options),
                ns_set=ns_set,
            )
        )
    shapes = {worker: (some[0],) for worker, some in SHAPES.items()}
    for kind in (torch.optim.Muon, updraft.optim.Muon, "Muon"):
        assert_equal(compare(kind, updraft.optim.Muon, shapes=shapes, numerics="ieee"))
        for dtype in (torch.float32, torch.float64):
            options = {"shapes": shapes, "dtype": dtype, "numerics": "fast"}
            assert_equal(compare(kind, updraft.optim.Muon, **options))


@on_client
def test_matrices_of_parameters_are_refused():
    groups = [{"params": parameters("worker1", (6, 3)), "matrix_blocks": 2}]
    with pytest.raises(updraft.UnsupportedError) as refusal:
        DistributedOptimizer("Lion", groups)
    assert str(refusal.value) == (
        "a distributed optimizer can't split parameters into matrices; give groups without "
        "`matrix_blocks` and `matrix_layout`"
    )


@on_client
def test_gradients_of_some_rows():
    shapes = {worker: (some[0],) for worker, some in SHAPES.items()}
    for name in ("SparseAdam", "SGD", "Adagrad"):
        for local, check in ((updraft.optim, assert_equal), (torch.optim, assert_near)):
            kinds = getattr(torch.optim, name), getattr(local, name)
            check(compare(*kinds, of=of_rows, shapes=shapes, lr=0.1))


@on_client
def test_lbfgs_asks_for_a_closure():
    rrefs = parameters("worker1", (3,))
    before = rrefs[0].to_here().detach().clone()
    with pytest.warns(UserWarning, match="steps of LBFGS run in Python on the workers"):
        optimizer = DistributedOptimizer(torch.optim.LBFGS, rrefs)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        with pytest.raises(RuntimeError, match=r"on `worker1`: TypeError: .* 'closure'$"):
            optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), before)
