"""The names and signatures of `torchopt.distributed` as published in TorchOpt 0.7.3, and a
comparison with the package itself if it is installed (python/requirements-ecosystem.txt).
"""

import inspect
import types

import pytest
import torch

import updraft
from updraft import distributed

ANY, UNSET = object(), torch.distributed.rpc.api.UNSET_RPC_TIMEOUT
NONE = None


def initialization(
    worker_init_fn=NONE, worker_name_format=ANY, *, backend=NONE, rpc_backend_options=NONE
):
    pass


def partitions(dim=0, *, exclusive=False, keepdim=True, workers=NONE):
    pass


def calls(func, *, args=NONE, kwargs=NONE, partitioner=NONE, reducer=NONE, timeout=UNSET):
    pass


def decorators(partitioner=NONE, reducer=NONE, timeout=UNSET):
    pass


def passes(autograd_ctx_id, outputs, inputs, retain_graph=False, allow_unused=False):
    pass


PUBLISHED = {
    "auto_init_rpc": initialization,
    "barrier": lambda worker_names=NONE: 0,
    "synchronize": lambda worker_names=NONE: 0,
    "WorldInfo": lambda world_rank, world_size, local_rank, local_world_size: 0,
    "get_world_info": lambda: 0,
    "get_world_rank": lambda: 0,
    "get_rank": lambda: 0,
    "get_world_size": lambda: 0,
    "get_local_rank": lambda: 0,
    "get_local_world_size": lambda: 0,
    "get_worker_id": lambda id=NONE: 0,
    "is_available": lambda: 0,
    "on_rank": lambda *ranks: 0,
    "not_on_rank": lambda *ranks: 0,
    "rank_all": lambda func: 0,
    "rank_zero_only": lambda func: 0,
    "rank_non_zero_only": lambda func: 0,
    "TensorDimensionPartitioner": lambda dim, *, exclusive=False, keepdim=False, workers=NONE: 0,
    "dim_partitioner": partitions,
    "batch_partitioner": lambda *args, **kwargs: 0,
    "exclusive_batch_partitioner": lambda *args, **kwargs: 0,
    "mean_reducer": lambda results: 0,
    "sum_reducer": lambda results: 0,
    "remote_async_call": calls,
    "remote_sync_call": calls,
    "parallelize": decorators,
    "parallelize_async": decorators,
    "parallelize_sync": decorators,
    "autograd.backward": lambda autograd_ctx_id, tensors, retain_graph=False, inputs=NONE: 0,
    "autograd.grad": passes,
    "autograd.is_available": lambda: 0,
}


def found(package, name):
    for part in name.split("."):
        package = getattr(package, part)
    return package


def described(parameters):
    return [(each.name, each.kind, each.default) for each in parameters]


def assert_takes(ours, theirs):
    """Asserts that ours has all of their parameters, and defaults for additional ones."""
    mine, other = ([*inspect.signature(each).parameters.values()] for each in (ours, theirs))
    same, more = mine[: len(other)], mine[len(other) :]
    for own, their in zip(described(same), described(other), strict=True):
        assert own[:2] == their[:2]
        # The parameter for names of workers is a function in both.
        assert own[2] == their[2] or own[0] == "worker_name_format"
    for each in more:
        assert each.kind is inspect.Parameter.KEYWORD_ONLY
        assert each.default is not inspect.Parameter.empty


@pytest.mark.parametrize("name", PUBLISHED)
def test_published(name):
    assert_takes(found(distributed, name), PUBLISHED[name])


@pytest.fixture(scope="module")
def torchopt():
    pytest.importorskip("torchopt", reason="torchopt is not installed")
    return pytest.importorskip("torchopt.distributed", reason="torchopt does not load")


def test_nothing_is_left_out(torchopt):
    published = {*torchopt.__all__, *(f"autograd.{name}" for name in torchopt.autograd.__all__)}
    missing = []
    for name in sorted(published):
        try:
            found(distributed, name)
        except AttributeError:
            missing.append(name)
    # A class of torch, which torch itself has.
    assert missing == ["autograd.DistAutogradContext"]


def holder(torchopt, name):
    """The module of torchopt that has a name; None if there is none."""
    modules = torchopt, torchopt.api, torchopt.world
    return next((module for module in modules if hasattr(module, name.split(".")[0])), None)


#: The names above that the installed TorchOpt 0.7.3 lacks.
NOT_INSTALLED = {"synchronize"}


def test_names_that_torchopt_lacks(torchopt):
    assert {name for name in PUBLISHED if holder(torchopt, name) is None} == NOT_INSTALLED


@pytest.mark.parametrize("name", [name for name in PUBLISHED if name not in NOT_INSTALLED])
def test_installed(torchopt, name):
    assert_takes(found(distributed, name), found(holder(torchopt, name), name))


BATCHES = [
    ((torch.arange(8.0).reshape(4, 2), "all"), {}),
    ((torch.arange(24.0).reshape(2, 3, 4),), {"others": [torch.ones(2, 4), 3]}),
    ((1, "nothing to cut"), {}),
]
PARTITIONERS = {
    "batches": lambda package: package.batch_partitioner,
    "items": lambda package: package.dim_partitioner(exclusive=True),
    "tasks": lambda package: package.dim_partitioner(0, exclusive=True, keepdim=False),
    "some workers": lambda package: package.dim_partitioner(0, workers=[2, 0]),
    "from the end": lambda package: package.dim_partitioner(-1, exclusive=True),
}


@pytest.mark.parametrize("partitioner", PARTITIONERS.values(), ids=PARTITIONERS)
@pytest.mark.parametrize(("args", "kwargs"), BATCHES, ids=["one", "several", "none"])
def test_partitions(torchopt, place, monkeypatch, partitioner, args, kwargs):
    """Where sizes are divisible; otherwise ours are balanced."""
    place(size=2 if partitioner is not PARTITIONERS["some workers"] else 4)
    # It reads its environment once.
    monkeypatch.setattr(torchopt.world.get_world_info, "world_info", None, raising=False)
    theirs, ours = (partitioner(package) for package in (torchopt, distributed))
    tensors = types.SimpleNamespace(mine=[], their=[])
    for (worker, own_args, own_kwargs), (their_worker, their_args, their_kwargs) in zip(
        ours(*args, **kwargs), theirs(*args, **kwargs), strict=True
    ):
        assert worker == their_worker
        tensors.mine.append((own_args, own_kwargs))
        tensors.their.append((tuple(their_args), their_kwargs))
    mine, structure = torch.utils._pytree.tree_flatten(tensors.mine)
    their, their_structure = torch.utils._pytree.tree_flatten(tensors.their)
    assert structure == their_structure
    for own, other in zip(mine, their, strict=True):
        assert own.equal(other) if isinstance(own, torch.Tensor) else own == other


def test_reducers(torchopt):
    results = [torch.tensor([1.0, 5.0]), torch.tensor([4.0, 4.0]), torch.tensor([0.5, 0.0])]
    for name in ("mean_reducer", "sum_reducer"):
        ours, theirs = found(distributed, name), found(torchopt, name)
        torch.testing.assert_close(ours(results), theirs(results))


@pytest.mark.parametrize(
    ("theirs", "ours", "options", "within"),
    [
        ("MetaSGD", "SGD", {"lr": 0.1, "momentum": 0.9}, 1e-9),
        # It corrects the bias of the averages in f32.
        ("MetaAdam", "Adam", {"lr": 0.1}, 1e-3),
    ],
)
def test_gradients_through_inner_steps(torchopt, theirs, ours, options, within):
    """The MAML gradients of the initial parameters after three inner steps."""
    package = pytest.importorskip("torchopt")
    torch.manual_seed(0)
    inputs, targets = torch.randn(8, 4, dtype=torch.float64), torch.randn(8, 1, dtype=torch.float64)

    def network():
        torch.manual_seed(1)
        layers = torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)
        return torch.nn.Sequential(*layers).double()

    def loss(model):
        return (model(inputs) - targets).square().mean()

    model = network()
    params = [*model.parameters()]
    inner = getattr(package, theirs)(model, **options)
    for _ in range(3):
        inner.step(loss(model))
    expected = torch.autograd.grad(loss(model), params)

    model = network()
    inner = updraft.MetaOptimizer(model, ours, **options)
    for _ in range(3):
        inner.step(loss(inner))
    gradients = torch.autograd.grad(loss(inner), [*model.parameters()])
    torch.testing.assert_close(gradients, expected, rtol=within, atol=1e-3 * within)
