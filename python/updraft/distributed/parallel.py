"""Functions whose calls run on all workers."""

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
    """Returns a decorator that makes calls of the function a `remote_async_call`.

    Args:
        partitioner: as in `remote_async_call`.
        reducer: as in `remote_async_call`. With neither a reducer nor a partitioner, batches are
            split and results averaged.
        timeout: as in `remote_async_call`.

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
    """Returns a decorator that makes calls of the function a `remote_sync_call`.

    The function itself may call another parallelized one, from any worker.

    Args:
        partitioner: as in `remote_async_call`.
        reducer: as in `remote_async_call`. With neither a reducer nor a partitioner, batches are
            split and results averaged.
        timeout: as in `remote_async_call`.

    Example:
        >>> @updraft.distributed.parallelize()
        ... def loss(batch):
        ...     return batch.square().mean()
        >>> loss(torch.tensor([1.0, 2.0, 4.0]))  # doctest: +SKIP
        tensor(7.)
    """
    return _parallelizing(remote_sync_call, partitioner, reducer, timeout)


parallelize = parallelize_sync
