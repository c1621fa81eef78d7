"""How a rule uses its parameters, from the description beside its code."""

import math
from collections.abc import Sequence

from ..compiled_rule import CompiledRule


class RuleInterface:
    """The parts of a rule's description that determine which parameters it can step.

    Attributes:
        element_states: the names of the states of single elements.
        group_states: the names of the states of a whole group.
        square_states: the names of the states that are square matrices.
        by_rows: whether the rule depends on rows, columns or batches.
        in_order: whether the order of elements in memory matters: for a rule by rows, or with
            states in blocks.
        reduces: whether an element's update depends on other elements or their number.
        by_group: whether it depends on elements of other parameters of the group.
        row_states: the names of the states of single rows.
        steps_rows: whether the rule is by elements, or keeps a state for each row and none for more
            than a row. Then a step can update some rows.
    """

    def __init__(self, rule: CompiledRule) -> None:
        compiled = rule._compiled
        extents = compiled.state_extents
        self.element_states = {name for name, over in extents.items() if over == "element"}
        self.group_states = {name for name, over in extents.items() if over == "group"}
        squares = ("rows_by_rows", "columns_by_columns")
        self.square_states = {name for name, over in extents.items() if over in squares}
        self._squares = [extents[name] for name in self.square_states]
        self.by_rows = compiled.uses_rows
        self.in_order = self.by_rows or len(rule.stored_states) > len(rule.states)
        self.reduces = self.by_rows or compiled.depends_on != "element"
        self.by_group = compiled.depends_on == "group"
        self.row_states = {name for name, over in extents.items() if over == "row"}
        ends_in_rows = self.row_states and extents.keys() == self.row_states | self.element_states
        self.steps_rows = not self.reduces or bool(self.by_rows and ends_in_rows)

    def square_elements(self, shape: Sequence[int]) -> int:
        """The number of elements in the square matrices of a parameter."""
        if len(shape) < 2:
            return 0
        *batches, rows, columns = shape
        sides = (rows if over == "rows_by_rows" else columns for over in self._squares)
        return math.prod(batches) * sum(side * side for side in sides)
