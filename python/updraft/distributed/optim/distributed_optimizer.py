"""An optimizer of parameters that lie on other workers."""

import warnings
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch._C._distributed_autograd import _is_valid_context
from torch._C._distributed_rpc import PyRRef

from ...optim.correspondence import Group
from .compiled_parts import CompiledParts
from .contexts import ContextTable
from .options import Options
from .outcomes import gathered
from .references import require_references
from .registry import functional_optim_map
from .remote import RemoteOptimizer, made_remotes
from .rules import parts_of
from .state_dicts import load_states, packed_states, unpacked_states


class DistributedOptimizer(torch.optim.Optimizer):
    r"""Steps parameters where they are, from the gradients of one distributed-autograd context.

    The step is compiled on each worker, and runs there without Python. Hyperparameters are in
    `param_groups` here and travel with each step, so that `torch.optim.lr_scheduler` works.

    Args:
        optimizer_class: a class of `torch.optim` or `updraft.optim`, or a rule: a function with
            `@updraft.rule`, a chain, the name of a rule of the package, or a file.
        params_rref: references to parameters, or dicts that define parameter groups of them.
        args: what the class takes behind the parameters.
        options: how to step; see `Options`.
        kwargs: as `args`.

    Concurrent steps that share a parameter run one after the other on its worker, whichever
    optimizers and clients they come from; there is no order across workers. Between the forward and
    the step of a context others may step.

    Raises:
        TypeError: `params_rref` has something else than references to tensors.
        ValueError: it is empty or has a parameter twice; a parameter is no leaf of autograd; what
            the class says to its arguments.
    """

    param_groups: list[Group]
    remote_optimizers: list[RemoteOptimizer]
    #: Whether steps are compiled.
    is_functional_optim: bool = True
    #: From a class to the functional optimizer that stands for it; see `register_functional_optim`.
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
        self._warned = False
        given = list(params_rref)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        groups: list[Group] = (
            [dict(group) for group in given]
            if all(isinstance(group, Mapping) for group in given)
            else [{"params": given}]
        )
        for group in groups:
            params = group["params"]
            group["params"] = [params] if isinstance(params, PyRRef) else list(params)
        require_references(groups)
        self._parts = parts_of(optimizer_class, groups, args, kwargs, self.options)
        self.is_functional_optim = isinstance(self._parts, CompiledParts)
        whole = [
            made | {"params": group["params"]}
            for made, group in zip(self._parts.template.param_groups, groups, strict=True)
        ]
        super().__init__(whole, self._parts.defaults)
        self.remote_optimizers = made_remotes(self._parts, self.param_groups, self.options)
        weakref.finalize(self, self._parts.release, self.remote_optimizers)

    def add_param_group(self, param_group: Group) -> None:
        """Not for optimizers that are made: a worker is asked once."""
        if self.remote_optimizers:
            raise NotImplementedError(
                "a distributed optimizer takes no more parameter groups once it is made; give all "
                "of them to the constructor"
            )
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Does nothing: gradients are in contexts, and go with them."""

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of all parameters, from all workers, and the parameter groups.

        In the form of `torch.optim.Optimizer.state_dict`, whatever worker a parameter is on:
        another number of workers, and a local optimizer of the same class, can load it.
        """
        # Torch packs what is not keyed by tensors as it is.
        self.state = defaultdict(dict, packed_states(self._parts, self.remote_optimizers))
        try:
            return super().state_dict()
        finally:
            self.state = defaultdict(dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what `state_dict` returned, of this class or a local one. Not while others step.

        Workers make their parts anew, which are used when all have loaded theirs: after an error
        everything is as it was.

        Raises:
            ValueError: states are missing, or are not those of the rule; or the groups are not as
                many, or not as large.
        """
        before = self.param_groups
        loading = [state_dict]

        def without_states(_: Any, given: dict[str, Any]) -> dict[str, Any]:
            loading.append(given)
            return given | {"state": {}}

        # What other hooks have made of it: this one is the last.
        hook = self.register_load_state_dict_pre_hook(without_states)
        try:
            super().load_state_dict(state_dict)
            # An older file may lack an option.
            for group, known in zip(self.param_groups, before, strict=True):
                for name, value in known.items():
                    group.setdefault(name, self.defaults.get(name, value))
            states = unpacked_states(self._parts, loading[-1])
            remotes = made_remotes(self._parts, self.param_groups, self.options)
            try:
                load_states(self._parts, remotes, states)
            except BaseException:
                self._parts.release(remotes)
                raise
        except BaseException:
            self.param_groups = before
            raise
        finally:
            hook.remove()
        self._parts.accept(self.param_groups)
        self._parts.release(self.remote_optimizers)
        # The list that is released in the end.
        self.remote_optimizers[:] = remotes

    def step(self, context_id: int) -> None:  # type: ignore[override]
        """Applies the gradients of a context, on every worker that has some.

        Returns when every worker has answered. A worker applies a context once: after an error a
        step may be tried again, and does what was not done.

        Raises:
            TypeError: `context_id` is no number.
            RuntimeError: there is no such context, or it was applied before.
            ValueError: a static flag of a group has changed; what the rule says to hyperparameters.
        """
        if isinstance(context_id, bool) or not isinstance(context_id, int):
            raise TypeError(f"`context_id` is {type(context_id)}; give the number of a context")
        _is_valid_context(context_id)
        before = self._applied.get(context_id, 0)
        if before and not self.options.allow_repeated_steps:
            raise RuntimeError(
                f"the gradients of context {context_id} are applied already; step once in each "
                "context, or give `options=Options(allow_repeated_steps=True)`"
            )
        self._parts.require_settings(self.param_groups)
        parts: Any = self._parts
        # Where a group cannot be read, nothing is asked for.
        asked = [parts.asked(remote, self.param_groups) for remote in self.remote_optimizers]
        counts = gathered(
            {
                remote.worker.name: parts.step(remote, what, context_id, before)
                for remote, what in zip(self.remote_optimizers, asked, strict=True)
            },
            failed="nothing was stepped on",
            unknown="it is not known whether there was a step on",
            partly="a step began and failed, so that what it has done is not known, on",
            done="what was asked for is done on",
        )
        if any(counts.values()):
            self._applied[context_id] = before + 1
        elif not self._warned:
            self._warned = True
            warnings.warn(
                f"context {context_id} has no gradient of any parameter of this optimizer; was "
                "`torch.distributed.autograd.backward` called, and the forward recorded by "
                "`updraft.distributed.call`?",
                stacklevel=3,
            )
