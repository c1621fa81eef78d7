"""How a rule uses its parameters, from the description beside its code."""

import json

from ..compiled_rule import CompiledRule


class RuleInterface:
    """The parts of a rule's description that determine which parameters it can step.

    Attributes:
        element_states: the names of the states of single elements.
        group_states: the names of the states of a whole group.
        by_rows: whether the rule depends on rows, columns or batches.
        in_order: whether the order of elements in memory matters: by rows, or for states in blocks.
        reduces: whether an element's update depends on other elements or their number.
        by_group: whether it depends on elements of other parameters of the group.
    """

    def __init__(self, rule: CompiledRule) -> None:
        contents = json.loads(rule._compiled.interface)
        passes = [step for plan in contents["plans"] for step in plan["sequence"] if "pass" in step]
        places = {state["name"]: state.get("over", "element") for state in contents["states"]}
        self.element_states = {name for name, over in places.items() if over == "element"}
        self.group_states = {name for name, over in places.items() if over == "group"}
        self.by_rows = not {"row", "column"}.isdisjoint(places.values()) or any(
            step["loop"] != "flat" for step in passes
        )
        self.in_order = self.by_rows or len(rule.stored_states) > len(rule.states)
        depends_on = contents.get("depends_on", "element")
        self.reduces = self.by_rows or depends_on != "element"
        self.by_group = depends_on == "group"
