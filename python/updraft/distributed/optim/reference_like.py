"""The methods that a remote optimizer shares with torch's `RRef`."""

from typing import Any, NoReturn

from torch.distributed.rpc import WorkerInfo

from ...errors import UnsupportedError
from . import operators

_VALUE = (
    "its states are in `state_dict()` of the `DistributedOptimizer`, its hyperparameters in"
    " `param_groups`"
)
_CALLS = (
    "call `step`, `state_dict` and `load_state_dict` of the `DistributedOptimizer`, which ask all"
    " workers"
)


class ReferenceLike:
    """Says where an optimizer is, as a `torch.distributed.rpc.RRef` does.

    The optimizer itself isn't a Python object, so methods that would fetch it raise an error.
    """

    worker: WorkerInfo

    def owner(self) -> WorkerInfo:
        """Returns the worker."""
        return self.worker

    def owner_name(self) -> str:
        """Returns the name of the worker."""
        return str(self.worker.name)

    def is_owner(self) -> bool:
        """Returns whether the worker is this one."""
        return operators.is_here(self.worker)

    def confirmed_by_owner(self) -> bool:
        """Returns whether the worker has made the optimizer: always."""
        return True

    def to_here(self, timeout: float | None = None) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse("to_here", _VALUE)

    def local_value(self) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse("local_value", _VALUE)

    def rpc_sync(self, timeout: float | None = None) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse("rpc_sync", _CALLS)

    def rpc_async(self, timeout: float | None = None) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse("rpc_async", _CALLS)

    def remote(self, timeout: float | None = None) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse("remote", _CALLS)

    def backward(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises `UnsupportedError`."""
        self._refuse(
            "backward", "call `torch.distributed.autograd.backward` with the context and the loss"
        )

    def _refuse(self, method: str, hint: str) -> NoReturn:
        raise UnsupportedError(
            f"the optimizer on `{self.owner_name()}` has no `{method}()`: it isn't a Python"
            f" object; {hint}"
        )
