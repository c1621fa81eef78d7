"""A client's connections to its workers."""

import concurrent.futures
import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...errors import InvalidArgumentError
from ...worker.v1 import worker_pb2 as messages
from .errors import WorkerFailure, WorkersFailedError
from .sequences import Sequences

try:
    import grpc
except ImportError as error:
    raise ImportError(
        "updraft.distributed.grpc needs grpcio; install it with `pip install grpcio`"
    ) from error

from ...worker.v1 import worker_pb2_grpc as service
from .token import WithToken

Result = TypeVar("Result")

_ELEMENT_BYTES = {messages.DTYPE_F32: 4, messages.DTYPE_F64: 8}


def _bytes_of(info: messages.TensorInfo) -> int:
    count = _ELEMENT_BYTES.get(info.dtype, 2)
    for size in info.shape:
        count *= size
    return count


# A worker that ends cancels what it hasn't answered.
_REPEATED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class Workers:
    """Connections to workers, and the workers that parameters are on. Thread-safe."""

    def __init__(
        self,
        addresses: Iterable[str],
        timeout: float,
        credentials: grpc.ChannelCredentials | None,
        token: str | None,
    ) -> None:
        if isinstance(addresses, str):
            raise InvalidArgumentError(f"give a list of addresses, such as [{addresses!r}]")
        self.addresses = list(addresses)
        if not self.addresses:
            raise InvalidArgumentError("a client needs the address of a worker")
        if len({*self.addresses}) < len(self.addresses):
            raise InvalidArgumentError("an address of a worker is listed twice")
        self._timeout = timeout
        options = [
            # A worker's limit protects the worker. Chunks of parameters are smaller.
            ("grpc.max_receive_message_length", -1),
            # As runtime/messages/Reconnection.h.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 5000),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        self._channels = [
            grpc.secure_channel(address, credentials, options)
            if credentials
            else grpc.insecure_channel(address, options)
            for address in self.addresses
        ]
        authorized = self._channels
        if token:
            authorized = [grpc.intercept_channel(each, WithToken(token)) for each in authorized]
        self._stubs = [service.WorkerStub(channel) for channel in authorized]
        self.sequences = Sequences()
        self._lock = threading.Lock()
        self._places: dict[str, int] = {}
        self._versions: dict[str, int] = {}  # of the parameters that were read
        self._loads = [0] * len(self.addresses)
        # Threads that share the client don't wait for each other.
        self._pool = concurrent.futures.ThreadPoolExecutor(8 * len(self.addresses))
        self._process = os.getpid()

    def close(self) -> None:
        self._pool.shutdown()
        for channel in self._channels:
            channel.close()

    def stub(self, worker: int) -> Any:
        """Returns the methods of a worker."""
        return self._stubs[worker]

    def call_each(
        self,
        workers: Iterable[int],
        call: Callable[[Any, int, float], Result],
        most: float = math.inf,
    ) -> dict[int, Result]:
        """Calls `call(stub, worker, timeout)` for all workers at the same time.

        Repeats calls that fail with UNAVAILABLE or CANCELLED, for at most the timeout, and `most`
        seconds. Returns the results by worker.

        Raises:
            WorkersFailedError: some workers failed.
            RuntimeError: this process is a fork of the client's.
        """
        if os.getpid() != self._process:
            raise RuntimeError("the client belongs to another process; create one in this process")
        end = time.monotonic() + min(self._timeout, most)
        some = list(workers)  # the first in this thread
        futures = {
            worker: self._pool.submit(self._call_repeatedly, worker, call, end)
            for worker in some[1:]
        }
        results, failures = {}, []
        for worker in some:
            try:
                results[worker] = (
                    futures[worker].result()
                    if worker in futures
                    else self._call_repeatedly(worker, call, end)
                )
            except grpc.RpcError as error:
                reason = dict(error.trailing_metadata() or ()).get("updraft-reason", "")
                failures.append(
                    WorkerFailure(
                        self.addresses[worker], error.code().name, error.details(), reason
                    )
                )
        if failures:
            raise WorkersFailedError(failures)
        return results

    def _call_repeatedly(
        self, worker: int, call: Callable[[Any, int, float], Result], end: float
    ) -> Result:
        # Waits longer each time, and not always equally long, so that clients don't return at once.
        longest = 0.05
        while True:
            try:
                return call(self._stubs[worker], worker, max(end - time.monotonic(), 0.001))
            except grpc.RpcError as error:
                wait = random.uniform(longest / 2, longest)
                if error.code() not in _REPEATED or time.monotonic() + wait >= end:
                    raise
            time.sleep(wait)
            longest = min(2 * longest, 2.0)

    def lists(self) -> dict[int, messages.ListParametersResponse]:
        """Returns the parameters of each worker, without their values."""
        request = messages.ListParametersRequest()
        return self.call_each(
            range(len(self.addresses)),
            lambda stub, worker, timeout: stub.ListParameters(request, timeout=timeout),
        )

    def _learn_places(self) -> None:
        lists = self.lists()
        names = {
            worker: {each.tensor.name for each in listed.parameters}
            for worker, listed in lists.items()
        }
        with self._lock:
            for worker, listed in lists.items():
                self._loads[worker] = sum(_bytes_of(each.tensor) for each in listed.parameters)
                for name in names[worker]:
                    # A worker that was started again may have lost it, and another one got it.
                    if name not in names[self._places.get(name, worker)]:
                        self._places[name] = worker
                    self._places.setdefault(name, worker)

    def worker_of(self, parameter: str) -> int:
        """Returns the worker that has a parameter. Asks all workers if it isn't known.

        Raises:
            InvalidArgumentError: no worker has it.
        """
        if parameter not in self._places:
            self._learn_places()
        if parameter not in self._places:
            raise InvalidArgumentError(f"no worker has a parameter `{parameter}`; put it first")
        return self._places[parameter]

    def place(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Chooses workers for parameters that no worker has, given by their numbers of bytes."""
        self._learn_places()
        with self._lock:
            result = {name: self._places[name] for name in sizes if name in self._places}
            # The largest first, each to the worker with the fewest bytes.
            added = sorted(
                ((size, name) for name, size in sizes.items() if name not in result), reverse=True
            )
            for size, name in added:
                worker = min(range(len(self._loads)), key=self._loads.__getitem__)
                self._loads[worker] += size
                result[name] = worker
            return result

    def set_versions(self, versions: Mapping[str, int]) -> None:
        """Remembers the versions of parameters that were read."""
        with self._lock:
            self._versions.update(versions)

    def versions(self, parameters: Iterable[str]) -> dict[str, int]:
        """Returns the versions of those parameters that were read."""
        with self._lock:
            return {name: self._versions[name] for name in parameters if name in self._versions}

    def set_places(self, places: Mapping[str, int]) -> None:
        with self._lock:
            self._places.update(places)
