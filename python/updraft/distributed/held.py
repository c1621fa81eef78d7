"""Parameters that other workers hold, by name."""

from typing import Any

import torch
from torch.distributed import rpc

from .world import Worker, worker_info


def _called(worker: Worker, failed: str, operator: str, *args: Any) -> Any:
    from .optim import operators
    from .optim.outcomes import gathered
    from .optim.remote import loaded_on

    to = worker_info(worker)
    loaded_on([to])
    future = operators.call(to, operator, *args, timeout=-1.0)
    return gathered({to.name: future}, failed)[to.name]


def parameter(worker: Worker, name: str) -> "rpc.PyRRef[torch.Tensor]":
    """Returns a reference to a parameter that a worker holds, as a distributed optimizer takes it.

    Raises:
        IndexError: the worker holds none of that name.
    """
    from .optim import operators

    to = worker_info(worker)
    held = _called(worker, "there is no parameter on", "names")
    if name not in held:
        others = ", ".join(f"`{other}`" for other in held) or "none"
        raise IndexError(f"`{to.name}` holds no parameter `{name}`; it holds {others}")
    return operators.remote(to, "parameter", name)


def hold_parameter(worker: Worker, name: str, value: torch.Tensor) -> "rpc.PyRRef[torch.Tensor]":
    """Has a worker hold a parameter, and returns a reference to it.

    When several clients ask for the same name, the values of the first are taken, and all refer to
    one parameter. It stays until it is dropped, whether anyone refers to it or not.

    Args:
        worker: its name, number, or `WorkerInfo`; with Python or without.
        name: the parameter's name on that worker.
        value: its first values, which are copied; of a floating-point or complex type.

    Raises:
        ValueError: there is one of that name with another shape or type.

    Example:
        >>> bias = updraft.distributed.hold_parameter("worker0", "bias", torch.zeros(3))
        >>> bias.to_here()
        tensor([0., 0., 0.], requires_grad=True)
        >>> "bias" in updraft.distributed.held_parameters("worker0")
        True
    """
    from .optim import operators

    _called(worker, "no parameter was made on", "hold", name, value.detach())
    return operators.remote(worker_info(worker), "parameter", name)


def assign_parameter(worker: Worker, name: str, value: torch.Tensor) -> None:
    """Overwrites the values of a parameter that a worker holds, while no step does."""
    _called(worker, "nothing was assigned on", "assign", name, value.detach())


def drop_parameter(worker: Worker, name: str) -> bool:
    """Has a worker forget a parameter; references to it stay good. Returns whether it held one."""
    return bool(_called(worker, "nothing was dropped on", "drop", name))


def held_parameters(worker: Worker) -> list[str]:
    """Returns the names of the parameters that a worker holds."""
    return list(_called(worker, "no names come from", "names"))


def lock_wait(worker: Worker) -> float:
    """Returns the seconds that steps of a worker have waited for each other since it started.

    Where several waited at once, the sum of their times.
    """
    nanoseconds: int = _called(worker, "no time comes from", "lock_wait")
    return nanoseconds * 1e-9
