"""The options of a rule: hyperparameters and static flags, as entries of parameter groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..definition import RuleDefinition
from ..shipped_constructor import is_beta
from .correspondence import Correspondence, Group, Place, same_names


def _static(name: str) -> Place:
    return lambda group, dtype: group.get(name)


@dataclass(frozen=True)
class RuleOptions:
    """How parameter groups hold the options of a rule.

    Attributes:
        rule: the definition of the rule.
        places: the place of each hyperparameter in a group.
        defaults: the entries of a group, with defaults.
    """

    rule: RuleDefinition
    places: Mapping[str, Place]
    defaults: Mapping[str, Any]

    @staticmethod
    def as_in_rule(rule: RuleDefinition) -> "RuleOptions":
        """Returns options with the names that the rule has."""
        return RuleOptions(rule, same_names(*rule.hypers), rule.hypers | rule.statics)

    @staticmethod
    def with_betas(rule: RuleDefinition) -> "RuleOptions":
        """Returns options in which the rule's beta1, beta2, … are `betas`, as in `torch.optim`."""
        betas = [name for name in rule.hypers if is_beta(name)]
        places: dict[str, Place] = {}
        defaults: Group = {}
        for name, value in rule.hypers.items():
            if name in betas:
                places[name] = ("betas", betas.index(name), len(betas))
                defaults["betas"] = (*defaults.get("betas", ()), value)
            else:
                places[name] = name
                defaults[name] = value
        return RuleOptions(rule, places, defaults | rule.statics)

    @property
    def correspondence(self) -> Correspondence:
        """The correspondence, before choices of numerics and storage."""
        return Correspondence(
            rule=self.rule,
            hypers=self.places,
            # A flag that a group doesn't set may be derived from the hyperparameters.
            settings={name: _static(name) for name in self.rule.statics},
            states=None,
            sparse=None,
        )
