"""Steps on a GPU against steps on the CPU, bit for bit: on the emulator, and on any GPU.

For torch, the emulator's tensors are on the CPU; only `updraft.optim.devices` knows the difference.
"""

import copy
import io
import os
import subprocess
import sys

import pytest
import torch

import updraft
from updraft import optim
from updraft.optim import devices

from .test_clipping import test_thirty_steps as test_clipped_steps  # noqa: F401
from .test_square_states import traced as preconditioned
from .test_torch_table import (  # noqa: F401
    test_layouts_of_groups,
    test_steps_with_a_closure,
    test_types_in_one_group,
)
from .torch_training import assert_same_states

SHAPES = [(13, 11), (7,), (), (3, 5, 2), (0, 4)]
MATRICES = [(13, 11), (7, 9)]


class Excluded(set):
    """The identities of the parameters that the emulator must not step."""

    #: torch's device of the other parameters.
    device = torch.device("cpu")


@pytest.fixture(
    autouse=True, params=["emulator", "cuda"] if torch.cuda.is_available() else ["emulator"]
)
def emulated(request, monkeypatch):
    """Steps all parameters as on a GPU, except those that a test excludes."""
    on_cpu = Excluded()
    if request.param == "cuda":
        on_cpu.device = torch.device("cuda", 0)
    else:
        monkeypatch.setattr(devices, "is_emulated", lambda tensor: id(tensor) not in on_cpu)
    return on_cpu


def assert_same(given, expected):
    torch.testing.assert_close(given, expected, rtol=0, atol=0, equal_nan=True, check_device=False)


class Pair:
    """The same optimizer with the same parameters, on the device and on the CPU."""

    def __init__(self, on_cpu, make, shapes=SHAPES, dtype=torch.float32):
        generator = torch.Generator().manual_seed(3)
        values = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
        self.here = [torch.nn.Parameter(value.clone()) for value in values]
        self.device = on_cpu.device
        self.there = [torch.nn.Parameter(value.to(self.device)) for value in values]
        on_cpu.update(map(id, self.here))
        self.on_cpu, self.on_device = make(self.here), make(self.there)
        self.generator = generator

    def set_gradients(self, scale=1.0):
        for here, there in zip(self.here, self.there, strict=True):
            grad = scale * torch.randn(here.shape, generator=self.generator)
            here.grad, there.grad = grad.to(here.dtype), grad.to(there)

    def step(self):
        self.set_gradients()
        self.on_cpu.step()
        self.on_device.step()

    def check(self):
        for here, there in zip(self.here, self.there, strict=True):
            assert_same(there, here)
        mine, other = self.on_cpu.state_dict(), self.on_device.state_dict()
        assert mine["state"].keys() == other["state"].keys()
        for number, state in mine["state"].items():
            assert state.keys() == other["state"][number].keys()
            for name, value in state.items():
                stepped = torch.as_tensor(other["state"][number][name])
                assert_same(stepped, torch.as_tensor(value))


CLASSES = sorted(
    name
    for name in optim.__all__
    if isinstance(getattr(optim, name), type) and name not in ("LBFGS", "SparseAdam")
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name, dtype, emulated):
    if name == "Muon" and emulated.device.type == "cuda":
        pytest.skip("torch's products have other bits on a GPU")
    shapes = MATRICES if name == "Muon" else SHAPES
    pair = Pair(emulated, lambda params: getattr(optim, name)(params, lr=1e-2), shapes, dtype)
    for _ in range(3):
        pair.step()
    pair.check()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["f32", "f64"])
def test_muon_with_compiled_products(dtype, emulated):
    pair = Pair(emulated, lambda params: optim.Muon(params, numerics="ieee"), MATRICES, dtype)
    for _ in range(3):
        pair.step()
    pair.check()


@pytest.mark.parametrize("products, bound", [("bf16", 0.1), ("f16", 0.0125)])
@pytest.mark.parametrize("name", ["muon", "normuon"])
def test_rounded_products(name, products, bound, emulated):
    """Both devices may round operands, and add up in other orders."""
    shapes = [(65, 70), (70, 65), (2, 33, 20), (3, 3)]
    flags = {"products": products, "ns_steps": 2}

    def make(params):
        rule = updraft.load(name)
        return updraft.optimizer(rule, params, lr=1e-2, numerics="fast", **flags)

    pair = Pair(emulated, make, shapes)
    before = [param.detach().clone() for param in pair.here]
    for absent in (None, 1):
        pair.set_gradients()
        if absent is not None:
            pair.here[absent].grad = pair.there[absent].grad = None
        pair.on_cpu.step()
        pair.on_device.step()
    for first, here, there in zip(before, pair.here, pair.there, strict=True):
        assert (there.cpu() - here).norm() <= bound * (here - first).norm()


def step_unless(pair, found):
    """Steps both with new gradients, as `GradScaler` does: not if an infinity was found."""
    pair.set_gradients()
    for optimizer in (pair.on_cpu, pair.on_device):
        optimizer.found_inf = torch.tensor(found)
        optimizer.step()
        del optimizer.found_inf


@pytest.mark.parametrize("name", ["SOAP", "Shampoo", "KLShampoo"])
def test_functions_of_matrices(name, emulated):
    """Steps with a refresh and without, and a skipped one."""

    def make(params):
        return getattr(optim, name)(params, lr=1e-2, precondition_frequency=2)

    pair = Pair(emulated, make, [*SHAPES, (40, 3), (3, 40), (9, 9)])
    for found in (0.0, 0.0, 1.0, 0.0):
        step_unless(pair, found)
    pair.check()
    for _ in range(3):
        pair.step()
    pair.check()


def test_functions_of_matrices_without_lapack(emulated):
    code = (
        "import sys, torch\n"
        "from updraft import optim\n"
        "from updraft.optim import devices\n"
        "if sys.argv[1] == 'cpu':\n"
        "    devices.is_emulated = lambda tensor: True\n"
        "param = torch.nn.Parameter(torch.ones(3, 4, device=sys.argv[1]))\n"
        "optim.PSGDPro([param]).step()\n"
        "optim.SOAP([param])\n"
    )
    environment = {**os.environ, "UPDRAFT_LAPACK": "/none/liblapack.so"}
    result = subprocess.run(
        [sys.executable, "-c", code, str(emulated.device)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "NotImplementedError: the rule has factorizations of matrices, which need LAPACK, but "
        "it can't be loaded (/none/liblapack.so: cannot open shared object file: No such file or "
        "directory); install it (Debian: libopenblas0-pthread), or set UPDRAFT_LAPACK to the file "
        "of the library"
    )


def test_recorded_logits(emulated):
    pair = Pair(emulated, optim.MuonClip, MATRICES)
    for _ in range(3):
        pair.step()
        for optimizer, params in ((pair.on_cpu, pair.here), (pair.on_device, pair.there)):
            for number, param in enumerate(params):
                optimizer.record_max_logits(param, torch.tensor([130.0 + number]).to(param.device))
    pair.check()


def test_square_states(emulated):
    pair = Pair(emulated, lambda params: updraft.optimizer(preconditioned, params))
    for _ in range(3):
        pair.step()
    pair.check()


def test_states_are_looked_at_between_steps(emulated):
    pair = Pair(emulated, optim.AdamW)
    for _ in range(3):
        pair.step()
        pair.check()


def test_gradients_that_come_and_go(emulated):
    pair = Pair(emulated, optim.Adafactor)
    for absent in (1, 0, 3):
        pair.set_gradients()
        pair.here[absent].grad = pair.there[absent].grad = None
        pair.on_cpu.step()
        pair.on_device.step()
    pair.check()


def test_a_tensor_as_learning_rate_is_read_in_each_step(emulated):
    rates = [torch.tensor(0.1, device=emulated.device), torch.tensor(0.1)]
    pair = Pair(emulated, lambda params: optim.AdamW(params, lr=rates.pop(), foreach=False))
    for rate in (0.1, 0.02, 0.3):
        for optimizer in (pair.on_cpu, pair.on_device):
            optimizer.param_groups[0]["lr"].fill_(rate)
        pair.step()
        pair.check()
    for optimizer in (pair.on_cpu, pair.on_device):
        optimizer.param_groups[0]["lr"] = 0.25
    pair.step()
    pair.check()


def test_schedulers(emulated):
    pair = Pair(emulated, lambda params: optim.SGD(params, lr=0.5, momentum=0.9))
    schedulers = [
        torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.3, total_steps=6)
        for optimizer in (pair.on_cpu, pair.on_device)
    ]
    for _ in range(5):
        pair.step()
        for scheduler in schedulers:
            scheduler.step()
    pair.check()


@pytest.mark.parametrize("name", ["AdamW", "Adafactor", "SGD", "Prodigy"])
def test_found_inf_is_read_on_the_device(name, emulated):
    pair = Pair(emulated, getattr(optim, name))
    scale = torch.tensor(8.0)
    for found in (1.0, 0.0, 1.0, 0.0, 0.0):
        pair.set_gradients(8.0)
        for optimizer in (pair.on_cpu, pair.on_device):
            optimizer.grad_scale = scale
            optimizer.found_inf = torch.tensor(found)
            optimizer.step()
            del optimizer.grad_scale, optimizer.found_inf
        pair.check()
        scale.mul_(1.0)
    pair.step()
    pair.check()


@pytest.mark.parametrize("name", ["Rprop", "Prodigy", "Adagrad"])
def test_first_steps_that_are_skipped(name, emulated):
    hyper = "d0" if name == "Prodigy" else "lr"
    pair = Pair(emulated, getattr(optim, name))
    for value, found in ((0.1, 1.0), (0.2, 1.0), (0.05, 0.0), (0.3, 0.0)):
        pair.set_gradients()
        for optimizer in (pair.on_cpu, pair.on_device):
            optimizer.param_groups[0][hyper] = value
            optimizer.found_inf = torch.tensor(found)
            optimizer.step()
            del optimizer.found_inf
    pair.check()


def test_a_count_without_states_and_a_step_that_is_skipped(emulated):
    pair = Pair(emulated, optim.AdamW)
    for optimizer, params in ((pair.on_cpu, pair.here), (pair.on_device, pair.there)):
        for param in params:
            optimizer.state[param] = {"step": torch.tensor(5.0)}
    for found in (1.0, 0.0, 0.0):
        step_unless(pair, found)
        pair.on_device.state_dict()
    pair.check()


def test_clipping_is_not_refused_for_what_a_scaler_has_found(emulated):
    pair = Pair(emulated, optim.AdamW)
    for optimizer in (pair.on_cpu, pair.on_device):
        optim.with_clipping(optimizer, 0.5, error_if_nonfinite=True)
    for found in (0.0, 1.0, 0.0):
        pair.set_gradients()
        for optimizer, params in ((pair.on_cpu, pair.here), (pair.on_device, pair.there)):
            if found:
                params[0].grad.fill_(torch.inf)
            optimizer.grad_scale = torch.tensor(4.0)
            optimizer.found_inf = torch.tensor(found)
            optimizer.step()
            del optimizer.grad_scale, optimizer.found_inf
        assert_same(pair.on_device.last_grad_norm, pair.on_cpu.last_grad_norm)
        pair.check()


def test_a_step_does_not_wait_for_the_device(emulated, monkeypatch):
    pair = Pair(emulated, optim.AdamW)
    # Code for a scale is compiled with the first one.
    pair.on_device.grad_scale = torch.tensor(2.0)
    pair.step()

    def refuse(*arguments):
        raise AssertionError("a step waits")

    pair.set_gradients()
    pair.on_device.grad_scale = torch.tensor(2.0)
    pair.on_device.found_inf = torch.tensor(0.0, device=emulated.device)
    pair.on_device.param_groups[0]["lr"] = torch.tensor(0.5, device=emulated.device)
    monkeypatch.setattr(torch.Tensor, "item", refuse)
    monkeypatch.setattr(torch.Tensor, "__float__", refuse)
    pair.on_device.step()


def test_states_travel_between_devices_and_torch(emulated):
    pair = Pair(emulated, optim.AdamW)
    pair.step()
    file = io.BytesIO()
    torch.save(pair.on_device.state_dict(), file)
    file.seek(0)
    saved = torch.load(file)
    pair.on_device.load_state_dict(pair.on_cpu.state_dict())
    pair.on_cpu.load_state_dict(saved)
    pair.step()
    pair.check()
    theirs = torch.optim.AdamW([torch.nn.Parameter(param.detach().clone()) for param in pair.here])
    theirs.load_state_dict(pair.on_device.state_dict())
    assert_same_states(theirs, pair.on_device)


def test_states_and_counts_that_are_written(emulated):
    pair = Pair(emulated, optim.AdamW)
    pair.step()
    for optimizer, params in ((pair.on_cpu, pair.here), (pair.on_device, pair.there)):
        optimizer.state[params[0]]["step"].fill_(10)
        optimizer.state[params[0]]["exp_avg"].mul_(2)
        optimizer.state[params[1]] = {}
        optimizer.state[params[2]]["step"] = torch.tensor(5.0)
    pair.step()
    pair.check()


def test_copies_and_pickles(emulated):
    pair = Pair(emulated, optim.AdamW)
    pair.step()
    duplicate = copy.deepcopy(pair.on_device)
    assert_same_states(pair.on_cpu, duplicate)
    pair.step()
    pair.check()


def test_both_devices_in_one_optimizer(emulated):
    pair = Pair(emulated, optim.Adafactor)
    emulated.update(id(param) for param in pair.there[::2])
    for param in pair.there[::2]:
        param.data = param.data.cpu()
    for found in (0.0, 1.0, 0.0):
        step_unless(pair, found)
        pair.check()


def test_rules_of_ones_own(emulated):
    @updraft.rule
    def heavy(param, grad, state, lr=0.1, mu=0.9):
        velocity = mu * state.setdefault("velocity", 0) + grad
        state["velocity"] = velocity
        return param - lr * velocity

    pair = Pair(emulated, lambda params: updraft.optimizer(heavy, params, lr=0.2))
    for _ in range(3):
        pair.step()
    pair.check()


def test_random_numbers_are_those_of_the_cpu(emulated):
    def make(params):
        storage = {"param": "bf16_stochastic"}
        return updraft.optimizer(updraft.load("adamw"), params, storage=storage, seed=7)

    pair = Pair(emulated, make, dtype=torch.bfloat16)
    for _ in range(3):
        pair.step()
    pair.check()


SPARSE = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("SparseAdam", {}),
]


def set_sparse_gradients(pair, dims, count=5):
    """Gradients of some positions, some of them repeated."""
    for here, there in zip(pair.here, pair.there, strict=True):
        sizes = here.shape[:dims]
        places = [torch.randint(size, (count,), generator=pair.generator) for size in sizes]
        values = torch.randn((count, *here.shape[dims:]), generator=pair.generator)
        grad = torch.sparse_coo_tensor(torch.stack(places), values.to(here.dtype), here.shape)
        if there.is_cuda and here.dtype == torch.bfloat16:  # torch adds them up in f32 there
            grad = grad.coalesce()
        here.grad, there.grad = grad, grad.to(there.device, copy=True)


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name, options", SPARSE, ids=str)
def test_sparse_gradients(name, options, dtype, dims, emulated):
    def make(params):
        return getattr(optim, name)(params, lr=1e-2, **options)

    pair = Pair(emulated, make, [(20, 4), (6, 5, 4), (3, 9000)], dtype)
    for count in (5, 0, 9, 2):
        set_sparse_gradients(pair, dims, count)
        versions = [param._version for param in pair.there]
        pair.on_cpu.step()
        pair.on_device.step()
        assert all(param._version > old for param, old in zip(pair.there, versions, strict=True))
    pair.check()


@pytest.mark.parametrize("order", ["turned", "last first"])
def test_sparse_gradients_of_other_orders(order, emulated):
    pair = Pair(emulated, lambda params: optim.SGD(params, lr=0.1), [(6, 5, 4)])
    for param in (*pair.here, *pair.there):
        turned = param.data.mT if order == "turned" else param.data.movedim(-1, 0)
        turned = turned.contiguous()
        param.data = turned.mT if order == "turned" else turned.movedim(0, -1)
    for dims in (1, 2, 3):
        set_sparse_gradients(pair, dims)
        pair.on_cpu.step()
        pair.on_device.step()
        pair.check()


def test_sparse_gradients_beside_dense_ones_come_and_go(emulated):
    pair = Pair(emulated, optim.Adagrad, [(20, 4), (7, 3)])
    for sparse in ((0,), (0, 1), (), (1,)):
        pair.set_gradients()
        whole = [(here.grad, there.grad) for here, there in zip(pair.here, pair.there, strict=True)]
        set_sparse_gradients(pair, 1)
        for index, grads in enumerate(whole):
            if index not in sparse:
                pair.here[index].grad, pair.there[index].grad = grads
        pair.on_cpu.step()
        pair.on_device.step()
        pair.check()


def test_an_embedding_has_sparse_gradients(emulated):
    tables = [torch.nn.Embedding(30, 4, sparse=True) for _ in range(2)]
    tables[1].load_state_dict(tables[0].state_dict())
    tables[1].to(emulated.device)
    emulated.add(id(tables[0].weight))
    optimizers = [optim.SparseAdam(table.parameters(), lr=0.1) for table in tables]
    for step in range(4):
        words = torch.tensor([[step, 3, 3], [29, 7, step]])
        for table, optimizer in zip(tables, optimizers, strict=True):
            optimizer.zero_grad()
            table(words.to(table.weight.device)).square().sum().backward()
            optimizer.step()
    assert_same(tables[1].weight, tables[0].weight)
    here, there = (optimizer.state_dict()["state"][0] for optimizer in optimizers)
    assert here.keys() == there.keys()
    for name, value in here.items():
        assert_same(torch.as_tensor(there[name]), torch.as_tensor(value))


def test_a_scaler_skips_steps_of_sparse_gradients(emulated):
    pair = Pair(emulated, lambda params: optim.SGD(params, lr=0.1), [(20, 4)])
    for found in (1.0, 0.0):
        set_sparse_gradients(pair, 1)
        for optimizer in (pair.on_cpu, pair.on_device):
            optimizer.grad_scale = torch.tensor(4.0)
            optimizer.found_inf = torch.tensor(found)
            optimizer.step()
        pair.check()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", ["adamw", "adafactor"])
def test_states_in_blocks(name, dtype, emulated):
    storage = {"state": "q8_linear"}
    if name == "adamw":
        storage["exp_avg_sq"] = "q8_companded"
    rule = updraft.load(name)
    shapes = [*SHAPES, (40, 300)]
    pair = Pair(emulated, lambda p: updraft.optimizer(rule, p, storage=storage), shapes, dtype)
    for _ in range(3):
        pair.step()
    pair.check()
    saved = copy.deepcopy(pair.on_device.state_dict())
    pair.on_device = updraft.optimizer(rule, pair.there, storage=storage)
    pair.on_device.load_state_dict(saved)
    for _ in range(2):
        pair.step()
        pair.check()


def test_a_scale_of_another_device_is_brought_to_one_place():
    readings = devices.DeviceReadings(None, torch.device("meta"), 0)
    first = readings.brought(devices.GradientScale(torch.tensor(8.0)))
    assert first.device.type == "meta"
    assert readings.brought(devices.GradientScale(torch.tensor([4.0]))) is first


def test_rules_of_whole_groups_are_for_one_device(emulated):
    params = [torch.nn.Parameter(torch.zeros(3)) for _ in range(2)]
    params[1].data = params[1].data.to(emulated.device)
    emulated.add(id(params[0]))
    with pytest.raises(updraft.UnsupportedError) as refusal:
        optim.Prodigy(params)
    name = "emulator" if emulated.device.type == "cpu" else "cuda:0"
    assert f"stepped apart (torch.float32 on cpu, torch.float32 on {name})" in str(refusal.value)


MADE = {
    "AdamW": lambda params: optim.AdamW(params, lr=0.1),
    "Adafactor": optim.Adafactor,
    "Muon": lambda params: optim.Muon(params, numerics="ieee"),
}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
@pytest.mark.parametrize("name", MADE)
def test_a_captured_step_is_replayed_with_other_gradients(name, emulated):
    if emulated.device.type != "cuda":
        pytest.skip("steps on the emulator aren't captured")
    pair = Pair(emulated, MADE[name], MATRICES)
    pair.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pair.on_device.step()
    captured = [param.grad for param in pair.there]
    for _ in range(3):
        pair.set_gradients()
        for place, param in zip(captured, pair.there, strict=True):
            place.copy_(param.grad)
        pair.on_cpu.step()
        graph.replay()
        pair.check()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_a_scaler_of_torch(emulated):
    if emulated.device.type != "cuda":
        pytest.skip("torch's scaler needs a GPU")
    pair = Pair(emulated, optim.AdamW)
    scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
    for bad in (False, True, False):
        pair.set_gradients()
        for param in pair.there:
            param.grad.mul_(4.0)
        if bad:
            pair.there[0].grad.fill_(torch.inf)
        scaler.scale(torch.ones((), device=emulated.device))
        scaler.step(pair.on_device)
        scaler.update(4.0)
        if not bad:
            pair.on_cpu.step()
        pair.check()
