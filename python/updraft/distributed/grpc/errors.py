"""Errors of workers."""

from typing import NamedTuple

from ...errors import UpdraftError


class WorkerFailure(NamedTuple):
    """The failure of a worker.

    Attributes:
        worker: its address.
        code: the name of gRPC's status code, such as "UNAVAILABLE". worker.proto describes them.
        message: its message.
        reason: `updraft-reason`, such as "stale", as worker.proto describes it, or empty.
    """

    worker: str
    code: str
    message: str
    reason: str = ""


class WorkersFailedError(UpdraftError):
    """Some workers failed. The message names each of them.

    Attributes:
        failures: one for each worker that failed.
    """

    def __init__(self, failures: list[WorkerFailure]) -> None:
        super().__init__(
            "; ".join(f"worker `{failure.worker}`: {failure.message}" for failure in failures)
        )
        self.failures = failures


class ContextLostError(WorkersFailedError):
    """Some workers have lost the gradients of a context.

    They were started again, or the client's lease has ended. Push all gradients again into the
    same `Context`, in the same order, and repeat the step. Workers that have the gradients don't
    add them again, and workers that have stepped don't step again. If other clients have pushed
    into the context, they have to push again before the step, too.
    """
