"""Accepted arrays: dtypes, layouts, DLPack."""

import pathlib

import numpy
import pytest

import updraft

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"
KINDS = ["f32", "f64", "f16", "bf16"]


def compiled(kind, **other):
    storage = {"param": kind, "grad": kind, **other}
    return updraft.compile_file(RULES / "adamw.upd", storage=storage)


def numpy_dtype(kind):
    if kind == "bf16":
        return numpy.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    return numpy.dtype({"f32": "float32", "f64": "float64", "f16": "float16"}[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_numpy(kind):
    dtype = numpy_dtype(kind)
    weights = numpy.ones(33, dtype=dtype)
    optimizer = updraft.ArrayOptimizer(compiled(kind), [weights], lr=0.25, weight_decay=0)
    optimizer.step([numpy.ones(33, dtype=dtype)])
    numpy.testing.assert_allclose(weights.astype("float64"), 0.75, atol=1e-2)
    state = optimizer.state(0)["exp_avg"]
    assert (state.dtype, state.shape) == (dtype, (33,))
    numpy.testing.assert_allclose(state.astype("float64"), 0.1, rtol=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_torch(kind):
    torch = pytest.importorskip("torch")
    names = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16"}
    dtype = getattr(torch, names[kind])
    weights = torch.nn.Parameter(torch.ones(5, 7, dtype=dtype))
    optimizer = updraft.ArrayOptimizer(compiled(kind), [weights], lr=0.25, weight_decay=0)
    weights.sum().backward()
    optimizer.step([weights.grad])
    assert torch.allclose(weights.double(), torch.full((5, 7), 0.75).double(), atol=1e-2)


def test_bf16_state_without_ml_dtypes(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr("updraft.dtypes.numpy_bfloat16", lambda: None)
    weights = torch.ones(5, dtype=torch.bfloat16)
    optimizer = updraft.ArrayOptimizer(compiled("bf16"), [weights])
    optimizer.step([torch.ones(5, dtype=torch.bfloat16)])
    state = torch.from_dlpack(optimizer.state(0)["exp_avg"])
    assert state.dtype == torch.bfloat16
    assert torch.allclose(state.float(), torch.full((5,), 0.1), rtol=1e-2)


def test_mixed_storage():
    weights = numpy.ones(4, dtype=numpy_dtype("bf16"))
    rule = compiled("bf16", state="f32")
    optimizer = updraft.ArrayOptimizer(rule, [weights])
    optimizer.step([numpy.ones(4, dtype=weights.dtype)])
    assert optimizer.state(0)["exp_avg"].dtype == numpy.float32


def test_transposed_and_empty(momentum):
    weights = numpy.ones((3, 5), dtype="float32").T
    empty = numpy.ones((0, 5), dtype="float32")
    scalar = numpy.ones((), dtype="float32")
    optimizer = updraft.ArrayOptimizer(momentum, [weights, empty, scalar], lr=1.0)
    optimizer.step([numpy.ones((3, 5), dtype="float32").T, empty.copy(), scalar.copy()])
    assert not weights.any()
    assert not scalar
    state = optimizer.state(0)["velocity"]
    assert (state.shape, state.strides) == (weights.shape, weights.strides)
    assert optimizer.state(1)["velocity"].shape == (0, 5)
    assert optimizer.state(2)["velocity"].shape == ()


def test_gaps_between_elements_are_refused(momentum):
    with pytest.raises(updraft.UpdraftError, match="dense"):
        updraft.ArrayOptimizer(momentum, [numpy.ones(10, dtype="float32")[::2]])


def test_read_only_parameters_are_refused(momentum):
    weights = numpy.ones(3, dtype="float32")
    weights.flags.writeable = False
    with pytest.raises(updraft.UpdraftError, match="read-only"):
        updraft.ArrayOptimizer(momentum, [weights])


@pytest.mark.parametrize("dtype", ["int64", "complex64", "bool", "uint16"])
def test_other_dtypes_are_refused(momentum, dtype):
    with pytest.raises(updraft.UnsupportedError, match=dtype):
        updraft.ArrayOptimizer(momentum, [numpy.ones(3, dtype=dtype)])


def test_another_dtype_than_the_rules(momentum):
    with pytest.raises(updraft.InvalidArgumentError, match="f64"):
        updraft.ArrayOptimizer(momentum, [numpy.ones(3)])


@pytest.mark.parametrize("thing", [1.5, None, [1.0, 2.0], "text", object()])
def test_objects_that_are_not_arrays_are_refused(momentum, thing):
    with pytest.raises(TypeError, match="parameter 0"):
        updraft.ArrayOptimizer(momentum, [thing])


def test_scalars_of_numpy(momentum):
    """Some have buffers without strides."""
    with pytest.raises(updraft.UnsupportedError, match="parameter 0 has dtype `datetime64"):
        updraft.ArrayOptimizer(momentum, [numpy.datetime64("2020")])
    with pytest.raises(updraft.InvalidArgumentError, match="parameter `0` is read-only"):
        updraft.ArrayOptimizer(momentum, [numpy.float32(1)])


def test_reversed_views_are_refused(momentum):
    weights = numpy.ones(4, dtype="float32")
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        updraft.ArrayOptimizer(momentum, [weights[::-1]])
    assert str(caught.value) == (
        "parameter `0` runs backwards in memory: [4] with strides [-1]; give the tensor that it is "
        "a reversed view of, or a copy"
    )
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        optimizer.step([numpy.ones(4, dtype="float32")[::-1]])
    assert str(caught.value) == (
        "gradient of parameter `0` is [4] with strides [-1], but the parameter has strides [1]; "
        "give a tensor of the same strides"
    )


def test_another_layout_than_the_parameters(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [numpy.ones((4, 4), dtype="float32")])
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        optimizer.step([numpy.ones((4, 4), dtype="float32").T])
    assert str(caught.value) == (
        "gradient of parameter `0` is [4, 4] with strides [1, 4], but the parameter has strides "
        "[4, 1]; give a tensor of the same strides"
    )
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        optimizer.step([numpy.ones((4, 3), dtype="float32")])
    assert str(caught.value) == (
        "gradient of parameter `0` is [4, 3], but the parameter is [4, 4]; give a tensor of the "
        "same shape and strides"
    )


def test_tensors_without_memory_here(momentum):
    torch = pytest.importorskip("torch")
    optimizer = updraft.ArrayOptimizer(momentum, [torch.ones(2, 2)])
    for tensor in (torch.ones(2, 2, device="meta"), torch.ones(2, 2).to_sparse_csr()):
        with pytest.raises(TypeError) as caught:
            optimizer.step([tensor])
        assert str(caught.value) == (
            "gradient 0 is <class 'torch.Tensor'> of dtype `torch.float32`, which is not in CPU "
            "memory, not dense, or of a dtype that DLPack does not have; pass a numpy array or a "
            "dense tensor with `__dlpack__`"
        )
    with pytest.raises(TypeError, match=r"parameter 0 is .*, not dense"):
        updraft.ArrayOptimizer(momentum, [torch.ones(2, 2).to_sparse()])
    with pytest.raises(TypeError, match="`params` is one array"):
        updraft.ArrayOptimizer(momentum, torch.ones(4, 4))


def test_arrays_of_another_byte_order(momentum):
    with pytest.raises(TypeError) as caught:
        updraft.ArrayOptimizer(momentum, [numpy.ones(2, dtype=">f4")])
    assert str(caught.value) == (
        "parameter 0 is <class 'numpy.ndarray'> of dtype `>f4`, which is not in CPU memory, not "
        "dense, or of a dtype that DLPack does not have; pass a numpy array or a dense tensor with "
        "`__dlpack__`"
    )


def test_negated_views_are_refused(momentum):
    """DLPack would export the memory, which has the negated values."""
    torch = pytest.importorskip("torch")
    weights = torch.zeros(2)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    negated = torch.complex(torch.ones(1), torch.ones(1)).conj().imag.expand(2)
    with pytest.raises(updraft.UnsupportedError) as caught:
        optimizer.step([negated])
    assert str(caught.value) == (
        "gradient 0 is a negated view of another tensor; give a tensor of its own, such as "
        "`resolve_neg()` returns"
    )
    assert not weights.any()
    optimizer.step([negated.resolve_neg().contiguous()])
    assert (weights > 0).all()


def test_codes_need_the_metadata_of_their_file(tmp_path):
    """The codes alone don't tell their format."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    rule = updraft.load("AdamW").compile(storage={"state": "q8_linear"})
    optimizer = updraft.ArrayOptimizer(rule, [numpy.ones(300, numpy.float32)])
    optimizer.step([numpy.ones(300, numpy.float32)])
    optimizer.save(tmp_path / "whole.safetensors")
    tensors = numpy_files.load_file(tmp_path / "whole.safetensors")
    numpy_files.save_file(tensors, tmp_path / "bare.safetensors")
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        optimizer.load(tmp_path / "bare.safetensors")
    assert str(caught.value).endswith(
        "`state/0/exp_avg` is in codes, but the metadata `updraft.storage.exp_avg` is missing, "
        "which names their format; keep the metadata of the file"
    )
    optimizer.load(tmp_path / "whole.safetensors")
