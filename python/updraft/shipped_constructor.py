"""The parameters of constructors in `updraft.optim`, without importing torch."""

import inspect
import re
from typing import Any

from .compiled_rule import read_source
from .definition import RuleDefinition

_NAMED = inspect.Parameter.KEYWORD_ONLY
_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD


def comment(path: str) -> list[str]:
    """The paragraphs of the comment at the start of a rule's file."""
    lines = []
    for line in read_source(path).decode().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].removeprefix(" "))
    return "\n".join(lines).split("\n\n")


def is_beta(name: str) -> bool:
    """Whether a hyperparameter is one of `betas`."""
    return re.fullmatch(r"beta\d", name) is not None


def signature(definition: RuleDefinition) -> inspect.Signature:
    """The constructor's parameters. The rule's beta1, beta2, … are `betas`."""
    parameters = [inspect.Parameter("params", _ANY)]
    betas = tuple(value for name, value in definition.hypers.items() if is_beta(name))
    for name, value in definition.hypers.items():
        if not is_beta(name):
            parameters.append(inspect.Parameter(name, _ANY, default=value))
        elif all(parameter.name != "betas" for parameter in parameters):
            parameters.append(inspect.Parameter("betas", _ANY, default=betas))
    for name, value in definition.statics.items():
        parameters.append(inspect.Parameter(name, _NAMED, default=value))
    return inspect.Signature(parameters + choices("ieee"))


def choices(numerics: str) -> list[inspect.Parameter]:
    """The parameters of every class that control how its rule is compiled.

    Args:
        numerics: the default.
    """
    defaults = {
        "storage": None,
        "numerics": numerics,
        "seed": None,
        "probes": (),
        "probe_every": 1,
    }
    return [inspect.Parameter(name, _NAMED, default=value) for name, value in defaults.items()]


def bound(name: str, signature: inspect.Signature, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Returns the arguments of a class's constructor by name.

    Raises:
        TypeError: the constructor doesn't accept them.
    """
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        names = ", ".join(f"`{parameter}`" for parameter in signature.parameters)
        raise TypeError(f"{name}: {error}; it takes {names}") from None
