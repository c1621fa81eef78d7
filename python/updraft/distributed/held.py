"""Named parameters that other workers hold."""

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
    """Returns a reference to a parameter on a worker, for a distributed optimizer.

    Raises:
        IndexError: the worker doesn't hold a parameter with that name.
    """
    from .optim import operators

    to = worker_info(worker)
    held = _called(worker, "cannot list the parameters on", "names")
    if name not in held:
        others = ", ".join(f"`{other}`" for other in held) or "none"
        raise IndexError(f"`{to.name}` holds no parameter `{name}`; it holds {others}")
    return operators.remote(to, "parameter", name)


def hold_parameter(worker: Worker, name: str, value: torch.Tensor) -> "rpc.PyRRef[torch.Tensor]":
    """Makes a worker hold a parameter, and returns a reference to it.

    If several clients use the same name, the first one's values are used, and all references are to
    the same parameter. It exists until it is dropped, even without references.

    Args:
        worker: its name, number, or `WorkerInfo`. It may have no Python.
        name: the parameter's name on that worker.
        value: the initial values, which are copied. The type is floating-point or complex.

    Raises:
        ValueError: a parameter with that name has another shape or type.

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
    """Overwrites the values of a parameter on a worker, never during a step."""
    _called(worker, "nothing was assigned on", "assign", name, value.detach())


def drop_parameter(worker: Worker, name: str) -> bool:
    """Drops a parameter on a worker; references stay valid. Returns whether the worker held it."""
    return bool(_called(worker, "nothing was dropped on", "drop", name))


def held_parameters(worker: Worker) -> list[str]:
    """Returns the names of the parameters that a worker holds."""
    return list(_called(worker, "cannot list the parameters on", "names"))


def lock_wait(worker: Worker) -> float:
    """Returns the seconds that steps of a worker have waited for each other since it started.

    Simultaneous waits are added up.
    """
    nanoseconds: int = _called(worker, "cannot read the waiting time of", "lock_wait")
    return nanoseconds * 1e-9
