"""A worker's optimizer of a class that steps in Python, and the calls that reach it."""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.autograd import get_gradients

from ...optim.adapter import StorageLocks
from ...optim.stand_ins import local_part, memory_layout
from .contexts import ContextTable
from .eager_steppers import EagerStepper, FunctionalStepper, OptimizerStepper
from .outcomes import ALREADY_APPLIED, PartlyAppliedError
from .references import require_tensors

# The limit on remembered numbers of optimizers that were released before they were created.
_RELEASED = 1 << 14


@contextlib.contextmanager
def _locked(params: Sequence[torch.Tensor]) -> Iterator[None]:
    """Locks the memory of parameters, and checks that it is still theirs."""
    tensors = [local_part(param) for param in params]

    def memory() -> list[Any]:
        return [memory_layout(tensor) for tensor in tensors]

    while True:
        known = memory()
        locks = StorageLocks(tensors)
        locks.lock()
        # `.data` may have been set during the wait for the locks.
        if memory() == known:
            break
        locks.unlock()
    try:
        yield
    finally:
        locks.unlock()


class _Progress:
    """The progress that an optimizer shares with its replacements."""

    def __init__(self) -> None:
        #: Guards steps and states.
        self.mutex = threading.Lock()
        self.applied: ContextTable[int] = ContextTable()
        #: The messages of steps that failed after they had begun.
        self.failed: ContextTable[str] = ContextTable()


class EagerOptimizer:
    """Steps from the gradients of contexts. Thread-safe.

    Args:
        replaced: an optimizer of the same parameters that this one replaces. Contexts that it has
            applied, or is applying, count as applied.
    """

    def __init__(self, stepper: EagerStepper, replaced: "EagerOptimizer | None") -> None:
        self._stepper = stepper
        self._progress: _Progress = _Progress() if replaced is None else replaced._progress

    def step(self, context_id: int, before: int, options: list[dict[str, Any]]) -> int:
        """Applies a context unless it was applied more than `before` times.

        Returns the number of parameters with a gradient in the context.

        Raises:
            PartlyAppliedError: the class raised during this step, or during an earlier step of the
                context, which isn't retried.
        """
        try:
            held = get_gradients(context_id)
        except RuntimeError:  # this worker doesn't know the context
            return 0
        progress, stepper = self._progress, self._stepper
        with progress.mutex:
            if failed := progress.failed.get(context_id, ""):
                raise PartlyAppliedError(failed)
            if progress.applied.get(context_id, 0) > before:
                return ALREADY_APPLIED
            count = sum(param in held for param in stepper.params)
            if count == 0:
                return 0
            stepper.set_options(options)
            begun = False
            try:
                with _locked(stepper.params), stepper.ready(held) as take_step:
                    begun = True
                    progress.applied[context_id] = before + 1
                    take_step()
            except BaseException as error:
                if not begun:
                    raise
                failed = f"{type(error).__name__}: {error}"
                progress.failed[context_id] = failed
                raise PartlyAppliedError(failed) from error
            return count

    def states(self) -> list[dict[str, Any]]:
        """Returns copies of the states of each parameter."""
        with self._progress.mutex, _locked(self._stepper.params):
            return self._stepper.states()

    def load_states(self, states: dict[int, dict[str, Any]]) -> None:
        """Loads the states of parameters, by position."""
        with self._progress.mutex:
            self._stepper.load_states(states)


class _Optimizers:
    """The optimizers of this worker, by the numbers that clients have chosen. Thread-safe.

    Like runtime/dist/NumberedObjects.h, with the messages of runtime/torch/rpc/Operators.cpp.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: None for those that are being created.
        self._made: dict[int, EagerOptimizer | None] = {}
        self._released: deque[int] = deque(maxlen=_RELEASED)

    def add(self, number: int, make: Callable[[], EagerOptimizer]) -> None:
        """Creates an optimizer, unless it was already released."""
        with self._lock:
            self._require_wanted(number)
            if number in self._made:
                raise ValueError(f"this worker has an optimizer {number} already")
            self._made[number] = None
        try:
            made = make()
        except BaseException:
            with self._lock:
                self._made.pop(number, None)
            raise
        with self._lock:
            self._require_wanted(number)
            self._made[number] = made

    def _require_wanted(self, number: int) -> None:
        if number in self._released:
            self._released.remove(number)
            raise RuntimeError(f"optimizer {number} was released before it was created")

    def known(self, number: int) -> EagerOptimizer | None:
        """The optimizer with a number, or None."""
        with self._lock:
            return self._made.get(number)

    def get(self, number: int) -> EagerOptimizer:
        """The optimizer with a number.

        Raises:
            IndexError: it doesn't exist.
        """
        found = self.known(number)
        if found is None:
            raise IndexError(
                f"this worker has no optimizer {number}; it was released, or the worker was "
                "restarted"
            )
        return found

    def release(self, number: int) -> None:
        with self._lock:
            if self._made.pop(number, None) is None:
                self._released.append(number)


_optimizers = _Optimizers()


@dataclass(frozen=True)
class EagerRequest:
    """A client's request to create an optimizer.

    Args:
        kind: the class.
        is_functional: whether it has `step(gradients)`, like torch's functional optimizers.
        options: the options of each group.
        rrefs: references to the parameters of each group.
        indices: the parameters' indices in messages.
        args: arguments of the class after the parameters.
        kwargs: keyword arguments of the class.
        replaces: the number of the optimizer that it replaces.
    """

    kind: Any
    is_functional: bool
    options: list[dict[str, Any]]
    rrefs: list[list[Any]]
    indices: list[list[int]]
    args: Any
    kwargs: Any
    replaces: int | None

    def made(self) -> EagerOptimizer:
        """Creates the optimizer, on the worker that has the parameters."""
        groups = [
            options | {"params": [rref.local_value() for rref in mine]}
            for options, mine in zip(self.options, self.rrefs, strict=True)
        ]
        for group, indices in zip(groups, self.indices, strict=True):
            require_tensors(group["params"], indices)
        stepper = FunctionalStepper if self.is_functional else OptimizerStepper
        replaced = None if self.replaces is None else _optimizers.known(self.replaces)
        return EagerOptimizer(stepper(self.kind, groups, self.args, self.kwargs), replaced)


def create(number: int, request: EagerRequest) -> None:
    """Creates an optimizer with a number that its client has chosen."""
    _optimizers.add(number, request.made)


def step(number: int, context_id: int, before: int, options: list[dict[str, Any]]) -> int:
    """See `EagerOptimizer.step`."""
    return _optimizers.get(number).step(context_id, before, options)


def states(number: int) -> list[dict[str, Any]]:
    """See `EagerOptimizer.states`."""
    return _optimizers.get(number).states()


def load_states(number: int, states: dict[int, dict[str, Any]]) -> None:
    """See `EagerOptimizer.load_states`."""
    _optimizers.get(number).load_states(states)


def release(number: int) -> None:
    """Releases an optimizer, if it exists."""
    _optimizers.release(number)
