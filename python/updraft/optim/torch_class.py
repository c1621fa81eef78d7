"""The classes that are also in torch: torch's constructor, and how the rule is compiled."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch

from ..definition import RuleDefinition
from ..seed import require_seed
from ..shipped_constructor import choices
from ..torch_private import disable_dynamo
from .compiled import CompiledStep
from .conversion import counterpart
from .correspondence import Choices, warn_of_choices
from .documentation import Docstring
from .state_storage import IN_TWO_TENSORS


class _Signature:
    """The `__signature__` of a class with the constructor of `TorchClass`."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if owner.__init__ is not TorchClass.__init__:  # type: ignore[misc]
            raise AttributeError(f"`{owner.__name__}` has a constructor of its own")
        try:
            signature = inspect.signature(counterpart(owner))
        except TypeError as error:  # a base class, which `help` looks at too
            raise AttributeError(str(error)) from None
        parameters = [*signature.parameters.values(), *choices("torch")]
        return signature.replace(parameters=parameters)


class TorchClass(CompiledStep, torch.optim.Optimizer):
    """A base class that replaces the step of a class of `torch.optim`, the next base.

    The new step applies a compiled rule. The class of `torch.optim` defines the defaults, the
    parameter groups and the names of the states.
    The constructor also takes `storage`, `numerics`, `seed`, `probes` and `probe_every`, like the
    classes of other rules.
    """

    __signature__ = _Signature()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        correspondence = cls.__dict__.get("correspondence")
        if correspondence is not None:
            docstring = Docstring(lambda: correspondence.path, cls.__doc__ or "")
            cls.__doc__ = docstring  # type: ignore[assignment]

    def __init__(
        self,
        *args: Any,
        storage: Mapping[str, Any] | None = None,
        numerics: Literal["ieee", "torch", "fast"] = "torch",
        seed: int | None = None,
        probes: Sequence[str] = (),
        probe_every: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._require_shapes(numerics)
        if seed is not None:
            # An entry of the groups, as for other rules.
            self.defaults["seed"] = seed = require_seed(seed)
            for group in self.param_groups:
                group.setdefault("seed", seed)
        if storage or numerics != "torch" or probes or probe_every != 1:
            self._choose(Choices(numerics, storage, probes, probe_every))

    def _require_shapes(self, numerics: str) -> None:
        """Refuses parameters whose shapes the class doesn't take with these numerics."""

    @disable_dynamo
    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, as in torch. Warns of choices of the whole optimizer, such as `storage`."""
        warn_of_choices(param_group)
        super().add_param_group(param_group)

    # torch.compile can't trace a compilation.
    @disable_dynamo
    def _choose(self, chosen: Choices) -> None:
        """Compiles the rule with these choices, so that the constructor refuses invalid ones."""
        self._correspond(chosen)
        self._require_bf16_params()
        # torch's Adagrad has made `sum`, in one tensor.
        if IN_TWO_TENSORS.intersection(map(str, self.correspondence.storage.values())):
            self.state.clear()
        self._compile(scaled=False)

    @property
    def rule(self) -> RuleDefinition:
        """The definition of the rule."""
        return self.correspondence.definition
