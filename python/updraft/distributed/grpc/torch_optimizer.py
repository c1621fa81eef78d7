"""An optimizer on workers as one of torch."""

import collections
from typing import Any

import torch

from .optimizer import Context, DistributedOptimizer


class TorchOptimizer(torch.optim.Optimizer):
    """Has the groups and the step of a `DistributedOptimizer`, for `torch.optim.lr_scheduler`.

    Step it instead of the other one, so that schedulers see the steps. The parameters and states
    are on the workers, so `zero_grad`, `add_param_group`, `state_dict` and `load_state_dict` raise
    NotImplementedError.
    """

    def __init__(self, optimizer: DistributedOptimizer) -> None:
        # Without torch's own `__init__`, which takes tensors.
        self._optimizer = optimizer
        self.defaults = dict(optimizer._defaults)
        self.param_groups = optimizer.param_groups
        self.state: collections.defaultdict[Any, Any] = collections.defaultdict(dict)

    def step(self, context: Context, **options: Any) -> int:  # type: ignore[override]
        """Steps as `DistributedOptimizer.step` does, with its options."""
        return self._optimizer.step(context, **options)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("the parameters and states are on the workers, not here")

    zero_grad = add_param_group = state_dict = load_state_dict = _refuse

    def __repr__(self) -> str:
        return f"TorchOptimizer({self._optimizer.name!r})"
