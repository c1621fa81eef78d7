"""Runs a function as the program of every worker, with RPC."""

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
# Each world of this process uses a separate part of the store.
_worlds = 0


def auto_init_rpc(
    worker_init_fn: Callable[[], Any] | None = None,
    worker_name_format: world.WorkerNameFormat = world.default_worker_name_format,
    *,
    backend: Any = None,
    rpc_backend_options: Any = None,
) -> Callable[[F], F]:
    """Returns a decorator for the function that all workers run, started by `torchrun`.

    Before the function, it starts RPC and the default process group (gloo), and all workers wait
    for each other. After it, they wait again, and both are shut down. If the function raises on a
    worker, the exception propagates there, and the other workers stop waiting with a
    `DistributedError`.

    Args:
        worker_init_fn: called on every worker before the function, after RPC has started.
        worker_name_format: returns a worker's name from `world_rank`, `world_size`, `local_rank`
            and `local_world_size`.
        backend: as for `torch.distributed.rpc.init_rpc`.
        rpc_backend_options: as for `init_rpc`: timeouts, threads, device maps.

    Example:
        >>> @updraft.distributed.auto_init_rpc()
        ... def main():
        ...     return updraft.distributed.get_world_size()
        >>> main()  # doctest: +SKIP
        1
    """

    def decorator(func: F) -> F:
        if not callable(func):
            raise TypeError("`auto_init_rpc` needs parentheses; write `@auto_init_rpc()`")

        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            from torch.distributed.elastic.multiprocessing.errors import record

            # Records the error that torchrun prints for a failed worker.
            return record(run)(args, kwargs)

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if not _running.acquire(blocking=False):
                raise DistributedError("RPC is already running; `auto_init_rpc` cannot be nested")
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
    """Runs RPC and the process group."""
    from torch.distributed import rpc

    if not world.is_available():
        raise UnsupportedError("this torch is built without RPC; install one that has it")
    if rpc_is_running():
        raise DistributedError("RPC is already running; leave `init_rpc` to `auto_init_rpc`")
    info = world.get_world_info()
    before, world.name_format = world.name_format, name_format
    try:
        meeting.reset()
        with _environment(info), _process_group(info):
            with warnings.catch_warnings():
                # torch warns about its own code.
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
                # A successful early exit.
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
    """Shuts RPC down: together with the others, or immediately after an error."""
    from torch.distributed import rpc

    if error is None:
        rpc.shutdown()
        return
    meeting.announce_failure(
        f"worker `{world.get_world_info().worker_name}` has failed: {type(error).__name__}: {error}"
    )
    # Errors in here are consequences of `error`.
    with contextlib.suppress(Exception):
        rpc.shutdown(graceful=False)


@contextlib.contextmanager
def _environment(info: world.WorldInfo) -> Iterator[None]:
    """Without torchrun, sets the variables that it would set, while RPC runs."""
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
    """Creates a default process group with gloo if there is none. Checkpoints need it."""
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
