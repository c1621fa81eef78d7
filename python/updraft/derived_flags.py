"""Static flags derived from hyperparameters, which limit the values for a compiled rule."""

from collections.abc import Mapping

from .compiled_rule import CompiledRule
from .errors import InvalidArgumentError


def require_allowed(rule: CompiledRule, values: Mapping[str, float]) -> None:
    """Refuses hyperparameters that the rule doesn't allow.

    Raises:
        InvalidArgumentError: one is NaN, breaks a requirement, or gives a flag another value than
            the rule was compiled for.
    """
    rule._compiled.check_hypers([*values.items()])


class DerivedFlags:
    """The flags of a compiled rule that were not set but derived from hyperparameters.

    Attributes:
        hypers: the hyperparameters that the flags are derived from, in order.
    """

    def __init__(self, rule: CompiledRule) -> None:
        self._rule = rule
        self.hypers = rule._compiled.deciding_hypers

    def require(self, values: Mapping[str, float]) -> None:
        """Refuses values that need another compiled rule. Checks only the hyperparameters that a
        flag is derived from, and ignores others in `values`.

        Raises:
            InvalidArgumentError: a flag has another value, or the rule refuses a hyperparameter
                that a flag is derived from. Either way, there is no code for these values.
        """
        if self.hypers:
            require_allowed(self._rule, {name: values[name] for name in self.hypers})

    def hold_for(self, values: Mapping[str, float]) -> bool:
        """Whether `require` accepts these values."""
        try:
            self.require(values)
        except InvalidArgumentError:
            return False
        return True
