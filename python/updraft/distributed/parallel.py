"""Functions whose every call is one on all workers."""

import functools
from collections.abc import Callable
from typing import Any

from torch.futures import Future

from .calls import Reducer, remote_async_call, remote_sync_call
from .partition import Partitioner, batch_partitioner
from .reducers import mean_reducer
from .remote import UNPARALLELIZED, by_name
from .timeouts import UNSET_RPC_TIMEOUT


def _parallelizing(
    call: Callable[..., Any],
    partitioner: Partitioner | None,
    reducer: Reducer | None,
    timeout: float | None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    if partitioner is None and reducer is None:
        partitioner, reducer = batch_partitioner, mean_reducer

    def decorator(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return call(
                by_name(func),
                args=args,
                kwargs=kwargs,
                partitioner=partitioner,
                reducer=reducer,
                timeout=timeout,
            )

        setattr(wrapper, UNPARALLELIZED, func)
        return wrapper

    return decorator


def parallelize_async(
    partitioner: Partitioner | None = None,
    reducer: Reducer | None = None,
    timeout: float | None = UNSET_RPC_TIMEOUT,
) -> Callable[[Callable[..., Any]], Callable[..., Future[Any]]]:
    """Returns a decorator: a call of the function is a `remote_async_call` of it.

    Args:
        partitioner: as in `remote_async_call`.
        reducer: as there. With neither it nor a partitioner, batches are cut and results averaged.
        timeout: as there.

    Example:
        >>> @updraft.distributed.parallelize_async()
        ... def loss(batch):
        ...     return batch.square().mean()
        >>> loss(torch.tensor([1.0, 2.0, 4.0])).wait()  # doctest: +SKIP
        tensor(7.)
    """
    return _parallelizing(remote_async_call, partitioner, reducer, timeout)


def parallelize_sync(
    partitioner: Partitioner | None = None,
    reducer: Reducer | None = None,
    timeout: float | None = UNSET_RPC_TIMEOUT,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator: a call of the function is a `remote_sync_call` of it.

    The function itself may call another parallelized one, from whichever worker it is on.

    Args:
        partitioner: as in `remote_async_call`.
        reducer: as there. With neither it nor a partitioner, batches are cut and results averaged.
        timeout: as there.

    Example:
        >>> @updraft.distributed.parallelize()
        ... def loss(batch):
        ...     return batch.square().mean()
        >>> loss(torch.tensor([1.0, 2.0, 4.0]))  # doctest: +SKIP
        tensor(7.)
    """
    return _parallelizing(remote_sync_call, partitioner, reducer, timeout)


parallelize = parallelize_sync
