"""Optimizers that receive gradients as arguments, and leave `.grad` unchanged."""

import inspect
import threading
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any, ClassVar

import torch

from ...errors import UnsupportedError
from ...optim.compiled import CompiledStep
from ...optim.correspondence import Group
from ...optim.rule_interface import RuleInterface
from ...optim.stand_ins import is_distributed, local_part, memory_layout
from ...torch_private import ATTRIBUTES, local_tensor
from .distinct import require_distinct
from .kinds import maker


class _Stepper:
    """Steps tensors that share the memory of parameters, but have their own gradients."""

    def __init__(self, make: Callable[[list[Group]], CompiledStep], params: list[torch.Tensor]):
        self.params = params
        # Such a tensor shares the version counter of the parameter.
        self.own = [param.detach() for param in params]
        self.optimizer = make([{"params": self.own}])

    def _follow_memory(self) -> None:
        for param, own in zip(self.params, self.own, strict=True):
            if is_distributed(param):
                local = local_tensor(param)
                if local.data_ptr() != local_tensor(own).data_ptr():
                    setattr(own, ATTRIBUTES["local_tensor"].name, local.detach())
            elif memory_layout(param) != memory_layout(own):
                own.data = param.data

    def step(self, group: Group, gradients: Sequence[torch.Tensor | None]) -> None:
        """Steps with the hyperparameters of a group."""
        self._follow_memory()
        (mine,) = self.optimizer.param_groups
        mine.update({name: value for name, value in group.items() if name != "params"})
        try:
            for own, gradient in zip(self.own, gradients, strict=True):
                own.grad = gradient
            self.optimizer.step()
        finally:
            for own in self.own:
                own.grad = None

    def require_alone(self) -> None:
        """Refuses a rule that needs all parameters of the group."""
        buckets = self.optimizer._compile(scaled=False)[0][0].buckets
        rules = [bucket.rule for bucket in buckets if bucket.rule]
        by_group = any(RuleInterface(rule).by_group for rule in rules)
        if by_group or self.optimizer.max_grad_norm is not None:
            raise UnsupportedError(
                "the rule reduces over all parameters, but `step_param` steps one; call `step`"
            )


class _States(MutableMapping[torch.Tensor, dict[str, Any]]):
    """The states by parameter, from all steppers."""

    def __init__(self, steppers: dict[torch.Tensor, tuple[_Stepper, int]]) -> None:
        self._steppers = steppers

    def __getitem__(self, param: torch.Tensor) -> Any:
        stepper, place = self._steppers[param]
        states = stepper.optimizer.state
        if stepper.own[place] not in states:
            raise KeyError(param)
        return states[stepper.own[place]]

    def __setitem__(self, param: torch.Tensor, state: dict[str, Any]) -> None:
        stepper, place = self._steppers[param]
        stepper.optimizer.state[stepper.own[place]] = state

    def __delitem__(self, param: torch.Tensor) -> None:
        stepper, place = self._steppers[param]
        del stepper.optimizer.state[stepper.own[place]]

    def __iter__(self) -> Iterator[torch.Tensor]:
        return (
            p
            for p, (stepper, i) in self._steppers.items()
            if stepper.own[i] in stepper.optimizer.state
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


class FunctionalOptimizer:
    """Steps parameters by the given gradients, without reading or writing `.grad`.

    For `torch.distributed`, where backward passes of several threads share parameters. A subclass
    names the class or rule that it uses:

        class FunctionalLion(FunctionalOptimizer):
            optimizer_class = "Lion"

    Args:
        params: tensors, which form one parameter group.
        args: arguments of the class after the parameters.
        _allow_empty_param_list: whether the list may be empty: `step_param` takes any parameter.
        kwargs: keyword arguments of the class.

    Thread-safe; steps run one after another. Each step reads the hyperparameters in `param_group`.
    `state` has the states by parameter.

    Raises:
        TypeError: `params` contains something other than tensors.
        ValueError: it is empty or has a parameter twice, `differentiable` is set, or the class
            refuses its arguments.

    Example:
        >>> from updraft.distributed.optim import FunctionalOptimizer
        >>> class FunctionalSignum(FunctionalOptimizer):
        ...     optimizer_class = "Signum"
        >>> weight, bias = torch.ones(2), torch.ones(1)
        >>> functional = FunctionalSignum([weight, bias], lr=0.25, momentum=0)
        >>> functional.step([torch.tensor([3.0, -0.5]), None])
        >>> weight, bias
        (tensor([0.7500, 1.2500]), tensor([1.]))
    """

    #: A class of `torch.optim` or `updraft.optim`, or a rule: a function with `@updraft.rule`, a
    #: chain, the name of a rule of the package, or a file.
    optimizer_class: ClassVar[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        given = cls.__dict__.get("optimizer_class")
        if isinstance(given, type):
            cls.__signature__ = _with_empty_list(inspect.signature(given))  # type: ignore[attr-defined]

    def __init__(
        self,
        params: Iterable[torch.Tensor],
        *args: Any,
        _allow_empty_param_list: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("differentiable"):
            raise ValueError(
                f"`{type(self).__name__}` does not support `differentiable`; use the class that it "
                "wraps"
            )
        kind = maker(type(self).optimizer_class)
        self._make = lambda groups: kind(groups, *args, **kwargs)
        params = _tensors(params)
        if not params and not _allow_empty_param_list:
            raise ValueError("optimizer got an empty parameter list")
        self._lock = threading.Lock()
        #: Finds the stepper with the states of each parameter.
        self._steppers: dict[torch.Tensor, tuple[_Stepper, int]] = {}
        self.state = _States(self._steppers)
        # Without parameters, a temporary one checks the arguments. It is a matrix, because some
        # classes accept nothing else.
        made = _Stepper(self._make, params or [torch.zeros(1, 1)])
        self._whole: _Stepper | None = None
        if params:
            self._whole = made
            self._take(made)
        self.defaults: dict[str, Any] = vars(made.optimizer)["defaults"]
        self.param_group: Group = made.optimizer.param_groups[0] | {"params": params}
        self.param_groups = [self.param_group]

    def _take(self, stepper: _Stepper) -> None:
        """Makes a stepper continue from the states that its parameters have."""
        for place, param in enumerate(stepper.params):
            state = self.state.get(param) if param in self._steppers else None
            if state is not None:
                stepper.optimizer.state[stepper.own[place]].update(state)
            self._steppers[param] = stepper, place

    def step(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Steps every parameter of the list whose gradient is not None.

        Raises:
            ValueError: the number of gradients isn't the number of parameters.
        """
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(
                f"there are {len(gradients)} gradients for {len(params)} parameters; give one for "
                "each, or None"
            )
        with self._lock:
            if not params:
                return
            whole = self._whole
            if whole is None or any(self._steppers[param][0] is not whole for param in params):
                whole = self._whole = _Stepper(self._make, list(params))
                self._take(whole)
            whole.step(self.param_group, gradients)

    def step_param(self, param: torch.Tensor, grad: torch.Tensor | None) -> None:
        """Steps one parameter, which needn't be in the list.

        Raises:
            UnsupportedError: the rule reduces over all parameters.
        """
        if grad is None:
            return
        with self._lock:
            stepper = self._steppers[param][0] if param in self._steppers else None
            if stepper is None or len(stepper.params) > 1:
                stepper = _Stepper(self._make, [param])
                stepper.require_alone()
                self._take(stepper)
            stepper.step(self.param_group, [grad])

    def __repr__(self) -> str:
        options = {name: value for name, value in self.param_group.items() if name != "params"}
        arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"{type(self).__name__}({len(self.param_group['params'])} parameters, {arguments})"


def _tensors(params: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    if isinstance(params, torch.Tensor):
        raise TypeError(f"`params` is {type(params)}; give a list of tensors")
    params = list(params)
    for index, param in enumerate(params):
        if not isinstance(param, torch.Tensor):
            raise TypeError(f"parameter {index} is {type(param)}; give a tensor")
    require_distinct(id(local_part(param)) for param in params)
    return params


def _with_empty_list(signature: inspect.Signature) -> inspect.Signature:
    extra = inspect.Parameter(
        "_allow_empty_param_list", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool
    )
    parameters = [*signature.parameters.values()]
    end = len(parameters)
    if parameters and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD:
        end -= 1
    return signature.replace(parameters=[*parameters[:end], extra, *parameters[end:]])
