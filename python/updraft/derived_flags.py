"""Static flags that follow from hyperparameters: a compiled rule is for some values of these."""

import re
import string
from collections.abc import Mapping
from typing import TYPE_CHECKING

from . import _updraft
from .compiler import Rule
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .definition import RuleDefinition


def _pattern(message: str) -> str:
    """What the message of a requirement can become, with values for `{name}`."""
    pieces = string.Formatter().parse(message)
    return "".join(re.escape(text) + ("" if name is None else ".*") for text, name, *_ in pieces)


class DerivedFlags:
    """The flags of a compiled rule that were not set, and follow from hyperparameters.

    Attributes:
        hypers: the hyperparameters that they follow from, in their order.
    """

    def __init__(self, rule: Rule) -> None:
        import json

        self._rule = rule
        interface = json.loads(rule._compiled.interface)
        derived = interface.get("derived", ())
        deciding = {name for flag in derived for name in flag["from"]}
        self.hypers = [name for name in rule.hypers if name in deciding]
        self._refusals = [_pattern(interface["messages"][flag["message"]]) for flag in derived]

    def hold_for(self, values: Mapping[str, float]) -> bool:
        """Whether these values give them the values that the rule was compiled for. Whether it
        takes the values at all is another matter.
        """
        try:
            _updraft.Optimizer(self._rule._compiled, [([], [], [*values.items()])])
        except InvalidArgumentError as error:
            return not any(re.fullmatch(refusal, str(error)) for refusal in self._refusals)
        return True


def deciding_values(definition: "RuleDefinition", values: Mapping[str, float]) -> dict[str, float]:
    """Returns the hyperparameters that a rule is to be compiled with, as flags follow from them;
    those that are not the default.
    """
    return {
        name: values[name]
        for name in definition._deciding()
        if name in values and values[name] != definition.hypers[name]
    }
