"""An optimizer on several workers."""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from ...compiled_rule import setting_literal
from ...definition import RuleDefinition
from ...errors import InvalidArgumentError
from ...loading import definition_of
from ...worker.v1 import worker_pb2 as messages
from .errors import WorkersFailedError
from .lease import Lease
from .tensors import Rows, array_of, chunks_of
from .workers import Workers

_ROWS_PER_MESSAGE = 1 << 17


class Context:
    """Gradients on the workers, for steps. Leaving the `with` block frees them."""

    def __init__(self, optimizer: "DistributedOptimizer", number: int) -> None:
        self._optimizer = optimizer
        self._id = messages.Context(optimizer=optimizer.name, number=number)
        try:
            self._client = self._open()
        except WorkersFailedError as error:
            if all(failure.code != "FAILED_PRECONDITION" for failure in error.failures):
                raise
            # A worker may have forgotten the client.
            optimizer._lease.renew()
            self._client = self._open()

    def _open(self) -> str:
        """Opens the context. Returns the client's name."""
        client = self._optimizer._lease.hold(self._optimizer._group_on)
        request = messages.OpenContextRequest(context=self._id, client=client)
        self._optimizer._call_all(
            lambda stub, worker, timeout: stub.OpenContext(request, timeout=timeout)
        )
        return client

    def _next_request(self) -> messages.RequestId:
        return self._optimizer._workers.next_request(self._client)

    @property
    def number(self) -> int:
        """The number under which other clients can open the context."""
        return self._id.number

    def push(self, gradients: Mapping[str, Any]) -> None:
        """Adds gradients: an array for a parameter, or `Rows`.

        Returns when all workers have them. The order in which clients push changes no bit of a
        step.
        """
        by_worker: dict[int, list[str]] = {}
        arrays = {}
        for name, gradient in gradients.items():
            worker = self._optimizer._worker_of(name)
            by_worker.setdefault(worker, []).append(name)
            rows = None
            if isinstance(gradient, Rows):
                rows = [int(index) for index in gradient.indices]
                gradient = gradient.values
            arrays[name] = rows, array_of(name, gradient)
        request = self._next_request()

        def requests(worker: int) -> Iterator[messages.PushGradientsRequest]:
            yield messages.PushGradientsRequest(context=self._id, request=request)
            for name in by_worker[worker]:
                rows, array = arrays[name]
                if rows is not None:
                    # A gradient of no rows has a list, too.
                    for begin in range(0, len(rows) + 1, _ROWS_PER_MESSAGE):
                        part = messages.Rows(indices=rows[begin : begin + _ROWS_PER_MESSAGE])
                        yield messages.PushGradientsRequest(rows=part)
                for chunk in chunks_of(name, array):
                    yield messages.PushGradientsRequest(chunk=chunk)

        self._optimizer._workers.call_each(
            by_worker,
            lambda stub, worker, timeout: stub.PushGradients(requests(worker), timeout=timeout),
        )

    def close(self) -> None:
        """Frees the gradients."""
        request = messages.ReleaseContextRequest(context=self._id)
        self._optimizer._call_all(
            lambda stub, worker, timeout: stub.ReleaseContext(request, timeout=timeout)
        )

    def __enter__(self) -> "Context":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except WorkersFailedError:
            if error is None:
                raise


class DistributedOptimizer:
    """An optimizer on several workers, created by `Client.optimizer`.

    Attributes:
        name: the optimizer's name on the workers.
        param_groups: `params` and hyperparameters of each group, which may be changed. A step sends
            the workers what has changed.
    """

    def __init__(
        self,
        workers: Workers,
        lease: Lease,
        name: str,
        rule: RuleDefinition | str | os.PathLike[str],
        groups: Sequence[Mapping[str, Any]],
        storage: dict[str, str],
        numerics: str,
        seed: int,
    ) -> None:
        definition = definition_of(rule)
        self.name = name
        self._workers = workers
        self._lease = lease
        self.param_groups = [dict(definition.hypers) | dict(group) for group in groups]
        self._places: dict[str, int] = {}
        self._group_on: dict[int, dict[int, int]] = {}  # by worker, then by group
        requests: dict[int, messages.CreateOptimizerRequest] = {}
        source, settings = definition._chosen_text({})
        for number, group in enumerate(self.param_groups):
            unknown = [key for key in group if key != "params" and key not in definition.hypers]
            if unknown:
                raise InvalidArgumentError(
                    f"rule `{definition.name}` has no hyperparameter `{unknown[0]}`; it has "
                    f"{', '.join(definition.hypers)}"
                )
            owners = {parameter: workers.worker_of(parameter) for parameter in group["params"]}
            self._places |= owners
            for parameter, worker in owners.items():
                request = requests.setdefault(
                    worker,
                    messages.CreateOptimizerRequest(
                        optimizer=name,
                        rule=messages.Rule(
                            source=source.text,
                            name=definition._rule or "",
                            settings={
                                key: setting_literal(key, value) for key, value in settings.items()
                            },
                            storage=storage,
                            numerics=numerics,
                        ),
                        seed=seed,
                    ),
                )
                positions = self._group_on.setdefault(worker, {})
                if number not in positions:
                    positions[number] = len(positions)
                    request.groups.add(
                        hyperparameters=self._hypers(group), is_part=len({*owners.values()}) > 1
                    )
                request.groups[positions[number]].parameters.append(parameter)
        self._sent = [self._hypers(group) for group in self.param_groups]
        workers.call_each(
            requests,
            lambda stub, worker, timeout: stub.CreateOptimizer(requests[worker], timeout=timeout),
        )

    @staticmethod
    def _hypers(group: Mapping[str, Any]) -> dict[str, float]:
        return {name: float(value) for name, value in group.items() if name != "params"}

    def _call_all(self, call: Any) -> dict[int, Any]:
        return self._workers.call_each(self._group_on, call)

    def _worker_of(self, parameter: str) -> int:
        if parameter not in self._places:
            raise InvalidArgumentError(f"optimizer `{self.name}` has no parameter `{parameter}`")
        return self._places[parameter]

    def context(self, number: int | None = None) -> Context:
        """Opens a context of this client, or one with a number that several clients use."""
        return Context(self, secrets.randbits(63) if number is None else number)

    def step(self, context: Context) -> int:
        """Steps with the gradients of a context, on all workers at the same time.

        Returns:
            The number of parameters that had a gradient.

        Raises:
            WorkersFailedError: some workers failed; the others have stepped.
        """
        self._send_hypers()
        request = messages.StepRequest(context=context._id, request=context._next_request())
        answers = self._call_all(lambda stub, worker, timeout: stub.Step(request, timeout=timeout))
        return sum(answer.stepped for answer in answers.values())

    def _send_hypers(self) -> None:
        for number, group in enumerate(self.param_groups):
            hypers = self._hypers(group)
            if hypers == self._sent[number]:
                continue
            some = [worker for worker, groups in self._group_on.items() if number in groups]

            def call(stub: Any, worker: int, timeout: float, number: int = number) -> Any:
                request = messages.SetHyperparametersRequest(
                    optimizer=self.name,
                    group=self._group_on[worker][number],
                    hyperparameters=self._hypers(self.param_groups[number]),
                )
                return stub.SetHyperparameters(request, timeout=timeout)

            self._workers.call_each(some, call)
            self._sent[number] = hypers
