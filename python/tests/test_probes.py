"""Probes of arrays and of torch's parameters, their callbacks and writers."""

import math
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy
import pytest
import torch

import updraft
from updraft import lang, optim
from updraft.probes import CsvWriter, Histogram, ProbeRow, TensorBoardWriter

from .conftest import SGD

UPDRAFTC = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "bin" / "updraftc"

WATCHED = """
rule Watched(lr = 0.5) {
  update(param, grad) {
    probe moved = norm(new_param - param)
    next param = param - lr * grad
  }
}
"""


def arrays(*shapes):
    generator = numpy.random.default_rng(3)
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


def trained(*shapes, seed=1):
    generator = torch.Generator().manual_seed(seed)
    params = [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in shapes]
    for param in params:
        param.grad = torch.randn(param.shape, generator=generator)
    return params


def test_values_are_those_of_numpy():
    weights, grads = arrays((30, 7), (1000,)), arrays((30, 7), (1000,))
    before = [array.copy() for array in weights]
    optimizer = updraft.ArrayOptimizer(
        updraft.load("AdamW"),
        [{"params": weights, "names": ["a", "b"]}],
        probes=["update_ratio", "gradient_norm", "non_finite", "peak = max(abs(new_exp_avg))"],
    )
    optimizer.step(grads)
    rows = optimizer.probe_values()
    assert [(row.step, row.parameter) for row in rows] == [(1, "a"), (1, "b")]
    for row, old, new, grad in zip(rows, before, weights, grads, strict=True):
        old, new, grad = (array.astype("float64") for array in (old, new, grad))
        ratio = numpy.linalg.norm(new - old) / numpy.linalg.norm(old)
        assert row.values["update_ratio"] == pytest.approx(ratio, rel=1e-4)
        assert row.values["gradient_norm"] == pytest.approx(numpy.linalg.norm(grad))
        assert row.values["non_finite"] == 0
        assert row.values["peak"] == pytest.approx(0.1 * numpy.abs(grad).max(), rel=1e-5)
    assert optimizer.probe_values() == []


def test_steps_have_the_same_bits_with_probes():
    results = []
    for probes, every in [((), 1), (["update_ratio", "alignment"], 1), (["gradient_norm"], 3)]:
        weights = arrays((50, 9), (300,))
        optimizer = updraft.ArrayOptimizer(
            updraft.load("AdamW"), weights, probes=probes, probe_every=every
        )
        for step in range(7):
            optimizer.step([numpy.cos(array * (step + 1)) for array in arrays((50, 9), (300,))])
        results.append([array.tobytes() for array in weights])
        assert optimizer.step_count(0) == 7
    assert results[0] == results[1] == results[2]


def test_probe_every_may_change():
    weight, grad = arrays((4,), (4,))
    optimizer = updraft.ArrayOptimizer(updraft.compile(WATCHED), [weight], probe_every=2)
    assert optimizer.probe_every == 2
    for _ in range(5):
        optimizer.step([grad])
    assert [row.step for row in optimizer.probe_values()] == [2, 4]
    optimizer.probe_every = 0
    optimizer.step([grad])
    optimizer.probe_every = 1
    optimizer.step([grad])
    assert [row.step for row in optimizer.probe_values()] == [7]


def test_probes_are_no_states():
    weight, grad = arrays((4,), (4,))
    optimizer = updraft.ArrayOptimizer(updraft.compile(WATCHED), [weight])
    optimizer.step([grad])
    assert optimizer.state(0) == {}
    assert optimizer.rule.states == {}
    assert optimizer.rule.probes == ["moved"]


def test_callbacks_get_the_rows_of_each_step():
    weight, grad = arrays((4,), (4,))
    optimizer = updraft.ArrayOptimizer(updraft.compile(WATCHED), [weight], probe_every=2)
    seen, others = [], []
    handle = optimizer.register_probe_callback(seen.extend)
    optimizer.register_probe_callback(others.extend)
    for _ in range(4):
        optimizer.step([grad])
    assert [row.step for row in seen] == [2, 4]
    handle.remove()
    handle.remove()
    for _ in range(2):
        optimizer.step([grad])
    assert [row.step for row in seen] == [2, 4]
    assert [row.step for row in others] == [2, 4, 6]
    assert optimizer.probe_values() == []


def test_rows_are_read_beside_steps():
    weight, grad = arrays((100_000,), (100_000,))
    optimizer = updraft.ArrayOptimizer(updraft.compile(WATCHED), [weight], lr=0)
    seen, done = [], threading.Event()

    def watch():
        while True:
            finished = done.is_set()
            seen.extend(optimizer.probe_values())
            if finished:
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        for _ in range(50):
            optimizer.step([grad])
    finally:
        done.set()
        thread.join()
    assert [row.step for row in seen] == list(range(1, 51))
    assert all(row.values == {"moved": 0.0} for row in seen)


def test_csv(tmp_path):
    path = tmp_path / "probes.csv"
    rows = [ProbeRow(1, "a,b", {"x": 0.5, "y": math.inf}), ProbeRow(1, "c", {"x": 1.0, "y": 2.0})]
    CsvWriter(path)([])
    assert not path.exists()
    CsvWriter(path)(rows)
    CsvWriter(path)([ProbeRow(2, "c", {"x": 3.0, "y": 4.0})])
    text = 'step,parameter,x,y\n1,"a,b",0.5,inf\n1,c,1.0,2.0\n2,c,3.0,4.0\n'
    assert path.read_text() == text
    with pytest.raises(updraft.InvalidArgumentError) as refused:
        CsvWriter(path)([ProbeRow(3, "c", {"x": 3.0, "z": 4.0})])
    assert str(refused.value) == (
        f"`{path}` has the columns step, parameter, x, y, but the rows have step, parameter, x, z; "
        "choose another file"
    )
    assert path.read_text() == text


def test_tensorboard_takes_a_writer():
    class Writer:
        def __init__(self):
            self.scalars = []

        def add_scalar(self, *scalar):
            self.scalars.append(scalar)

    writer = Writer()
    TensorBoardWriter(writer)([ProbeRow(3, "w", {"x": 0.5, "y": 1.0})])
    assert writer.scalars == [("x/w", 0.5, 3), ("y/w", 1.0, 3)]
    with pytest.raises(TypeError, match=r"`target` is .*; give a folder, or a writer"):
        TensorBoardWriter(3)


def test_tensorboard_and_prometheus_are_not_imported_unasked():
    program = """
import sys
import types
import updraft.optim
from updraft.probes import ProbeRow, TensorBoardWriter

writer = types.SimpleNamespace(add_scalar=print)
TensorBoardWriter(writer)([ProbeRow(3, "w", {"x": 0.5})])
print([name for name in sys.modules if "tensorboard" in name or "prometheus" in name])
"""
    # In a process of its own, because other tests import them.
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.stdout == "x/w 0.5 3\n[]\n", ran.stderr


@pytest.mark.parametrize("numerics", ["ieee", "fast", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histograms_are_those_of_numpy(numerics, dtype):
    bounds = [-1.0, -0.125, 0.0, 1e-3, 0.5, 1.0]
    special = numpy.array([math.nan, math.inf, -math.inf, 0.0, -0.0, 0.5, 1.0, -1.0, 1e-3, 1e-40])
    grads = [array.astype(dtype) for array in (*arrays((30, 7), (1000,)), special)]
    grads += [numpy.full(3, math.nan, dtype), numpy.zeros(0, dtype)]
    weights = [numpy.zeros_like(grad) for grad in grads]
    rule = updraft.load("SGD").compile(
        numerics=numerics,
        storage=dict.fromkeys(("param", "grad"), "f64" if dtype == "float64" else "f32"),
        probes=[f"sizes = histogram(grad, {bounds})", "gradient_sizes"],
    )
    optimizer = updraft.ArrayOptimizer(rule, weights)
    optimizer.step(grads)
    rows = optimizer.probe_values()
    decades = [10.0**exponent for exponent in range(-8, 1)]
    assert len(rows) == len(grads)
    for row, grad in zip(rows, grads, strict=True):
        for name, ends, values in (
            ("sizes", bounds, grad),
            ("gradient_sizes", decades, numpy.abs(grad)),
        ):
            values = values[~numpy.isnan(values)].astype("float64")
            limits = numpy.array(ends).astype(dtype).astype("float64")
            places = numpy.searchsorted(limits, values, side="right")
            counts = numpy.bincount(places, minlength=len(ends) + 1).tolist()
            assert row.values[name] == Histogram(pytest.approx(tuple(ends)), tuple(counts))


def test_a_histogram_of_a_state():
    weight, grad = arrays((40,), (40,))
    optimizer = updraft.ArrayOptimizer(
        updraft.load("AdamW"),
        [weight],
        probes=["momentum = histogram(new_exp_avg, [0])", "update_ratio", "update_sizes"],
    )
    assert optimizer.rule.probes == ["momentum", "update_ratio", "update_sizes"]
    assert optimizer.rule.probe_bounds["momentum"] == (0.0,)
    optimizer.step([grad])
    (row,) = optimizer.probe_values()
    assert list(row.values) == ["momentum", "update_ratio", "update_sizes"]
    assert row.values["momentum"].counts == ((grad < 0).sum(), (grad >= 0).sum())
    assert row.values["update_sizes"].total == 40


def test_a_histogram_of_a_skipped_step_is_nan():
    text = """
    rule R() {
      update(param, grad) {
        let size = norm(grad)
        skip when !isfinite(size)
        probe shares = histogram(abs(grad) / size, [0.5])
        next param = param - grad
      }
    }
    """
    weight, grad = arrays((4,), (4,))
    grad[1] = math.inf
    optimizer = updraft.ArrayOptimizer(updraft.compile(text), [weight])
    optimizer.step([grad])
    (row,) = optimizer.probe_values()
    assert row.values["shares"].bounds == (0.5,)
    assert all(math.isnan(count) for count in row.values["shares"].counts)


def test_histograms_of_torch_parameters():
    params = trained((8, 6), (5,))
    optimizer = optim.AdamW(params, probes=["gradient_sizes", "gradient_norm"])
    optimizer.step()
    for row, param in zip(optimizer.probe_values(), params, strict=True):
        small = (param.grad.abs() < 0.1).sum().item()
        assert sum(row.values["gradient_sizes"].counts[:-2]) == small
        assert row.values["gradient_sizes"].total == param.numel()
        assert row.values["gradient_norm"] == pytest.approx(param.grad.norm().item(), rel=1e-5)


def test_histograms_in_csv(tmp_path):
    path = tmp_path / "probes.csv"
    histogram = Histogram((1e-6, 0.25, 1.0, 1e16), (3.0, 0.0, 2.0, 1.0, math.nan))
    CsvWriter(path)([ProbeRow(1, "w", {"sizes": histogram, "x": 0.5})])
    assert path.read_text() == (
        "step,parameter,sizes[-inf..1e-06),sizes[1e-06..0.25),sizes[0.25..1),sizes[1..1e+16),"
        "sizes[1e+16..inf],x\n1,w,3.0,0.0,2.0,1.0,nan,0.5\n"
    )


def test_histograms_in_tensorboard():
    class Writer:
        def __init__(self):
            self.histograms = []

        def add_scalar(self, *scalar):
            raise AssertionError(scalar)

        def add_histogram_raw(self, tag, **histogram):
            self.histograms.append((tag, histogram))

    writer = Writer()
    rows = [
        ProbeRow(3, "w", {"sizes": Histogram((1.0, 2.0, 4.0), (3.0, 1.0, 0.0, 2.0))}),
        ProbeRow(3, "v", {"signs": Histogram((0.0,), (3.0, 1.0))}),
        ProbeRow(3, "v", {"skipped": Histogram((0.0,), (math.nan, math.nan))}),
    ]
    TensorBoardWriter(writer)(rows)
    (tag, sizes), (other, signs) = writer.histograms
    assert (tag, other) == ("sizes/w", "signs/v")
    assert sizes == {
        "min": 0.0,
        "max": 6.0,
        "num": 6.0,
        "sum": 3 * 0.5 + 1.5 + 2 * 5.0,
        "sum_squares": 3 * 0.25 + 1.5**2 + 2 * 25.0,
        "bucket_limits": [1.0, 2.0, 4.0, 6.0],
        "bucket_counts": [3.0, 1.0, 0.0, 2.0],
        "global_step": 3,
    }
    assert signs["bucket_limits"] == [0.0, 1.0]
    assert (signs["min"], signs["max"]) == (-1.0, 1.0)


def test_errors():
    (weight,) = arrays((4,))
    with pytest.raises(updraft.CompileError, match="<probe>:1:13: error: unknown name `gard`"):
        updraft.compile(SGD, probes=["size = norm(gard)"])
    with pytest.raises(updraft.CompileError, match="takes one number for the tensor"):
        updraft.compile(SGD, probes=["size = grad"])
    with pytest.raises(TypeError, match="give a list"):
        updraft.compile(SGD, probes="gradient_norm")
    with pytest.raises(TypeError, match="probe"):
        updraft.compile(SGD, probes=[1])
    compiled = updraft.compile(SGD)
    with pytest.raises(updraft.InvalidArgumentError, match="give them to"):
        updraft.ArrayOptimizer(compiled, [weight], probes=["gradient_norm"])
    optimizer = updraft.ArrayOptimizer(compiled, [weight])
    with pytest.raises(updraft.InvalidArgumentError, match="`probe_every` is -1"):
        optimizer.probe_every = -1
    with pytest.raises(TypeError, match="`probe_every` is"):
        optimizer.probe_every = 1.5
    with pytest.raises(TypeError, match="`callback` is"):
        optimizer.register_probe_callback(3)


def test_a_callback_without_probes_is_warned_of():
    (weight,) = arrays((4,))
    optimizer = updraft.ArrayOptimizer(updraft.compile(SGD), [weight])
    with pytest.warns(UserWarning, match="no rule has probes; choose") as caught:
        optimizer.register_probe_callback(list)
    assert caught[0].filename == __file__
    (param,) = trained((3,))
    optimizer = optim.AdamW([param])
    optimizer.register_probe_callback(list)
    with pytest.warns(UserWarning, match="no rule has probes; choose") as caught:
        optimizer.step()
    assert caught[0].filename == __file__


def test_functions_in_python_have_probes():
    @updraft.rule
    def traced(param, grad, lr=0.5):
        new = param - lr * grad
        lang.probe("moved", lang.norm(new - param))
        lang.probe("rate", lr)
        return new

    assert "probe moved = norm(" in traced.to_upd()
    weight, grad = arrays((6,), (6,))
    optimizer = updraft.ArrayOptimizer(traced, [weight])
    optimizer.step([grad])
    (row,) = optimizer.probe_values()
    assert row.values["moved"] == pytest.approx(0.5 * numpy.linalg.norm(grad), rel=1e-5)
    assert row.values["rate"] == 0.5

    @updraft.rule
    def twice(param, grad):
        lang.probe("size", lang.norm(grad))
        lang.probe("size", lang.norm(param))
        return param

    with pytest.raises(updraft.CompileError, match="the probe `size` is given twice"):
        twice.to_upd()


@pytest.mark.parametrize("name", ["AdamW", "SGD", "Lion", "Muon"])
def test_optimizers_of_torch_have_probes(name):
    shapes = [(8, 6), (5, 5)] if name == "Muon" else [(8, 6), (5,)]
    options = {"numerics": "ieee"} if name == "Muon" else {}
    params, plain = trained(*shapes), trained(*shapes)
    optimizer = getattr(optim, name)(
        [("first", params[0]), ("second", params[1])],
        lr=0.1,
        probes=["update_norm", "gradient_norm"],
        **options,
    )
    reference = getattr(optim, name)(plain, lr=0.1, **options)
    for step in range(3):
        before = [param.detach().double().clone() for param in params]
        optimizer.step()
        reference.step()
        rows = optimizer.probe_values()
        assert [(row.step, row.parameter) for row in rows] == [
            (step + 1, "first"),
            (step + 1, "second"),
        ]
        for row, old, param in zip(rows, before, params, strict=True):
            moved = (param.detach().double() - old).norm().item()
            assert row.values["update_norm"] == pytest.approx(moved, rel=1e-3)
            assert row.values["gradient_norm"] == pytest.approx(param.grad.norm().item(), rel=1e-5)
    for mine, other in zip(params, plain, strict=True):
        assert torch.equal(mine, other)
    assert all("norm" not in key for state in optimizer.state.values() for key in state)


def test_choices_are_pickled_and_callbacks_are_not():
    (param,) = trained((3,))
    optimizer = optim.AdamW([param], probes=["gradient_norm"], probe_every=2)
    seen = []
    optimizer.register_probe_callback(seen.extend)
    copied = pickle.loads(pickle.dumps(optimizer))
    assert copied.probe_every == 2
    (own,) = copied.param_groups[0]["params"]
    own.grad = torch.ones(3)
    for _ in range(2):
        copied.step()
    (row,) = copied.probe_values()
    assert row == ProbeRow(2, "0", {"gradient_norm": pytest.approx(math.sqrt(3))})
    assert seen == []


def test_callbacks_of_torch_optimizers():
    params = trained((3,), (4, 2))
    optimizer = updraft.optimizer("AdamW", params, probes=["gradient_norm"], probe_every=2)
    seen = []
    handle = optimizer.register_probe_callback(seen.extend)
    for _ in range(3):
        optimizer.step()
    assert [(row.step, row.parameter) for row in seen] == [(2, "0"), (2, "1")]
    optimizer.probe_every = 1
    optimizer.step()
    assert [row.step for row in seen] == [2, 2, 4, 4]
    handle.remove()
    optimizer.step()
    assert len(optimizer.probe_values()) == 2
    assert len(seen) == 4


def test_unscaled_gradients_are_probed():
    (param,) = trained((3,))
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = optim.AdamW([param], probes=["gradient_norm", "non_finite"])
    param.grad = None
    scaler.scale((param * torch.tensor([1.0, 2.0, 2.0])).sum()).backward()
    assert param.grad.norm().item() == pytest.approx(3 * 1024)
    scaler.step(optimizer)
    scaler.update()
    (row,) = optimizer.probe_values()
    assert row.values == {"gradient_norm": pytest.approx(3.0), "non_finite": 0.0}
    param.grad.fill_(math.inf)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert optimizer.probe_values() == []


def test_bad_probes_are_refused_by_constructors():
    (param,) = trained((3,))
    with pytest.raises(updraft.CompileError, match="<probe>:1:1: error: unknown probe `grad_norm`"):
        optim.AdamW([param], probes=["grad_norm"])
    with pytest.raises(updraft.InvalidArgumentError, match="`probe_every` is -2"):
        optim.Lion([param], probe_every=-2)


def test_a_step_of_two_rules_has_no_probes():
    params = trained((8, 6))
    with pytest.raises(updraft.UnsupportedError, match='give numerics="ieee" or "fast"'):
        optim.Muon(params, probes=["gradient_norm"])


def test_models_have_probes():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Linear(8, 2))
    optimizer = optim.for_model(model, probes=["update_norm"], probe_every=2, verbose=False)
    for _ in range(3):
        model(torch.ones(1, 6)).sum().backward()
        optimizer.step()
    names = {name for name, _ in model.named_parameters()}
    rows = optimizer.probe_values()
    assert {row.parameter for row in rows} == names
    assert {row.step for row in rows} == {2}
    optimizer.probe_every = 1
    optimizer.step()
    assert {row.step for row in optimizer.probe_values()} == {4}


def test_probes_of_files(tmp_path):
    (weight,) = arrays((4,))
    source = tmp_path / "watched.upd"
    source.write_text(WATCHED)
    optimizer = updraft.ArrayOptimizer(updraft.load(source), [weight], probes=["gradient_norm"])
    optimizer.step([weight.copy()])
    assert optimizer.rule.probes == ["moved", "gradient_norm"]


def test_packages_have_histograms(tmp_path):
    """A package has code for the probes that it was made with, and their bounds."""
    source, package = tmp_path / "watched.upd", tmp_path / "watched.updpack"
    source.write_text(WATCHED)
    probes = ["gradient_norm", "sizes = histogram(grad, [-0.5, 0.5])"]
    command = [UPDRAFTC, "pack", source, "-o", package]
    subprocess.run([*command, *(f"--probe={probe}" for probe in probes)], check=True)
    weight = numpy.zeros(4, "float32")
    optimizer = updraft.ArrayOptimizer(updraft.load(package).compile(probes=probes), [weight])
    assert optimizer.rule.origin == "package"
    assert optimizer.rule.probe_bounds == {"moved": (), "gradient_norm": (), "sizes": (-0.5, 0.5)}
    optimizer.step([numpy.array([-1, 0, 2, numpy.nan], "float32")])
    (row,) = optimizer.probe_values()
    assert row.values["sizes"] == Histogram((-0.5, 0.5), (1.0, 1.0, 1.0))


RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"


@pytest.mark.parametrize("file", sorted(RULES.glob("*.upd")), ids=lambda file: file.stem)
def test_every_shipped_rule_can_have_probes(file):
    rule = updraft.compile_file(file, probes=["update_ratio", "gradient_norm"])
    assert rule.probes[-2:] == ["update_ratio", "gradient_norm"]
