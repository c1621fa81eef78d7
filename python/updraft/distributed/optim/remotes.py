"""Creates the workers' optimizers, either on all workers or on none."""

from collections.abc import Sequence
from typing import Any

from ..timeouts import call_limit
from . import operators
from .execution import Execution
from .options import Options
from .outcomes import gathered
from .remote import RemoteOptimizer, loaded_on


def made_remotes(
    execution: Execution,
    groups: Sequence[dict[str, Any]],
    options: Options,
    replaced: Sequence[RemoteOptimizer] = (),
) -> list[RemoteOptimizer]:
    """Creates an optimizer on each worker that has parameters of the groups, concurrently. If one
    fails, none is kept.

    Args:
        replaced: the optimizers of the same parameters that these replace.
    """
    by_name: dict[str, RemoteOptimizer] = {}
    timeout = call_limit(options.timeout)
    index = 0
    for place, group in enumerate(groups):
        for rref in group["params"]:
            worker = operators.owner(rref)
            remote = by_name.setdefault(worker.name, RemoteOptimizer(worker, timeout))
            remote.members.append((place, index))
            remote.rrefs.append(rref)
            index += 1
    before = {remote.worker.name: remote for remote in replaced}
    try:
        answers = gathered(
            {
                name: execution.create(by_name[name], groups, before.get(name))
                for name in loaded_on(remote.worker for remote in by_name.values())
            },
            "no optimizer was made on",
        )
        execution.take([*by_name.values()], [answers[name] for name in by_name])
    except BaseException:
        execution.release([*by_name.values()])
        raise
    return [*by_name.values()]
