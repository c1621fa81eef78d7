"""The optimizer of one worker whose class steps in Python, and the calls that reach it there."""

import contextlib
import copy
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._C._distributed_autograd import get_gradients

from ...optim.adapter import StorageLocks
from ...optim.correspondence import Group
from ...optim.stand_ins import local_part
from .contexts import ContextTable
from .outcomes import PartlyAppliedError

Gradients = dict[torch.Tensor, torch.Tensor]
#: What a step returns instead of a number of parameters.
ALREADY_APPLIED = -1
# Of numbers that are released before they are made, how many are remembered.
_RELEASED = 1 << 14


@contextlib.contextmanager
def _locked(params: Sequence[torch.Tensor]) -> Iterator[None]:
    """Holds the locks of the memory that parameters have while they are held."""
    parts = [local_part(param) for param in params]

    def memory() -> list[int]:
        return [part.untyped_storage()._cdata for part in parts]

    while True:
        known = memory()
        locks = StorageLocks(parts)
        locks.lock()
        # `.data` may have been set while this waited.
        if memory() == known:
            break
        locks.unlock()
    try:
        yield
    finally:
        locks.unlock()


@contextlib.contextmanager
def _as_grad(params: Sequence[torch.Tensor], held: Gradients) -> Iterator[None]:
    """Has copies of gradients, which a class may write, as `.grad`; what was there comes back."""
    with contextlib.ExitStack() as restored:
        for param in params:
            restored.callback(setattr, param, "grad", param.grad)
        for param in params:
            param.grad = held[param].clone() if param in held else None
        yield


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)


class EagerOptimizer:
    """An optimizer of torch, stepped from the gradients of contexts. Any thread."""

    def __init__(self, kind: Any, groups: list[Group], args: Any, kwargs: Any) -> None:
        self._optimizer = kind(groups, *args, **kwargs)
        self._params = [param for group in groups for param in group["params"]]
        self._mutex = threading.Lock()
        self._applied: ContextTable[int] = ContextTable()
        #: What steps have said that failed after they had begun.
        self._failed: ContextTable[str] = ContextTable()

    def step(self, context_id: int, before: int, options: list[dict[str, Any]]) -> int:
        """Applies a context unless it was applied more than `before` times.

        Returns how many parameters have a gradient in it.

        Raises:
            PartlyAppliedError: the class raised in the midst of this step, or of an earlier one of
                the context, which is not tried again.
        """
        try:
            held = get_gradients(context_id)
        except RuntimeError:  # This worker has not heard of it.
            return 0
        with self._mutex:
            if failed := self._failed.get(context_id, ""):
                raise PartlyAppliedError(failed)
            if self._applied.get(context_id, 0) > before:
                return ALREADY_APPLIED
            given = [param for param in self._params if param in held]
            if not given:
                return 0
            for group, changed in zip(self._optimizer.param_groups, options, strict=True):
                group.update(changed)
            begun = False
            try:
                with _locked(self._params), _as_grad(self._params, held):
                    begun = True
                    self._applied[context_id] = before + 1
                    self._optimizer.step()
            except BaseException as error:
                if not begun:
                    raise
                failed = f"{type(error).__name__}: {error}"
                self._failed[context_id] = failed
                raise PartlyAppliedError(failed) from error
            return len(given)

    def states(self) -> list[dict[str, Any]]:
        """Returns copies of the states of each parameter."""
        with self._mutex, _locked(self._params):
            return [
                {name: _copied(value) for name, value in self._optimizer.state[param].items()}
                if param in self._optimizer.state
                else {}
                for param in self._params
            ]

    def load_states(self, states: dict[int, dict[str, Any]]) -> None:
        """Takes the states of parameters, by their places."""
        with self._mutex:
            self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": states})


class _Optimizers:
    """Those of this worker, by the numbers that their clients have chosen. Any thread.

    As runtime/dist/NumberedObjects.h, and in the words of runtime/torch/rpc/Operators.cpp.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: None of those that are being made.
        self._made: dict[int, EagerOptimizer | None] = {}
        self._released: deque[int] = deque(maxlen=_RELEASED)

    def add(self, number: int, make: Callable[[], EagerOptimizer]) -> None:
        """Makes one, unless it was released already."""
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
            raise RuntimeError(f"optimizer {number} was released before it was made")

    def get(self, number: int) -> EagerOptimizer:
        with self._lock:
            found = self._made.get(number)
        if found is None:
            raise IndexError(
                f"this worker has no optimizer {number}; it was released, or the worker was "
                "started anew"
            )
        return found

    def release(self, number: int) -> None:
        with self._lock:
            if self._made.pop(number, None) is None:
                self._released.append(number)


_optimizers = _Optimizers()


def _made(
    kind: Any, groups: list[Group], rrefs: list[list[Any]], args: Any, kwargs: Any
) -> EagerOptimizer:
    whole = [
        group | {"params": [rref.local_value() for rref in mine]}
        for group, mine in zip(groups, rrefs, strict=True)
    ]
    for group in whole:
        for place, param in enumerate(group["params"]):
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"parameter {place} is a reference to {param!r}, which is no tensor"
                )
    return EagerOptimizer(kind, whole, args, kwargs)


def create(number: int, *request: Any) -> None:
    """Makes an optimizer: of a class, groups without parameters, references to those of each
    group, and arguments of the class.
    """
    _optimizers.add(number, lambda: _made(*request))


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
    """Gives up an optimizer, if there is one."""
    _optimizers.release(number)
