"""An optimizer on several workers."""

import contextlib
import itertools
import math
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ...arguments import index_array
from ...compiled_rule import setting_literal
from ...definition import RuleDefinition
from ...errors import InvalidArgumentError
from ...loading import definition_of
from ...package_definition import PackageDefinition
from ...worker.v1 import worker_pb2 as messages
from .errors import ContextLostError, WorkersFailedError
from .files import arrays_of_file, file_of_arrays
from .lease import Lease, Registration
from .tensors import Rows, array_of, chunks_of
from .workers import Workers

_ROWS_PER_MESSAGE = 1 << 17

#: In the metadata of files of states, the name of a state's codes is under this and its name.
_STORAGE = "updraft.storage."

#: How long releasing a context may take after an error, which has often taken the whole timeout.
_SECONDS_AFTER_ERRORS = 5.0


#: A worker that answers with one of these codes hasn't added the gradients of a push.
_REFUSALS = frozenset(
    {
        "INVALID_ARGUMENT",
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        "RESOURCE_EXHAUSTED",
        "UNAUTHENTICATED",
        "PERMISSION_DENIED",
        "UNIMPLEMENTED",
    }
)


class _Push(NamedTuple):
    number: int
    parameters: frozenset[str]


class Context:
    """Gradients on the workers, for a step. `DistributedOptimizer.context` opens it.

    Leaving the `with` block releases them, and doesn't raise if that fails. They are freed when all
    clients have released them. Only one thread at a time may use a context. Close it also after a
    failed step: until then, workers keep the answers to all later steps of the client for ten
    minutes.
    """

    def __init__(self, optimizer: "DistributedOptimizer", number: int) -> None:
        self._optimizer = optimizer
        self._sequences = optimizer._workers.sequences
        self._versions = optimizer._workers.versions(optimizer._places)
        self._id = messages.Context(optimizer=optimizer.name, number=number)
        try:
            self._registration = self._open_first()
        except WorkersFailedError as error:
            if all(failure.reason != "client-unknown" for failure in error.failures):
                raise
            optimizer._lease.renew()
            self._registration = self._open_first()
        self._is_closed = False
        self._pushes: list[_Push] = []
        self._next_push = 0  # less than their number if gradients have to be pushed again
        self._added = 0  # how many of them all workers have had
        self._is_lost = False  # on some worker
        self._unanswered: int | None = None  # the number of the step, if it has failed
        self._is_of_all = False  # whether that is all or none

    def _open_first(self) -> Registration:
        """Opens the context on all workers or none. Returns what has the client's name."""
        registration = self._optimizer._lease.hold(self._optimizer._group_on)
        try:
            self._open(registration)
        except WorkersFailedError:
            with contextlib.suppress(WorkersFailedError):
                self._release(registration, _SECONDS_AFTER_ERRORS)
            raise
        return registration

    def _open(self, registration: Registration) -> None:
        request = messages.OpenContextRequest(context=self._id, client=registration.name)
        answers = self._optimizer._call_all(
            lambda stub, worker, timeout: stub.OpenContext(request, timeout=timeout)
        )
        self._optimizer._learn_epochs({worker: each.epoch for worker, each in answers.items()})

    def _release(self, registration: Registration, most: float = math.inf) -> None:
        request = messages.ReleaseContextRequest(context=self._id, client=registration.name)
        self._optimizer._call_all(
            lambda stub, worker, timeout: stub.ReleaseContext(request, timeout=timeout), most
        )

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidArgumentError("the context is closed; open another")

    def _request(self, sequence: int) -> messages.RequestId:
        """Returns an identity, whose number stays the same when the request is repeated."""
        return messages.RequestId(
            client=self._registration.name,
            sequence=sequence,
            answered=self._sequences.answered(),
        )

    def _call_each(self, workers: Iterable[int], call: Any) -> dict[int, Any]:
        try:
            return self._optimizer._workers.call_each(workers, call)
        except WorkersFailedError as error:
            if all(failure.reason != "context-unknown" for failure in error.failures):
                raise
            self._is_lost = True
            self._next_push = 0
            raise ContextLostError(error.failures) from error

    def _make_ready(self) -> None:
        """Raises an error unless the context can be stepped. Opens it on workers that lost it."""
        self._require_open()
        missing = len(self._pushes) - self._next_push
        if self._next_push < self._added:
            raise InvalidArgumentError(
                f"the workers have lost gradients, and {missing} of the context's "
                f"{len(self._pushes)} pushes are missing; push them again before the step"
            )
        if missing:
            raise InvalidArgumentError(
                f"push {self._next_push + 1} of the context failed, and only some workers may have "
                "its gradients; push the same gradients again before the step"
            )
        self._open_again()

    def _step(
        self,
        workers: Iterable[int],
        of_all: Sequence[str],
        staleness: Mapping[int, messages.Staleness],
    ) -> int:
        if self._unanswered is None:
            self._unanswered = self._sequences.begin_step()
            self._is_of_all = bool(of_all)
        elif self._is_of_all != bool(of_all):
            raise InvalidArgumentError(
                "the step has no answer yet, so it can only be repeated as it was: with the same "
                "`all_or_none`"
            )
        requests = {
            worker: messages.StepRequest(
                context=self._id,
                request=self._request(self._unanswered),
                workers=of_all,
                staleness=staleness.get(worker),
            )
            for worker in workers
        }
        answers = self._call_each(
            requests, lambda stub, worker, timeout: stub.Step(requests[worker], timeout=timeout)
        )
        self._give_up()
        return sum(answer.stepped for answer in answers.values())

    def _open_again(self) -> None:
        """Opens the context on workers that have lost it."""
        if self._is_lost:
            self._open(self._registration)
            self._is_lost = False

    def _give_up(self) -> None:
        """Doesn't repeat the step any more."""
        if self._unanswered is not None:
            self._sequences.end_step(self._unanswered)
        self._unanswered = None

    @property
    def number(self) -> int:
        """The number under which other clients can open the context."""
        return self._id.number

    def push(self, gradients: Mapping[str, Any]) -> None:
        """Adds gradients. Those of one parameter, of any pushes and clients, are summed.

        Returns when all workers have them. The order in which clients push changes no bit of a
        step.

        Args:
            gradients: by parameter, an array of the parameter's shape, or `Rows`. Their type is
                that of the rule's gradients: float32, unless the optimizer's `storage` has "grad".

        Raises:
            InvalidArgumentError: the optimizer doesn't have a parameter, workers don't take the
                array's type, the context is closed, or a push that has to be repeated had other
                parameters.
            TypeError: indices of rows aren't integers, or an array is masked.
            ContextLostError: a worker was started again, or this client's lease has ended.
            WorkersFailedError: a gradient has another type or shape, or the context was stepped,
                for example. Push the same gradients again before the step: a worker that has them
                doesn't add them again. If all workers have refused them, which the failures' codes
                say, nothing was added, and other gradients can be pushed instead.
        """
        self._require_open()
        by_worker: dict[int, list[str]] = {}
        arrays = {}
        for name, gradient in gradients.items():
            worker = self._optimizer._worker_of(name)
            by_worker.setdefault(worker, []).append(name)
            rows = None
            if isinstance(gradient, Rows):
                rows = index_array(gradient.indices, f"the gradient of `{name}`")
                gradient = gradient.values
            arrays[name] = rows, array_of(name, gradient)
        self._open_again()
        is_new = self._next_push == len(self._pushes)
        if is_new:
            self._pushes.append(_Push(self._sequences.next(), frozenset(gradients)))
        push = self._pushes[self._next_push]
        if push.parameters != gradients.keys():
            raise InvalidArgumentError(
                f"push {self._next_push + 1} of the context is repeated, because some workers may "
                "not have it, and it had other parameters; push the same gradients again"
            )
        request = self._request(push.number)

        calls = dict.fromkeys(by_worker, 0)

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

        def call(stub: Any, worker: int, timeout: float) -> Any:
            calls[worker] += 1
            return stub.PushGradients(requests(worker), timeout=timeout)

        try:
            self._call_each(by_worker, call)
        except ContextLostError:
            raise
        except WorkersFailedError as error:
            # A worker may have added the gradients of a call before, whose answer was lost.
            if (
                is_new
                and set(calls.values()) == {1}
                and len(error.failures) == len(by_worker)
                and all(failure.code in _REFUSALS for failure in error.failures)
            ):
                self._pushes.pop()
            raise
        # Only now: after an error the next push is the same one, which some workers may have added.
        self._next_push += 1
        self._added = max(self._added, self._next_push)

    def close(self) -> None:
        """Releases the gradients, which are freed when all clients have released them.

        Raises:
            WorkersFailedError: some workers failed.
        """
        self._close()

    def _close(self, most: float = math.inf) -> None:
        self._give_up()
        self._is_closed = True
        self._release(self._registration, most)

    def __enter__(self) -> "Context":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # An error would hide that of the block, or make an answered step look like a failed one. A
        # worker that isn't reached frees the gradients when the lease ends.
        with contextlib.suppress(WorkersFailedError):
            self._close(math.inf if error is None else _SECONDS_AFTER_ERRORS)


class DistributedOptimizer:
    """An optimizer on several workers, created by `Client.optimizer`.

    Threads may share an optimizer, if only one at a time changes `param_groups`.

    Attributes:
        name: the optimizer's name on the workers.
        param_groups: `params` and hyperparameters of each group. Hyperparameters may be changed. A
            step sends the workers the values that have changed since this object was created or
            sent them. Workers that were started again without `--durability=step` get those that
            it has sent before again.
    """

    def __init__(
        self,
        workers: Workers,
        lease: Lease,
        name: str,
        rule: RuleDefinition | str | os.PathLike[str],
        groups: Sequence[Mapping[str, Any]],
        storage: dict[str, str],
        numerics: str | None,
        seed: int,
    ) -> None:
        definition = definition_of(rule)
        self.name = name
        self._defaults = dict(definition.hypers)
        self._workers = workers
        self._lease = lease
        self.param_groups = [dict(definition.hypers) | dict(group) for group in groups]
        self._places: dict[str, int] = {}
        self._group_on: dict[int, dict[int, int]] = {}  # by worker, then by group
        requests: dict[int, messages.CreateOptimizerRequest] = {}
        deciding: dict[str, Any] = {}  # the rule's static flags, such as SGD's with a momentum
        for group in self.param_groups:
            deciding = definition._deciding_values(group) | deciding
        source, settings = definition._chosen_text(deciding)
        if isinstance(definition, PackageDefinition):
            settings = {}  # the groups have the hyperparameters
        numbers = itertools.count()  # of parameters, over all workers
        for number, group in enumerate(self.param_groups):
            unknown = [key for key in group if key != "params" and key not in definition.hypers]
            if unknown:
                raise InvalidArgumentError(
                    f"rule `{definition.name}` has no hyperparameter `{unknown[0]}`; it has "
                    f"{', '.join(definition.hypers)}"
                )
            owners = {parameter: workers.worker_of(parameter) for parameter in group["params"]}
            if len(owners) < len(group["params"]):
                raise InvalidArgumentError(f"group {number} has a parameter twice")
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
                            numerics=numerics or "",
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
                request.groups[positions[number]].numbers.append(next(numbers))
        if not requests:
            raise InvalidArgumentError(
                f"the optimizer `{name}` has no parameters; list their names under `params`"
            )
        answers = workers.call_each(
            requests,
            lambda stub, worker, timeout: stub.CreateOptimizer(requests[worker], timeout=timeout),
        )
        for worker, answer in answers.items():
            if not answer.groups:  # an older worker
                continue
            for group_number, place in self._group_on[worker].items():
                group = self.param_groups[group_number]
                for key, value in answer.groups[place].hyperparameters.items():
                    if float(group[key]) != value:
                        group[key] = value
        self._sending = threading.Lock()  # guards what follows
        self._epochs: dict[int, int] = {}  # by worker
        # By group, the names of the hyperparameters that this object has sent.
        self._own: list[set[str]] = [set() for _ in self.param_groups]
        # The values that all workers of a group have. Others are sent with the next step.
        self._sent = [self._hypers(group) for group in self.param_groups]
        for worker, answer in answers.items():
            for number, place in self._group_on[worker].items() if answer.groups else ():
                for key, value in answer.groups[place].hyperparameters.items():
                    if self._sent[number].get(key) != value:
                        self._sent[number].pop(key, None)

    def _hypers(self, group: Mapping[str, Any]) -> dict[str, float]:
        # Schedulers add entries of their own.
        return {name: float(value) for name, value in group.items() if name in self._defaults}

    def _call_all(self, call: Any, most: float = math.inf) -> dict[int, Any]:
        return self._workers.call_each(self._group_on, call, most)

    def _worker_of(self, parameter: str) -> int:
        if parameter not in self._places:
            raise InvalidArgumentError(f"optimizer `{self.name}` has no parameter `{parameter}`")
        return self._places[parameter]

    def _require_own(self, other: "DistributedOptimizer") -> None:
        """Raises an error unless `other`, which has opened a context, is the same optimizer."""
        if other is self:
            return
        if other.name != self.name:
            raise InvalidArgumentError(
                f"the context was opened for optimizer `{other.name}`, and a step of optimizer "
                f"`{self.name}` can't use it; step `{other.name}`"
            )
        if (
            other._workers.addresses != self._workers.addresses
            or other._places != self._places
            or other._group_on != self._group_on
        ):
            raise InvalidArgumentError(
                f"the context was opened for an optimizer `{self.name}` that has other workers or "
                "groups; step the optimizer that opened the context"
            )

    def context(self, number: int | None = None) -> Context:
        """Opens a context of this client, or one with a number that several clients use.

        Raises:
            WorkersFailedError: some workers failed.
        """
        return Context(self, secrets.randbits(63) if number is None else number)

    def step(
        self,
        context: Context,
        *,
        all_or_none: bool = False,
        max_age: int | None = None,
        scale_old: bool = False,
    ) -> int:
        """Steps with the gradients of a context, on all workers at the same time.

        Doesn't wait for pushes of other clients. After an error, repeat the step: a worker that has
        stepped doesn't step again. Another call after a success is another step, with the same
        gradients.

        Args:
            context: the gradients, in a context that was opened for this optimizer.
            all_or_none: whether no worker steps unless all do. The workers need `--store` and
                `--durability=step`, and reach each other under the addresses that this client uses.
            max_age: how often a parameter may have been written since this client read it last
                before it opened the context. An older gradient refuses the step; its failure has
                the reason `stale`. If clients share the context, the ages of the other clients'
                gradients aren't checked.
            scale_old: multiplies older gradients by (max_age + 1) / (age + 1) instead.

        Returns:
            The number of parameters that had a gradient.

        Raises:
            InvalidArgumentError: the context was opened for another optimizer.
            ContextLostError: a worker was started again, or this client's lease has ended.
            WorkersFailedError: some workers failed. The others have stepped, unless `all_or_none`
                is set. With the code UNAVAILABLE, CANCELLED or DEADLINE_EXCEEDED, or the reason
                `outcome-unknown`, those that failed may have stepped, too.
        """
        if scale_old and max_age is None:
            raise InvalidArgumentError("`scale_old` needs a `max_age`")
        self._require_own(context._optimizer)
        context._make_ready()
        if context._optimizer is not self:
            self._learn_epochs(dict(context._optimizer._epochs))
        with self._sending:
            self._send_hypers()
        workers = list(self._group_on)
        addresses = []
        if all_or_none:
            addresses = [self._workers.addresses[each] for each in workers]
            workers = workers[:1]  # passes the request on to the others
        staleness = {}
        if max_age is not None:
            versions: dict[int, dict[str, int]] = {worker: {} for worker in workers}
            for name, version in context._versions.items():
                versions[workers[0] if all_or_none else self._places[name]][name] = version
            late = messages.Staleness.SCALE if scale_old else messages.Staleness.REFUSE
            staleness = {
                worker: messages.Staleness(versions=some, most=max_age, late=late)
                for worker, some in versions.items()
            }
        return context._step(workers, addresses, staleness)

    def states(self) -> "dict[str, dict[str, np.ndarray[Any, Any]]]":
        """Returns copies of the states and the step count of each parameter that has stepped.

        The result has a dictionary for each parameter: its states by their names, and `step`. The
        values of one worker are of one moment. A state in blocks consists of codes (uint8), of
        scales (float32) under the name `STATE.scale`, and of the name of the codes (text) under
        `STATE.storage`.

        Raises:
            WorkersFailedError: some workers failed.
        """
        request = messages.GetStatesRequest(optimizer=self.name)
        files = self._call_all(
            lambda stub, worker, timeout: b"".join(
                chunk.data for chunk in stub.GetStates(request, timeout=timeout)
            )
        )
        result: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        for file in files.values():
            arrays, metadata = arrays_of_file(file)
            for name, array in arrays.items():
                parameter, _, state = name.removeprefix("state/").rpartition("/")
                some = result.setdefault(parameter, {})
                some[state] = array
                if codes := metadata.get(_STORAGE + state):
                    some[f"{state}.storage"] = np.array(codes)
        return result

    def load_states(self, states: "Mapping[str, Mapping[str, np.ndarray[Any, Any]]]") -> None:
        """Replaces the states and step counts on all workers by those that `states` returned.

        Parameters may be on other workers than they were. Those that are missing lose their states.
        Hyperparameters stay.

        Raises:
            InvalidArgumentError: the optimizer doesn't have a parameter, or a state has different
                codes for different parameters.
            WorkersFailedError: a state has another type, shape or other codes, for example. The
                other workers have replaced theirs.
        """
        by_worker: dict[int, dict[str, Any]] = {worker: {} for worker in self._group_on}
        metadata = {"updraft.states": "all"}
        for parameter, some in states.items():
            for state, array in some.items():
                if state.endswith(".storage"):
                    codes, key = str(array), _STORAGE + state.removesuffix(".storage")
                    if metadata.setdefault(key, codes) != codes:
                        raise InvalidArgumentError(
                            f"some parameters have `{state}` {metadata[key]}, and `{parameter}` "
                            f"has {codes}; all parameters of an optimizer have the same"
                        )
                    continue
                by_worker[self._worker_of(parameter)][f"state/{parameter}/{state}"] = array

        def requests(worker: int) -> Iterator[messages.PutStatesRequest]:
            yield messages.PutStatesRequest(optimizer=self.name)
            for chunk in file_of_arrays(by_worker[worker], metadata):
                yield messages.PutStatesRequest(chunk=messages.StatesChunk(data=chunk))

        self._call_all(
            lambda stub, worker, timeout: stub.PutStates(requests(worker), timeout=timeout)
        )

    def _learn_epochs(self, epochs: Mapping[int, int]) -> None:
        """Sends hyperparameters again, with the next step, to workers that may have lost them."""
        with self._sending:
            for worker, epoch in epochs.items():
                if self._epochs.get(worker, epoch) != epoch:
                    for number in self._group_on[worker]:
                        for key in self._own[number]:
                            self._sent[number].pop(key, None)
            self._epochs.update(epochs)

    def _send_hypers(self) -> None:
        if len(self.param_groups) != len(self._sent):
            raise InvalidArgumentError(
                f"`param_groups` has {len(self.param_groups)} groups, but the optimizer was made "
                f"with {len(self._sent)}; change hyperparameters, not the list"
            )
        for number, group in enumerate(self.param_groups):
            hypers = self._hypers(group)
            # Others may have set the rest of the group.
            changed = dict(hypers.items() - self._sent[number].items())
            if not changed:
                continue
            some = [worker for worker, groups in self._group_on.items() if number in groups]

            def call(
                stub: Any,
                worker: int,
                timeout: float,
                number: int = number,
                changed: Mapping[str, float] = changed,
            ) -> Any:
                request = messages.SetHyperparametersRequest(
                    optimizer=self.name,
                    group=self._group_on[worker][number],
                    hyperparameters=changed,
                )
                return stub.SetHyperparameters(request, timeout=timeout)

            for key in changed:  # after an error, some workers may have the new value
                self._sent[number].pop(key, None)
            self._own[number].update(changed)
            self._workers.call_each(some, call)
            self._sent[number].update(changed)
