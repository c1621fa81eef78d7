"""References to parameters, as a client gives them."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.distributed.rpc import PyRRef

from ...optim.correspondence import Group
from .distinct import require_distinct
from .operators import await_made, reference


def require_references(groups: list[Group]) -> None:
    """Refuses groups that have none, something else, or one twice.

    Raises:
        TypeError: a parameter is no reference.
        ValueError: there is no parameter, or one is there twice.
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
    """Refuses what references are to, if it is no tensor.

    Args:
        indices: of the parameters among all.

    Raises:
        TypeError: one is something else.
    """
    for index, value in zip(indices, values, strict=True):
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"parameter {index} is a reference to {value!r}, which is no tensor")


@contextlib.contextmanager
def refused_when_made(groups: Sequence[Group]) -> Iterator[None]:
    """Has an error wait for parameters of the groups that are being made.

    After an error a program tends to end, and in torch's `rpc.shutdown` a worker may wait for ever
    for the value of a reference that is made that late.
    """
    try:
        yield
    except Exception:
        given = [params for group in groups for params in _listed(group.get("params"))]
        await_made([rref for rref in given if isinstance(rref, PyRRef)])
        raise


def _listed(params: Any) -> Sequence[Any]:
    return params if isinstance(params, list | tuple) else [params]


def stand_ins(groups: Sequence[Group]) -> list[Group]:
    """Returns groups of one small parameter each, by which a class checks and completes options.

    A matrix, since some classes take nothing else.
    """
    return [group | {"params": [torch.nn.Parameter(torch.zeros(1, 1))]} for group in groups]
