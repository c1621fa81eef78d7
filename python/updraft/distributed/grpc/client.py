"""Parameters on several workers."""

import os
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import grpc
import numpy as np

from ...definition import RuleDefinition
from ...worker.v1 import worker_pb2 as messages
from .lease import Lease
from .optimizer import DistributedOptimizer
from .tensors import array_of, arrays_from, chunks_of
from .workers import Workers


class Client:
    """A client of parameter servers: processes of `updraft-worker`.

    A request that fails with UNAVAILABLE or CANCELLED, such as one whose connection is lost, is
    repeated until its time is over. A worker applies a repeated push or step only once. Threads may
    share a client. Once it has opened a context, a thread tells the workers that the client is
    alive. If the process ends, they free its contexts when its lease ends (`updraft-worker
    --lease`).

    Args:
        workers: their addresses, such as "127.0.0.1:7070". All clients that train together have
            the same.
        name: the beginning of the client's name, which a random number makes unique. Gradients are
            summed in the order of clients' names. The order is reproducible if all names differ,
            and none begins with another one and "/".
        timeout: of a request with its repetitions, in seconds.
        credentials: for TLS, such as `grpc.ssl_channel_credentials(root_certificates)`. Without
            them, connections are not encrypted.
        token: is sent with each request.

    Raises:
        InvalidArgumentError: there are no workers.
    """

    def __init__(
        self,
        workers: Iterable[str],
        *,
        name: str | None = None,
        timeout: float = 60.0,
        credentials: grpc.ChannelCredentials | None = None,
        token: str | None = None,
    ) -> None:
        self._workers = Workers(workers, timeout, credentials, token)
        self._lease = Lease(self._workers, name)

    @property
    def name(self) -> str:
        """The name that workers know the client by. Another one once a worker has forgotten it."""
        return self._lease.name

    def put(self, parameters: Mapping[str, Any]) -> None:
        """Writes parameters, by name.

        New ones are distributed so that workers have similar numbers of bytes. Others are
        overwritten.

        Args:
            parameters: arrays of numpy, or of other packages through DLPack, in the memory of the
                CPU: float32, float64, bfloat16 or float16.

        Raises:
            InvalidArgumentError: an array has another type.
            WorkersFailedError: a parameter has another type or shape on its worker, for example.
                Some parameters may have been written.
        """
        arrays = {name: array_of(name, value) for name, value in parameters.items()}
        places = self._workers.place({name: array.nbytes for name, array in arrays.items()})
        by_worker: dict[int, list[str]] = {}
        for name, worker in places.items():
            by_worker.setdefault(worker, []).append(name)

        def call(stub: Any, worker: int, timeout: float) -> Any:
            requests = (
                messages.PutParametersRequest(chunk=chunk)
                for name in by_worker[worker]
                for chunk in chunks_of(name, arrays[name])
            )
            return stub.PutParameters(requests, timeout=timeout)

        self._workers.call_each(by_worker, call)
        self._workers.set_places(places)

    def get(self, names: Iterable[str]) -> "dict[str, np.ndarray[Any, Any]]":
        """Returns copies of parameters, with the types and shapes that they have on the workers.

        The values of one worker are of one moment. bfloat16 needs the package ml_dtypes.

        Raises:
            InvalidArgumentError: no worker has a parameter, or ml_dtypes is missing.
            WorkersFailedError: some workers failed.
        """
        by_worker: dict[int, list[str]] = {}
        for name in names:
            by_worker.setdefault(self._workers.worker_of(name), []).append(name)

        def call(stub: Any, worker: int, timeout: float) -> Any:
            request = messages.GetParametersRequest(names=by_worker[worker])
            return arrays_from(stub.GetParameters(request, timeout=timeout))

        results = self._workers.call_each(by_worker, call)
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for part, versions in results.values():
            arrays |= part
            self._workers.set_versions(versions)
        return arrays

    def versions(self) -> dict[str, int]:
        """Returns how often each parameter on the workers has been written, by `put` and steps.

        `DistributedOptimizer.step` compares versions if it has a `max_age`.

        Raises:
            WorkersFailedError: some workers failed.
        """
        return {
            each.tensor.name: each.tensor.version
            for listed in self._workers.lists().values()
            for each in listed.parameters
        }

    def optimizer(
        self,
        name: str,
        rule: RuleDefinition | str | os.PathLike[str],
        groups: Sequence[Mapping[str, Any]],
        *,
        storage: Mapping[str, str] | None = None,
        numerics: str | None = None,
        seed: int = 0,
    ) -> DistributedOptimizer:
        """Creates an optimizer on the workers, or finds the one that another client has created.

        Creating needs the role `admin`, finding the role `trainer`. An optimizer is found if it was
        created with the same arguments. It keeps its present hyperparameters, and `param_groups`
        shows them.

        Args:
            name: of the optimizer. Clients that step together use the same name.
            rule: a definition, the name of a rule of Updraft, a file, or a package. It may not
                import files. Workers take packages that are signed by their `--package-key`.
            groups: mappings with `params`, the names of parameters, and values of
                hyperparameters. The others have the rule's defaults. An optimizer has a parameter
                only once.
            storage: the storage types of "param", "grad" and states, as in `updraft.compile`.
            numerics: "ieee" (the default), "torch" or "fast". None for a package.
            seed: of random numbers.

        Raises:
            InvalidArgumentError: no worker has a parameter, or the rule has no such hyperparameter.
            WorkersFailedError: the rule has an error, doesn't fit the parameters, or another
                optimizer has the name, for example. Other workers may have created theirs.
        """
        return DistributedOptimizer(
            self._workers, self._lease, name, rule, groups, dict(storage or {}), numerics, seed
        )

    def take_snapshots(self) -> None:
        """Makes every worker write a snapshot. Returns when all are on the disk.

        Raises:
            WorkersFailedError: a worker has no store, for example.
        """
        request = messages.TakeSnapshotRequest()
        self._workers.call_each(
            range(len(self._workers.addresses)),
            lambda stub, worker, timeout: stub.TakeSnapshot(request, timeout=timeout),
        )

    def close(self) -> None:
        """Closes the connections, and ends the thread. Close contexts before.

        Parameters and optimizers stay on the workers. The client can't be used any more.
        """
        self._lease.close()
        self._workers.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
