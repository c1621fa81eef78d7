"""An optimizer of parameters on other workers."""

import logging
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch.distributed.rpc import PyRRef

from ...caller_warnings import warn_caller
from ...optim.correspondence import Group
from ...optim.state_storage import drop_codes, name_codes, require_codes
from ...optim.step_hooks import hooked
from ..context_ids import require_context
from ..turns import Turns
from .contexts import ContextTable
from .options import Options
from .outcomes import ALREADY_APPLIED, gathered
from .references import refused_when_made, require_references
from .registry import functional_optim_map
from .remote import RemoteOptimizer
from .remotes import made_remotes
from .rules import execution_of
from .shared_lock import SharedLock
from .state_dicts import (
    States,
    load_states,
    merged_states,
    packed_states,
    split_states,
    unpacked_states,
)

_log = logging.getLogger(__name__)


class DistributedOptimizer(torch.optim.Optimizer):
    r"""Steps parameters on their workers, from the gradients of one distributed-autograd context.

    The step is compiled on each worker, and runs there without Python. The hyperparameters are in
    `param_groups` here and are sent with each step, so `torch.optim.lr_scheduler` works.

    Args:
        optimizer_class: a class of `torch.optim` or `updraft.optim`, or a rule: a function with
            `@updraft.rule`, a chain, the name of a rule of the package, or a file.
        params_rref: references to parameters, or dicts with parameter groups of references.
        args: arguments of the class after the parameters.
        options: how to step; see `Options`.
        kwargs: keyword arguments of the class.

    Concurrent steps that share a parameter run one after another on its worker, even from several
    optimizers and clients. There is no order across workers. Other steps may run between the
    forward and the step of a context.

    Raises:
        TypeError: `params_rref` contains something other than references to tensors.
        ValueError: it is empty or has a parameter twice, a parameter isn't a leaf of autograd, or
            the class refuses its arguments.

    Example:
        >>> from updraft.distributed.optim import DistributedOptimizer
        >>> weight = torch.distributed.rpc.RRef(torch.nn.Parameter(torch.ones(1, 2)))
        >>> optimizer = DistributedOptimizer(torch.optim.SGD, [weight], lr=0.25)
        >>> with torch.distributed.autograd.context() as context:
        ...     [output] = updraft.distributed.remote_sync_call(
        ...         "linear", args=(torch.ones(2), weight), partitioner="worker0"
        ...     )
        ...     torch.distributed.autograd.backward(context, [output.sum()])
        ...     optimizer.step(context)
        >>> weight.to_here().detach()
        tensor([[0.7500, 0.7500]])
    """

    param_groups: list[Group]
    state: defaultdict[Any, Any]
    remote_optimizers: list[RemoteOptimizer]
    #: Whether steps receive gradients, as compiled ones do, and leave `.grad` unchanged.
    is_functional_optim: bool = True
    #: Maps a class to its functional optimizer; see `register_functional_optim`.
    functional_optim_map = functional_optim_map

    def __init__(
        self,
        optimizer_class: Any,
        params_rref: Iterable[Any],
        *args: Any,
        options: Options | None = None,
        **kwargs: Any,
    ) -> None:
        self.options = Options() if options is None else options
        self.remote_optimizers = []
        self._applied: ContextTable[int] = ContextTable()
        self._turns = Turns()
        #: Held to change how workers step, before the next step.
        self._changing = threading.Lock()
        #: Shared while the remote optimizers are in use.
        self._in_use = SharedLock()
        #: Held while torch packs states.
        self._packing = threading.RLock()
        #: States of flags that are currently not set.
        self._unused_states: States = {}
        self._warned = False
        given = list(params_rref)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        groups: list[Group] = (
            [dict(group) for group in given]
            if all(isinstance(group, Mapping) for group in given)
            else [{"params": given}]
        )
        with refused_when_made(groups):
            for group in groups:
                params = group["params"]
                group["params"] = [params] if isinstance(params, PyRRef) else list(params)
            self._make(optimizer_class, groups, args, kwargs)
        weakref.finalize(self, self._execution.release, self.remote_optimizers)

    def _make(self, optimizer_class: Any, groups: list[Group], args: Any, kwargs: Any) -> None:
        require_references(groups)
        self._execution = execution_of(optimizer_class, groups, args, kwargs, self.options)
        self.is_functional_optim = self._execution.is_functional
        whole = [
            made | {"params": group["params"]}
            for made, group in zip(self._execution.template.param_groups, groups, strict=True)
        ]
        super().__init__(whole, self._execution.defaults)
        self.remote_optimizers = made_remotes(self._execution, self.param_groups, self.options)

    def add_param_group(self, param_group: Group) -> None:
        """Only works during construction: workers create their optimizers only once."""
        if self.remote_optimizers:
            raise NotImplementedError(
                "cannot add a parameter group to a distributed optimizer; give all groups to the "
                "constructor"
            )
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Does nothing: gradients belong to contexts, and are freed with them."""

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of all parameters, from all workers, and the parameter groups.

        The form is that of `torch.optim.Optimizer.state_dict`, independent of workers: another
        number of workers, and a local optimizer of the same class, can load it.
        """
        with self._in_use.shared():
            states = packed_states(self._execution, self.remote_optimizers)
            merged = merged_states(states, self._unused_states)
        # A hook may call `state_dict` again.
        with self._packing:
            before = self.state
            # Torch packs states that aren't keyed by tensors unchanged.
            self.state = defaultdict(dict, merged)
            try:
                packed = super().state_dict()
            finally:
                self.state = before
        name_codes(self._execution.template, packed)
        return packed

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a `state_dict` of this class or of a local optimizer.

        Workers create new optimizers, which are used after all have loaded their states. So after
        an error nothing has changed. Applied contexts stay applied.

        Raises:
            ValueError: states are missing or not those of the rule, or the number or size of the
                groups differs.
        """
        with self._changing:
            self._load(state_dict)

    def _load(self, state_dict: dict[str, Any]) -> None:
        before = self.param_groups
        loading = [state_dict]

        def without_states(_: Any, given: dict[str, Any]) -> dict[str, Any]:
            require_codes(self._execution.template, given)
            loading.append(given)
            return given | {"state": {}}

        # Runs after other hooks, so it sees their result.
        hook = self.register_load_state_dict_pre_hook(without_states)
        try:
            super().load_state_dict(state_dict)
            drop_codes(self.param_groups)
            # An older file may lack an option.
            for group, known in zip(self.param_groups, before, strict=True):
                for name, value in known.items():
                    group.setdefault(name, self.defaults.get(name, value))
            states = unpacked_states(self._execution, loading[-1])
            self._execution.follows(self.param_groups)
            with self._in_use.alone():
                self._make_anew(self.param_groups, states)
        except BaseException:
            self.param_groups = before
            raise
        finally:
            hook.remove()

    def _make_anew(self, groups: list[Group], states: States) -> None:
        """Makes workers create optimizers with states, for groups that `follows` was given."""
        used, unused = split_states(self._execution, self.remote_optimizers, states)
        remotes = made_remotes(self._execution, groups, self.options, self.remote_optimizers)
        try:
            load_states(self._execution, remotes, used)
        except BaseException:
            self._execution.release(remotes)
            raise
        self._execution.made_for(groups)
        self._execution.release(self.remote_optimizers)
        # The caller releases the content of this list.
        self.remote_optimizers[:] = remotes
        self._unused_states = unused

    def _follow(self, groups: list[Group]) -> None:
        """Makes workers step with the current groups. If a flag has changed, they create new
        optimizers that continue from the states.
        """
        if self._execution.follows(groups):
            return
        with self._in_use.alone():
            states = packed_states(self._execution, self.remote_optimizers)
            self._make_anew(groups, merged_states(states, self._unused_states))

    # The wrapper that torch puts around the step of a class.
    profile_hook_step = staticmethod(partial(hooked, takes_closure=False))

    def step(self, context_id: int) -> None:  # type: ignore[override]
        """Applies the gradients of a context, on every worker that has some.

        Returns when every worker has answered. A worker applies a context once. After an error, a
        retry only does the remaining work, and logs a warning with the names of the workers that
        had applied it.

        Raises:
            TypeError: `context_id` isn't an integer.
            RuntimeError: the context doesn't exist, or was applied before.
            ValueError: the rule cannot be compiled for the hyperparameters. Nothing has changed.
        """
        require_context(context_id)
        # If two threads step the same context, the second one finds it applied.
        with self._turns.of(context_id):
            self._step(context_id)

    def _counts(self, context_id: int, before: int) -> dict[str, int]:
        """Steps on all workers; returns their answers."""
        with self._in_use.shared():
            arguments = self._execution.same_arguments(self.remote_optimizers, self.param_groups)
            if arguments is not None:
                return self._answers(arguments, context_id, before)
        while True:
            with self._changing:
                groups = [dict(group) for group in self.param_groups]
                self._follow(groups)
                followed = [*self.remote_optimizers]
            with self._in_use.shared():
                # Another thread may have replaced the optimizers meanwhile.
                if self.remote_optimizers == followed:
                    # Raises before any request if a group can't be read.
                    arguments = self._execution.step_arguments(followed, groups)
                    return self._answers(arguments, context_id, before)

    def _answers(self, arguments: list[Any], context_id: int, before: int) -> dict[str, int]:
        step = self._execution.step
        return gathered(
            {
                remote.worker.name: step(remote, given, context_id, before)
                for remote, given in zip(self.remote_optimizers, arguments, strict=True)
            },
            failed="nothing was stepped on",
            unknown="it is unknown whether a step ran on",
            partly="a step failed midway, with unknown effect, on",
            done="the request succeeded on",
        )

    def _step(self, context_id: int) -> None:
        before = self._applied.get(context_id, 0)
        if before and not self.options.allow_repeated_steps:
            raise RuntimeError(
                f"the gradients of context {context_id} were already applied; step once in each "
                "context, or give `options=Options(allow_repeated_steps=True)`"
            )
        counts = self._counts(context_id, before)
        before_now = [f"`{name}`" for name, count in counts.items() if count == ALREADY_APPLIED]
        if before_now:
            _log.warning(
                "context %d was already applied on %s; this step has changed nothing there",
                context_id,
                ", ".join(before_now),
            )
        if any(counts.values()):
            self._applied[context_id] = before + 1
        elif not self._warned:
            self._warned = True
            warn_caller(
                f"context {context_id} has no gradient of any parameter of this optimizer; was "
                "`torch.distributed.autograd.backward` called, and the forward recorded by "
                "`updraft.distributed.remote_sync_call`?",
            )
