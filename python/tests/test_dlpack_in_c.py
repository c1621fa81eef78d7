"""The C API's DLPack functions, with numpy and torch on the other side."""

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy
import pytest
import torch

import updraft

RULE = """
rule Momentum(lr = 0.5) {
  state velocity = 0
  update(param, grad) {
    let v = velocity / 2 + grad
    next velocity = v
    next param    = param - lr * v
  }
}
"""

[_LIBRARY] = Path(updraft.__file__).parent.glob("libupdraft.so*")
library = ctypes.CDLL(str(_LIBRARY))
library.upd_last_error.restype = c_char_p

_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, c_char_p]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [c_void_p, c_char_p, c_void_p]
NAME = b"dltensor_versioned"


class Tensor(ctypes.Structure):
    """Stands for upd_tensor."""

    _fields_ = [
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("rank", c_int32),
        ("dtype", c_int32),
        ("device", c_int32),
        ("device_index", c_int32),
        ("read_only", c_int32),
    ]


class Group(ctypes.Structure):
    """Stands for upd_group."""

    _fields_ = [
        ("params", POINTER(Tensor)),
        ("names", c_void_p),
        ("param_count", c_size_t),
        ("hypers", c_void_p),
        ("hyper_count", c_size_t),
    ]


class Exported:
    """A DLPack tensor of the library, for a consumer."""

    def __init__(self, pointer):
        self.pointer = pointer

    def __dlpack__(self, **_):
        return _new_capsule(self.pointer, NAME, None)

    def __dlpack_device__(self):
        return (1, 0)


def check(status):
    assert status == 0, library.upd_last_error().decode()


def view(exporter):
    """Views a tensor of another library; the capsule keeps the memory."""
    capsule = exporter.__dlpack__(max_version=(1, 0))
    tensor = Tensor()
    check(library.upd_tensor_from_dlpack(c_void_p(_capsule_pointer(capsule, NAME)), byref(tensor)))
    return tensor, capsule


@pytest.mark.parametrize(
    ("exporter", "dtype"),
    [
        (numpy.zeros((2, 3), numpy.float32), 0),
        (numpy.zeros((2, 3), numpy.float64), 1),
        (torch.zeros((2, 3), dtype=torch.bfloat16), 2),
        (numpy.zeros((2, 3), numpy.float16), 3),
        (torch.zeros((2, 3), dtype=torch.int8), 4),
    ],
)
def test_views_tensors_of_other_libraries(exporter, dtype):
    tensor, _capsule = view(exporter.T)
    assert tensor.rank == 2
    assert tensor.shape[:2] == [3, 2]
    assert tensor.strides[:2] == [1, 3]
    assert (tensor.dtype, tensor.device, tensor.read_only) == (dtype, 1, 0)


def test_views_read_only_arrays():
    array = numpy.zeros(3)
    array.flags.writeable = False
    assert view(array)[0].read_only


def test_refuses_other_element_types():
    capsule = numpy.zeros(3, numpy.int64).__dlpack__(max_version=(1, 0))
    status = library.upd_tensor_from_dlpack(
        c_void_p(_capsule_pointer(capsule, NAME)), byref(Tensor())
    )
    assert status == 4
    assert library.upd_last_error().decode() == (
        "the DLPack tensor has elements of type code 0 with 64 bits and 1 lanes; the element types "
        "are f32, f64, bf16, f16 and i8"
    )


@pytest.mark.parametrize("consumer", [numpy, torch])
def test_states_outlive_the_optimizer(consumer):
    rule = updraft.compile(RULE)
    weights = numpy.ones((2, 3), numpy.float32)
    grads = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    param, _first = view(weights)
    grad, _second = view(grads)
    group = Group(params=ctypes.pointer(param), param_count=1)
    optimizer = c_void_p()
    check(
        library.upd_optimizer_create(
            c_void_p(rule._compiled.address), byref(group), c_size_t(1), None, byref(optimizer)
        )
    )
    check(library.upd_optimizer_step(optimizer, byref(grad), c_size_t(1)))
    exported = c_void_p()
    check(
        library.upd_optimizer_state_to_dlpack(optimizer, c_size_t(0), b"velocity", byref(exported))
    )
    velocity = consumer.from_dlpack(Exported(exported))
    velocity[0, 0] = 8
    check(library.upd_optimizer_step(optimizer, byref(grad), c_size_t(1)))
    library.upd_optimizer_release(optimizer)
    assert velocity.tolist() == [[4, 1.5, 3], [4.5, 6, 7.5]]
    assert weights[0].tolist() == [1 - 2, 1 - 1.25, 1 - 2.5]
