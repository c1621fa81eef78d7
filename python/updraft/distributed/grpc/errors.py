"""Errors of workers."""

from typing import NamedTuple

from ...errors import UpdraftError


class WorkerFailure(NamedTuple):
    """The failure of a worker: its address, the name of gRPC's status code, and the message."""

    worker: str
    code: str
    message: str


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
