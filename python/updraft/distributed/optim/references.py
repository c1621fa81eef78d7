"""Checks of the references that a client gives."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.distributed.rpc import PyRRef

from ...optim.correspondence import Group
from .distinct import require_distinct
from .operators import await_made, reference


def require_references(groups: list[Group]) -> None:
    """Refuses groups without parameters, with something else, or with duplicates.

    Raises:
        TypeError: a parameter isn't a reference.
        ValueError: there are no parameters, or one is given twice.
    """
    rrefs = [rref for group in groups for rref in group["params"]]
    for index, rref in enumerate(rrefs):
        if not isinstance(rref, PyRRef):
            raise TypeError(
                f"parameter {index} is {type(rref)}; give references to remote tensors, "
                "`torch.distributed.rpc.RRef`"
            )
    require_distinct(map(reference, rrefs))
    if not rrefs:
        raise ValueError("optimizer got an empty parameter list")


def require_tensors(values: Iterable[Any], indices: Iterable[int]) -> None:
    """Refuses values of references that aren't tensors.

    Args:
        indices: the indices of the parameters among all.

    Raises:
        TypeError: a value isn't a tensor.
    """
    for index, value in zip(indices, values, strict=True):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"expected parameter {index} to refer to a tensor, got {value!r}")


@contextlib.contextmanager
def refused_when_made(groups: Sequence[Group]) -> Iterator[None]:
    """Waits for pending parameter references before re-raising an error.

    Programs usually end after an error. Then a worker in torch's `rpc.shutdown` could wait forever
    for the value of a reference that is created so late.
    """
    try:
        yield
    except Exception:
        given = [params for group in groups for params in _listed(group.get("params"))]
        await_made([rref for rref in given if isinstance(rref, PyRRef)])
        raise


def _listed(params: Any) -> Sequence[Any]:
    return params if isinstance(params, list | tuple) else [params]


def stand_ins(groups: Sequence[Group], options: Mapping[str, Any]) -> list[Group]:
    """Returns groups of one small parameter each, so that a class checks and completes options.

    The parameter is a matrix, because some classes accept nothing else. It is bf16 if the options
    have a storage type for such parameters alone.
    """
    storage = options.get("storage")
    chosen = str(storage.get("param")) if isinstance(storage, Mapping) else ""
    dtype = torch.bfloat16 if chosen.startswith("bf16_") else torch.float32
    zeros = torch.zeros(1, 1, dtype=dtype)
    return [group | {"params": [torch.nn.Parameter(zeros.clone())]} for group in groups]
