"""Checks for steps on torch tensors: `RuleDefinition.to_torch` and `MetaOptimizer`."""

from collections.abc import Callable, Mapping
from typing import Any

from .compiled_rule import TENSORS, CompiledRule
from .errors import InvalidArgumentError

_FLOATS = ("float32", "float64", "bfloat16", "float16")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "is_sparse") and hasattr(value, "shape")


def _shape(tensor: Any) -> list[int]:
    return list(tensor.shape)


def require_containers(params: Any, grads: Any) -> None:
    """Refuses parameters and gradients that aren't in lists, or in dicts with the same names."""
    for name, given in (("params", params), ("grads", grads)):
        if not isinstance(given, list | tuple | Mapping):
            raise TypeError(
                f"`{name}` is {type(given)}; give a list of tensors, or a dict with their names"
            )
    named = isinstance(params, Mapping)
    if named != isinstance(grads, Mapping) or len(grads) != len(params):
        raise InvalidArgumentError(
            f"there are {len(params)} parameters and {len(grads)} gradients; give one for each,"
            " in a container of the same kind"
        )
    for key in params if named else ():
        if key not in grads:
            raise InvalidArgumentError(f"parameter `{key}` has no gradient; give it, or None")


def require_tensor(value: Any, what: str) -> None:
    """Requires a floating-point tensor."""
    if not _is_tensor(value):
        raise TypeError(f"{what} is {type(value)}; give a tensor")
    if str(value.dtype).removeprefix("torch.") not in _FLOATS:
        pairs = ", or pairs by `torch.view_as_real`" if value.is_complex() else ""
        raise InvalidArgumentError(f"{what} is {value.dtype}; give {', '.join(_FLOATS)}{pairs}")


def require_tensors(params: Mapping[Any, Any], grads: Mapping[Any, Any]) -> None:
    """Refuses parameters that aren't tensors, or differ from the others."""
    dtype = None
    for key, param in params.items():
        grad = grads[key]
        require_tensor(param, f"parameter `{key}`")
        if not _is_tensor(grad):
            raise TypeError(
                f"the gradient of parameter `{key}` is {type(grad)}; give a tensor, or None"
            )
        dtype = dtype or param.dtype
        if param.dtype != dtype:
            raise InvalidArgumentError(
                f"parameter `{key}` is {param.dtype}, and one before it is {dtype}; take a step of "
                "each dtype"
            )
        if grad.is_sparse:
            raise InvalidArgumentError(
                f"the gradient of parameter `{key}` is sparse; give the dense one, `to_dense()`"
            )
        if grad.shape != param.shape:
            raise InvalidArgumentError(
                f"the gradient of parameter `{key}` is {_shape(grad)}, but the parameter is "
                f"{_shape(param)}; give a tensor of the same shape"
            )
        if grad.dtype != dtype:
            raise InvalidArgumentError(
                f"the gradient of parameter `{key}` is {grad.dtype}, but the parameter is {dtype}; "
                "convert it"
            )


def require_hypers(hypers: Mapping[str, Any]) -> None:
    """Refuses hyperparameters that aren't single numbers."""
    for name, value in hypers.items():
        if _is_tensor(value):
            if value.numel() != 1:
                raise InvalidArgumentError(
                    f"hyperparameter `{name}` is a tensor of {_shape(value)}; give one number"
                )
        elif not hasattr(value, "__float__"):
            raise TypeError(
                f"hyperparameter `{name}` is {type(value)}; give a number, or a tensor of one"
            )


class StateNames:
    """The names and shapes of the states of parameters and of the group."""

    _SHAPES: Mapping[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
        "element": lambda shape: shape,
        "row": lambda shape: (*shape[:-1], 1),
        "column": lambda shape: (*shape[:-2], 1, *shape[-1:]),
        "tensor": lambda shape: (),
    }

    def __init__(self, rule: CompiledRule) -> None:
        self.rule = rule.name
        extents = rule._compiled.state_extents
        tensors = rule._compiled.state_tensors
        self.group = [name for name, over in extents.items() if over == "group"]
        self.of_class: dict[bool, dict[str, str]] = {
            is_matrix: {
                name: over
                for name, over in extents.items()
                if over != "group"
                and tensors[name]
                in (TENSORS["all"], TENSORS["matrices" if is_matrix else "vectors"])
            }
            for is_matrix in (False, True)
        }

    def _text(self, is_matrix: bool) -> str:
        return ", ".join(f"`{name}`" for name in ("step", *self.of_class[is_matrix]))

    def require(self, state: Any, params: Mapping[Any, Any]) -> None:
        """Refuses a state that can't be the result of a step with such parameters."""
        if not isinstance(state, Mapping):
            raise TypeError(
                f"`state` is {type(state)}; give what the step before returned, or None"
            )
        for name in state:
            if name not in ("params", "group"):
                raise InvalidArgumentError(
                    f"the state has the entry `{name}`; give what the step before returned, a dict "
                    "of `params` and `group`"
                )
        for name, given in state.items():
            if not isinstance(given, Mapping):
                raise TypeError(
                    f"`{name}` of the state is {type(given)}; give what the step before returned"
                )
        for key, given in state.get("params", {}).items():
            if key not in params:
                raise InvalidArgumentError(
                    f"there are states of parameter `{key}`, which is not among the parameters"
                )
            if not isinstance(given, Mapping):
                raise TypeError(
                    f"the states of parameter `{key}` are {type(given)}; give what the step before "
                    "returned"
                )
            if given:
                self._require_of(key, given, params[key])

    def _require_of(self, key: Any, given: Mapping[str, Any], param: Any) -> None:
        is_matrix = param.dim() > 1
        known = self.of_class[is_matrix]
        for name in ("step", *known):
            if name not in given:
                raise InvalidArgumentError(
                    f"parameter `{key}` lacks the state `{name}`; of the rule `{self.rule}` it has "
                    f"{self._text(is_matrix)}, or none before its first step"
                )
        for name, value in given.items():
            if name != "step" and name not in known:
                raise InvalidArgumentError(
                    f"parameter `{key}` has the state `{name}`; of the rule `{self.rule}` it has "
                    f"{self._text(is_matrix)}"
                )
            if not _is_tensor(value):
                raise TypeError(
                    f"the state `{name}` of parameter `{key}` is {type(value)}; give a tensor"
                )
            shape_of = self._SHAPES.get(known.get(name, "tensor"))
            expected = shape_of and shape_of(tuple(param.shape))
            if expected is not None and tuple(value.shape) != expected:
                raise InvalidArgumentError(
                    f"the state `{name}` of parameter `{key}` is {_shape(value)}; give one of "
                    f"{list(expected)}"
                )


def require_module(module: Any) -> None:
    """Refuses a module without parameters."""
    if not hasattr(module, "named_parameters"):
        raise TypeError(f"`module` is {type(module)}; give a `torch.nn.Module`")
    if not any(param.requires_grad for param in module.parameters()):
        raise InvalidArgumentError("no parameter of the module requires a gradient")


def require_loss(loss: Any) -> None:
    """Refuses a loss without a gradient."""
    if not _is_tensor(loss):
        raise TypeError(f"`loss` is {type(loss)}; give a tensor")
    if loss.numel() != 1:
        raise InvalidArgumentError(f"`loss` is {_shape(loss)}; give one number")
    if not loss.requires_grad:
        raise InvalidArgumentError(
            "`loss` does not depend on the parameters; call the optimizer in place of the module"
        )
