"""A function as the program of every worker: RPC starts before it and ends after it."""

import contextlib
import functools
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from ..errors import UnsupportedError
from ..torch_private import rpc_is_running
from . import meeting, world
from .errors import DistributedError

F = TypeVar("F", bound=Callable[..., Any])

_running = threading.Lock()
# Each world of this process has its own part of the store.
_worlds = 0


def auto_init_rpc(
    worker_init_fn: Callable[[], Any] | None = None,
    worker_name_format: world.WorkerNameFormat = world.default_worker_name_format,
    *,
    backend: Any = None,
    rpc_backend_options: Any = None,
) -> Callable[[F], F]:
    """Returns a decorator for the function that every worker executes, as `torchrun` starts them.

    Before it, RPC and the default process group (gloo) are made, and all workers wait for each
    other; after it they do so again, and both are ended. When it raises, on a worker, the exception
    comes out there, and the others are told: they stop waiting with a `DistributedError`.

    Args:
        worker_init_fn: called on every worker before the function, with RPC running.
        worker_name_format: makes a worker's name of `world_rank`, `world_size`, `local_rank` and
            `local_world_size`.
        backend: that of `torch.distributed.rpc.init_rpc`.
        rpc_backend_options: those of `init_rpc`: timeouts, threads, device maps.

    Example:
        >>> @updraft.distributed.auto_init_rpc()
        ... def main():
        ...     return updraft.distributed.get_world_size()
        >>> main()  # doctest: +SKIP
        1
    """

    def decorator(func: F) -> F:
        if not callable(func):
            raise TypeError("`auto_init_rpc` has decorated nothing; write `@auto_init_rpc()`")

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            from torch.distributed.elastic.multiprocessing.errors import record

            # What torchrun prints of a worker that has failed.
            return record(run)(args, kwargs)

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not _running.acquire(blocking=False):
                raise DistributedError("RPC is running already; one `auto_init_rpc` at a time")
            try:
                with _world(worker_name_format, backend, rpc_backend_options):
                    if worker_init_fn is not None:
                        worker_init_fn()
                    meeting.barrier()
                    return func(*args, **kwargs)
            finally:
                _running.release()

        return cast(F, wrapper)

    return decorator


@contextlib.contextmanager
def _world(name_format: world.WorkerNameFormat, backend: Any, options: Any) -> Iterator[None]:
    """Has RPC and the process group running."""
    from torch.distributed import rpc

    if not world.is_available():
        raise UnsupportedError("this torch is built without RPC; install one that has it")
    if rpc_is_running():
        raise DistributedError("RPC is running already; leave `init_rpc` to `auto_init_rpc`")
    info = world.get_world_info()
    before, world.name_format = world.name_format, name_format
    try:
        meeting.reset()
        with _environment(info), _process_group(info):
            with warnings.catch_warnings():
                # Of torch, about itself.
                warnings.filterwarnings("ignore", message="You are using a Backend")
                rpc.init_rpc(
                    info.worker_name,
                    backend=backend,
                    rank=info.world_rank,
                    world_size=info.world_size,
                    rpc_backend_options=options,
                )
            try:
                yield
                meeting.barrier()
            except SystemExit as error:
                # An early end, if it is a success.
                _leave(error if error.code else None)
                raise
            except BaseException as error:
                _leave(error)
                raise
            else:
                _leave(None)
    finally:
        world.name_format = before


def _leave(error: BaseException | None) -> None:
    """Ends RPC: together with the others, or after an error at once."""
    from torch.distributed import rpc

    if error is None:
        rpc.shutdown()
        return
    meeting.announce_failure(
        f"worker `{world.get_world_info().worker_name}` has failed: {type(error).__name__}: {error}"
    )
    # What goes wrong in this is a consequence.
    with contextlib.suppress(Exception):
        rpc.shutdown(graceful=False)


@contextlib.contextmanager
def _environment(info: world.WorldInfo) -> Iterator[None]:
    """Without torchrun, what it would have set, for as long as RPC runs."""
    if "RANK" in os.environ:
        yield
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {
        **dict(zip(world.VARIABLES, map(str, info), strict=True)),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _process_group(info: world.WorldInfo) -> Iterator[None]:
    """Has a default process group, which checkpoints want: one of gloo, if there is none."""
    import torch.distributed

    global _worlds
    if torch.distributed.is_initialized():
        yield
        return
    store, _, _ = next(torch.distributed.rendezvous("env://", info.world_rank, info.world_size))
    _worlds += 1
    torch.distributed.init_process_group(
        "gloo",
        store=torch.distributed.PrefixStore(f"updraft_{_worlds}", store),
        rank=info.world_rank,
        world_size=info.world_size,
    )
    try:
        yield
    finally:
        torch.distributed.destroy_process_group()
