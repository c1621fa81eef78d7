"""References to parameters, as a client gives them."""

from collections.abc import Sequence

import torch
from torch._C._distributed_rpc import PyRRef

from ...optim.correspondence import Group
from .operators import reference


def require_references(groups: list[Group]) -> None:
    """Refuses groups that have none, something else, or one twice.

    Raises:
        TypeError: a parameter is no reference.
        ValueError: there is no parameter, or one is there twice.
    """
    seen: dict[tuple[int, int], int] = {}
    number = 0
    for group in groups:
        for rref in group["params"]:
            if not isinstance(rref, PyRRef):
                raise TypeError(
                    f"parameter {number} is {type(rref)}; give references to remote tensors, "
                    "`torch.distributed.rpc.RRef`"
                )
            first = seen.setdefault(reference(rref), number)
            if first != number:
                raise ValueError(f"parameters {first} and {number} are the same")
            number += 1
    if number == 0:
        raise ValueError("optimizer got an empty parameter list")


def stand_ins(groups: Sequence[Group]) -> list[Group]:
    """Returns groups of one small parameter each, by which a class checks and completes options.

    A matrix, since some classes take nothing else.
    """
    return [group | {"params": [torch.nn.Parameter(torch.zeros(1, 1))]} for group in groups]
