"""What a class of `updraft.optim` has from a rule of the package, known without torch."""

import inspect
import re

from .compiled_rule import read_source
from .definition import RuleDefinition

_NAMED = inspect.Parameter.KEYWORD_ONLY
_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD


def comment(path: str) -> list[str]:
    """The paragraphs of the comment that a rule's file begins with."""
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
    """The constructor's parameters: what the rule calls beta1, beta2, … is `betas`."""
    parameters = [inspect.Parameter("params", _ANY)]
    betas = tuple(value for name, value in definition.hypers.items() if is_beta(name))
    for name, value in definition.hypers.items():
        if not is_beta(name):
            parameters.append(inspect.Parameter(name, _ANY, default=value))
        elif all(parameter.name != "betas" for parameter in parameters):
            parameters.append(inspect.Parameter("betas", _ANY, default=betas))
    for name, value in definition.statics.items():
        parameters.append(inspect.Parameter(name, _NAMED, default=value))
    parameters.append(inspect.Parameter("storage", _NAMED, default=None))
    parameters.append(inspect.Parameter("numerics", _NAMED, default="ieee"))
    parameters.append(inspect.Parameter("seed", _NAMED, default=None))
    return inspect.Signature(parameters)
