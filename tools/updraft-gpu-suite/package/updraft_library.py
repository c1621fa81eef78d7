"""ctypes bindings of Updraft's C API for tensors of torch: only the functions peers.py needs.

Tensors on the CPU use the emulator, for tests on machines without a GPU.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

# include/updraft-c/types.h, and runtime/base/EmulatorDevice.h
F32, BF16 = 0, 2
CUDA, EMULATOR = 2, 12


class Setting(ctypes.Structure):
    """Stands for upd_setting."""

    _fields_ = [("name", c_char_p), ("value", c_char_p)]


class Storage(ctypes.Structure):
    """Stands for upd_storage."""

    _fields_ = [("name", c_char_p), ("type", c_char_p)]


class CompileOptions(ctypes.Structure):
    """Stands for upd_compile_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("rule", c_char_p),
        ("settings", POINTER(Setting)),
        ("setting_count", c_size_t),
        ("storage", POINTER(Storage)),
        ("storage_count", c_size_t),
        ("numerics", c_char_p),
        ("cache_dir", c_char_p),
        ("origins", c_void_p),
        ("tensors", ctypes.c_int),
        ("target", c_char_p),
    ]


class Tensor(ctypes.Structure):
    """Stands for upd_tensor."""

    _fields_ = [
        ("data", c_void_p),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("rank", c_int32),
        ("dtype", ctypes.c_int),
        ("device", ctypes.c_int),
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


class UpdraftError(Exception):
    """The library's message for a call that failed."""


class Library:
    """The functions of libupdraft.so."""

    def __init__(self, path: str, rules: str) -> None:
        """Loads the library; `folder` contains its rules."""
        self.functions = ctypes.CDLL(path)
        self.functions.upd_last_error.restype = c_char_p
        self.functions.upd_version.restype = c_char_p
        self.rules = rules

    @property
    def version(self) -> str:
        """Returns Updraft's version, with that of LLVM."""
        return self.functions.upd_version().decode()

    def check(self, status: int) -> None:
        """Raises the library's message unless the status is UPD_OK."""
        if status != 0:
            raise UpdraftError(self.functions.upd_last_error().decode())


def _described(tensors: Sequence[torch.Tensor], keep: list[object]) -> ctypes.Array[Tensor]:
    import torch

    array = (Tensor * len(tensors))()
    for place, tensor in zip(array, tensors, strict=True):
        shape = (c_int64 * tensor.dim())(*tensor.shape)
        keep.append(shape)
        place.data = tensor.data_ptr()
        place.shape = ctypes.cast(shape, POINTER(c_int64))
        place.rank = tensor.dim()
        place.dtype = {torch.float32: F32, torch.bfloat16: BF16}[tensor.dtype]
        place.device = CUDA if tensor.is_cuda else EMULATOR
        place.device_index = tensor.device.index or 0
    return array


class Optimizer:
    """Steps the parameters in place, and keeps them and their gradients alive."""

    def __init__(
        self,
        library: Library,
        rule: str,
        params: Sequence[torch.Tensor],
        grads: Sequence[torch.Tensor],
        numerics: str = "ieee",
        **settings: float | str,
    ) -> None:
        """Compiles the rule for the tensors' types; the settings are flags and defaults.

        The rule is a shipped one, or the path of a file.
        """
        import torch

        self.library = library
        self.keep: list[object] = [*params, *grads]
        stored = b"bf16" if params[0].dtype == torch.bfloat16 else b"f32"
        storage = (Storage * 3)(*((name, stored) for name in (b"param", b"grad", b"state")))
        pairs = [(name.encode(), str(value).encode()) for name, value in settings.items()]
        options = CompileOptions(
            struct_size=ctypes.sizeof(CompileOptions),
            settings=(Setting * len(pairs))(*pairs),
            setting_count=len(pairs),
            storage=storage,
            storage_count=len(storage),
            numerics=numerics.encode(),
            target=f"cuda:{params[0].device.index}".encode() if params[0].is_cuda else b"emulator",
        )
        functions = library.functions
        rule_handle = c_void_p()
        path = rule if rule.endswith(".upd") else f"{library.rules}/{rule}.upd"
        library.check(functions.upd_compile_file(path.encode(), byref(options), byref(rule_handle)))
        self.params = _described(params, self.keep)
        self.grads = _described(grads, self.keep)
        group = Group(params=self.params, param_count=len(params))
        self.handle = c_void_p()
        library.check(
            functions.upd_optimizer_create(
                rule_handle, byref(group), c_size_t(1), None, byref(self.handle)
            )
        )
        functions.upd_rule_release(rule_handle)
        self.count = c_size_t(len(params))
        self.run = functions.upd_optimizer_step
        if params[0].is_cuda:
            self.use_stream(torch.cuda.current_stream())

    def __del__(self) -> None:
        """Frees the states."""
        if getattr(self, "handle", None):
            self.library.functions.upd_optimizer_release(self.handle)

    def use_stream(self, stream: torch.cuda.Stream) -> None:
        """Runs the steps on a stream."""
        self.library.check(
            self.library.functions.upd_optimizer_set_stream(
                self.handle, c_void_p(stream.cuda_stream)
            )
        )

    def read_lr(self, lr: torch.Tensor) -> None:
        """Binds lr to a number on the device."""
        self.keep.append(lr)
        tensor = _described([lr], self.keep)
        self.library.check(
            self.library.functions.upd_optimizer_bind_hyper(
                self.handle, c_size_t(0), b"lr", byref(tensor[0])
            )
        )

    def set(self, name: str, value: float) -> None:
        """Sets a hyperparameter."""
        self.library.check(
            self.library.functions.upd_optimizer_set_hyper(
                self.handle, c_size_t(0), name.encode(), c_double(value)
            )
        )

    def step(self) -> None:
        """Takes one step."""
        if self.run(self.handle, self.grads, self.count) != 0:
            raise UpdraftError(self.library.functions.upd_last_error().decode())
