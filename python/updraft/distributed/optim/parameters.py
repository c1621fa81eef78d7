"""References to and copies of the parameters of modules on workers."""

from collections.abc import Iterable
from typing import Any

import torch
import torch.distributed.rpc as rpc
from torch.distributed.rpc import PyRRef, WorkerInfo

from . import operators
from .arrivals import after, awaited
from .interpreters import asked_for_python
from .outcomes import begun, gathered
from .remote import loaded_on


def _references(module: torch.nn.Module) -> "list[PyRRef[Any]]":
    return [rpc.RRef(param) for param in module.parameters()]


def _references_of(module: "PyRRef[Any]") -> "list[PyRRef[Any]]":
    return _references(module.local_value())


def parameter_rrefs(*modules: Any) -> "list[PyRRef[Any]]":
    """Returns references to all parameters of modules, for `DistributedOptimizer`.

    Args:
        modules: references to modules of any workers, or modules of this one. Workers without
            Python have no modules: use `updraft.distributed.parameter` for their parameters.

    Example:
        >>> from updraft.distributed.optim import parameter_rrefs
        >>> there = torch.distributed.rpc.remote("worker0", torch.nn.Linear, args=(3, 2))
        >>> len(parameter_rrefs(there, torch.nn.Linear(2, 1)))
        4
    """
    found: list[PyRRef[Any]] = []
    with_python: set[str] = set()
    for module in modules:
        if isinstance(module, torch.nn.Module):
            found += _references(module)
        elif isinstance(module, PyRRef):
            name = module.owner_name()
            failed = "cannot list the parameters of a module on"
            if name not in with_python:
                gathered({name: asked_for_python(name)}, failed)
                with_python.add(name)
            future = rpc.rpc_async(name, _references_of, args=(module,))
            found += gathered({name: future}, failed)[name]
        else:
            raise TypeError(f"a module is {type(module)}; give modules, or references to modules")
    return found


def _copies(worker: WorkerInfo, rrefs: "list[PyRRef[Any]]", numbers: list[int]) -> Any:
    """Requests copies of a worker's parameters; the future has them."""
    if not operators.is_here(worker):
        named = operators.references(rrefs)
        names = [f"parameter {number}" for number in numbers]
        return after(
            awaited(worker, rrefs, names),
            lambda: operators.call(worker, "copies", *named, numbers, timeout=-1.0),
        )
    copied: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    copied.set_result(operators.copies_here([rref.local_value() for rref in rrefs]))
    return copied


def collect_parameters(rrefs: "Iterable[PyRRef[Any]]") -> list[torch.Tensor]:
    """Returns copies of the referenced parameters, fetched from all workers at the same time.

    The copies from one worker are consistent: no step runs while they are taken.

    Args:
        rrefs: references to tensors of any workers.

    Raises:
        RuntimeError: workers have not answered. The error has their names.

    Example:
        >>> from updraft.distributed.optim import collect_parameters, parameter_rrefs
        >>> rrefs = parameter_rrefs(torch.nn.Linear(3, 2))
        >>> [param.shape for param in collect_parameters(rrefs)]
        [torch.Size([2, 3]), torch.Size([2])]
    """
    rrefs = list(rrefs)
    by_worker: dict[str, list[int]] = {}
    for number, rref in enumerate(rrefs):
        by_worker.setdefault(rref.owner_name(), []).append(number)
    workers = {name: rpc.get_worker_info(name) for name in by_worker}
    answers = gathered(
        {
            name: begun(
                _copies,
                workers[name],
                [rrefs[number] for number in by_worker[name]],
                by_worker[name],
            )
            for name in loaded_on(workers.values())
        },
        "cannot copy parameters from",
    )
    values: dict[int, torch.Tensor] = {}
    for name, numbers in by_worker.items():
        values |= zip(numbers, answers[name], strict=True)
    return [values[number] for number in range(len(rrefs))]
