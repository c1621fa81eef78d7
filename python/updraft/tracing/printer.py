"""Prints a trace as text of the language, with the locations that its parts come from."""

from typing import NoReturn

from .messages import error
from .names import RESERVED, Namespace
from .places import Place
from .source import Source
from .trace import Body, Trace
from .values import Value, text_literal

# Operator precedence, as in docs/language.md.
_SUM, _PRODUCT, _PREFIX, _POWER, _OPERAND = 4, 5, 6, 7, 8
_PRECEDENCE = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 3),
    "+": _SUM,
    "-": _SUM,
    "*": _PRODUCT,
    "/": _PRODUCT,
    "@": _PRODUCT,
    "^": _POWER,
}
# Names of values that no variable names.
_WORDS = {
    "+": "total",
    "-": "difference",
    "*": "product",
    "/": "quotient",
    "@": "product",
    "^": "power",
}

# Deeper expressions get intermediate names; the language allows 64 levels.
_MAX_DEPTH = 24
# The compiler refuses longer texts.
_MAX_TEXT = 1 << 16

_PRODUCTS = frozenset(
    {
        *("@", "almost_orthogonal", "bf16_newton_schulz", "bf16_product", "cholesky"),
        "coupled_newton_root",
        *("diagonal", "eigenvalues", "eigenvectors", "f16_newton_schulz", "f16_product"),
        *("gather_columns", "gather_rows", "gram"),
        *(
            "gram_newton_schulz",
            "identity",
            "inverse_fourth_root",
            "largest",
            "leading_eigenvectors",
            "newton_schulz",
            "qr",
            "scale_columns",
            "scatter_columns",
        ),
        *("scatter_rows", "solve_lower", "solve_upper", "sort_columns", "sort_rows"),
        *("symmetric_product", "trace", "transpose"),
    }
)
# Each call of these functions returns different numbers.
_DRAWS = frozenset({"normal", "random"})
# Values that exist only for matrices, or only for vectors.
_MATRIX, _VECTOR = 1, 2


class _Text:
    def __init__(self, place: Place | None) -> None:
        self.place = place
        self.pieces: list[str] = []
        self.length = 0
        self.spans: list[tuple[int, int, Place]] = []

    def add(self, piece: str, place: Place | None = None) -> None:
        begin = self.length
        self.pieces.append(piece)
        self.length += len(piece.encode())
        if self.length > _MAX_TEXT:
            raise error(f"the traced rule has more than {_MAX_TEXT} bytes of text", self.place)
        self.mark(begin, place)

    def mark(self, begin: int, place: Place | None) -> None:
        if place is not None and self.length > begin:
            self.spans.append((begin, self.length, place))


def _is_lone(value: Value) -> bool:
    return not value.operands and value.kind != "call"


def _is_draw(value: Value) -> bool:
    return value.kind == "call" and value.text in _DRAWS


def _needs(value: Value, trace: Trace, known: dict[Value, int]) -> int:
    """Whether a value exists only for matrices, or only for vectors."""
    if value.kind == "name":
        state = trace.states.get(value.text)
        return 0 if state is None or state.when is None else _side(state.when)
    if value.kind == "call" and value.text.startswith(("row", "column", "batch")):
        return _MATRIX
    if value.kind in ("binary", "call") and value.text in _PRODUCTS:
        return _MATRIX
    if value.kind == "if":
        condition, then, other = value.operands
        side = _side(condition)
        opposite = (_MATRIX | _VECTOR) & ~side if side else 0
        return known[condition] | known[then] & ~side | known[other] & ~opposite
    needs = 0
    for operand in value.operands:
        needs |= known[operand]
    return needs


def _side(condition: Value) -> int:
    if condition.kind == "name" and condition.text == "matrix":
        return _MATRIX
    if condition.kind == "unary" and condition.text == "!":
        inner = condition.operands[0]
        return _VECTOR if _side(inner) == _MATRIX else _MATRIX if _side(inner) else 0
    return 0


class Printer:
    """Chooses the values that get a name, and prints."""

    def __init__(self, trace: Trace, hypers: dict[str, str], places: dict[str, Place]) -> None:
        self.trace = trace
        self.hypers = hypers
        self.places = places
        # The place of the function's name.
        self.place = places.get("")
        self.text = _Text(self.place)
        self.names: dict[Value, str] = {}

    def _live(self, roots: list[Value]) -> list[Value]:
        """All values that these depend on, operands first."""
        live: dict[int, Value] = {}
        self.uses: dict[Value, int] = {}
        stack = list(roots)
        for root in roots:
            self.uses[root] = self.uses.get(root, 0) + 1
        while stack:
            value = stack.pop()
            if value.order in live:
                continue
            live[value.order] = value
            for operand in value.operands:
                self.uses[operand] = self.uses.get(operand, 0) + 1
                stack.append(operand)
        return [live[order] for order in sorted(live)]

    def _check_draws(self) -> None:
        """Refuses random numbers that the text would draw twice.

        An initial value is a text of its own. It shares no names with the functions, and repeats
        the text of a value that it uses twice.
        """
        drawn: set[Value] = set()
        for state in self.trace.states.values():
            random: dict[Value, None] = {}  # in order, so that messages name the same line always
            for value in self._live([state.initial]):
                if _is_draw(value) or any(operand in random for operand in value.operands):
                    random[value] = None
            for value in random:
                if value in drawn or self.uses[value] > 1:
                    self._refuse_draw(value, state.place)
            drawn.update(random)
        for body in self.trace.bodies:
            draws = [value for value in self._live(body.roots()) if _is_draw(value)]
            for value in draws:
                if value in drawn:
                    self._refuse_draw(value, None)
            drawn.update(draws)

    def _refuse_draw(self, value: Value, place: Place | None) -> NoReturn:
        raise error(
            "the rule would draw this random number twice; initial values and the rule's functions "
            "can't share one: keep it in a state, and use the state",
            value.place or place or self.place,
        )

    def _check_needs(self, body: Body, needs: dict[Value, int]) -> None:
        """Refuses values that only matrices have if the parameter may be a vector."""
        roots = [(condition.value, 0) for condition in body.conditions]
        roots += [(value, 0) for value in body.results.values()]
        roots += [(value, 0) for value, _ in body.probes.values()]
        for name, (value, _) in body.nexts.items():
            when = self.trace.states[name].when
            roots.append((value, 0 if when is None else _side(when)))
        for root, side in roots:
            if needs[root] & ~side:
                self._refuse(root, needs[root] & ~side, needs)

    def _refuse(self, value: Value, needs: int, known: dict[Value, int]) -> NoReturn:
        """Reports the operand that exists only for matrices or only for vectors."""
        place = value.place or self.place
        while inner := [operand for operand in value.operands if known[operand] & needs]:
            value = inner[0]
            place = value.place or place
        side, holds = ("matrices", "matrix") if needs & _MATRIX else ("vectors", "~matrix")
        what = (
            f"the state `{value.text}` exists for {side} only"
            if value.kind == "name"
            else f"`{value.text}` needs the rows and columns of a matrix"
        )
        raise error(
            f"{what}; use it where `{holds}` holds, as in `updraft.lang.where({holds}, a, b)`",
            place,
        )

    def _name_values(self, live: list[Value], names: Namespace) -> list[Value]:
        """Chooses the values to declare with `let`."""
        depths: dict[Value, int] = {}
        lets = []
        for value in live:
            depth = 1 + max((depths[operand] for operand in value.operands), default=0)
            if not _is_lone(value) and (
                value.name is not None or self.uses[value] > 1 or depth > _MAX_DEPTH
            ):
                word = value.text if value.kind == "call" else _WORDS.get(value.text, "value")
                wish = value.name or value.state or word
                self.names[value] = names.unique(wish)
                lets.append(value)
                depth = 1
            depths[value] = depth
        return lets

    def print(self, name: str, comment: str | None) -> Source:
        """Prints the whole rule."""
        add, trace = self.text.add, self.trace
        for line in (comment or "").splitlines():
            clean = "".join(c if c.isprintable() else " " for c in line).rstrip()
            add(("// " + clean).rstrip() + "\n")
        begin = self.text.length
        add("transform " if trace.is_transform else "rule ")
        add(name, self.place)
        add("(")
        for index, (hyper, default) in enumerate(self.hypers.items()):
            add(", " if index else "")
            start = self.text.length
            add(hyper)
            add(" = " + default)
            self.text.mark(start, self.places.get(hyper))
        add(")\n")
        self._requirements()
        add("{\n")
        self._check_draws()
        self._states()
        for body in trace.bodies:
            self._body(body)
        add("}\n")
        self.text.mark(begin, self.place)
        return Source("".join(self.text.pieces).encode(), self.text.spans)

    def _body(self, body: Body) -> None:
        live = self._live(body.roots())
        needs: dict[Value, int] = {}
        for value in live:
            needs[value] = _needs(value, self.trace, needs)
        self._check_needs(body, needs)
        self.names.clear()
        lets = self._name_values(
            live, Namespace(RESERVED | self.hypers.keys(), set(self.trace.states))
        )
        used = {value.text for value in live if value.kind == "name"}
        # A transform that lists `new_param` runs after the rule, even if it doesn't use
        # `new_param`.
        inputs = [name for name in body.inputs if name in used or name == "new_param"]
        self.text.add(body.keyword + "(")
        for index, name in enumerate(name for name in inputs if name != "matrix"):
            self.text.add(", " if index else "")
            self.text.add(name, self.places.get(name))
        self.text.add(") {\n")
        for value in lets:
            self._let(value, needs[value])
        self.text.add("\n" if lets else "")
        self._statements(body)
        self.text.add("}\n")

    def _requirements(self) -> None:
        for condition in self.trace.requirements:
            begin = self.text.length
            self.text.add("  require ")
            self._whole(condition.value)
            self.text.add(f" else {text_literal(condition.message)}\n", None)
            self.text.mark(begin, condition.place)

    def _states(self) -> None:
        for state in self.trace.states.values():
            begin = self.text.length
            self.text.add("state " + state.name)
            if state.over is not None:
                self.text.add(" over " + state.over)
            self.text.add(" = ")
            self._whole(state.initial)
            if state.storage is not None:
                self.text.add(" : " + state.storage)
            if state.when is not None:
                self.text.add(" when ")
                self._whole(state.when)
            self.text.mark(begin, state.place)
            self.text.add("\n")

    def _let(self, value: Value, needs: int) -> None:
        begin = self.text.length
        self.text.add(f"let {self.names[value]} = ")
        name = self.names.pop(value)
        # Values that only matrices have are computed only for them.
        other = "false" if value.is_bool else "0"
        if needs == _MATRIX:
            self.text.add("if matrix then ")
            self._expression(value)
            self.text.add(" else " + other)
        elif needs == _VECTOR:
            self.text.add(f"if matrix then {other} else ")
            self._expression(value)
        else:
            self._expression(value)
        self.names[value] = name
        self.text.mark(begin, value.place)
        self.text.add("\n")

    def _statements(self, body: Body) -> None:
        for condition in body.conditions:
            self._statement(condition.keyword + " when ", condition.value, condition.place)
        for name, (value, place) in body.probes.items():
            self._statement(f"probe {name} = ", value, place)
        # In the order in which the states are declared.
        for state in self.trace.states.values():
            if state.name in body.nexts:
                value, place = body.nexts[state.name]
                self._statement(f"next {state.name} = ", value, place, state.when)
        for result, value in body.results.items():
            self._statement(f"next {result} = ", value, value.place)

    def _statement(
        self, begin: str, value: Value, place: Place | None, when: Value | None = None
    ) -> None:
        start = self.text.length
        self.text.add(begin)
        self._expression(value)
        if when is not None:
            self.text.add(" when ")
            self._whole(when)
        self.text.mark(start, place)
        self.text.add("\n")

    def _whole(self, value: Value) -> None:
        """Prints a value that is used before any name is declared."""
        self._expression(value, named=False)

    def _expression(self, value: Value, least: int = 0, *, named: bool = True) -> None:
        """Prints a value, in parentheses if its precedence is lower than `least`."""
        if named and value in self.names:
            self.text.add(self.names[value])
            return
        precedence = _precedence(value)
        begin = self.text.length
        if precedence < least:
            self.text.add("(")
        if value.kind == "name" and value.trace is not self.trace:
            raise error(
                f"the value `{value.text}` belongs to another call; a rule uses its own arguments",
                self.place,
            )
        if value.kind in ("name", "number", "bool", "text", "list"):
            self.text.add(value.text)
        elif value.kind == "unary":
            self.text.add(value.text)
            self._expression(value.operands[0], _PREFIX, named=named)
        elif value.kind == "binary":
            left, right = value.operands
            # Operators are left-associative, except powers. Comparisons can't be chained.
            is_power, is_comparison = value.text == "^", precedence == 3
            self._expression(
                left,
                _OPERAND if is_power else precedence + 1 if is_comparison else precedence,
                named=named,
            )
            self.text.add(f" {value.text} ")
            self._expression(right, _PREFIX if is_power else precedence + 1, named=named)
        elif value.kind == "if":
            condition, then, other = value.operands
            self.text.add("if ")
            self._expression(condition, 1, named=named)
            self.text.add(" then ")
            self._expression(then, 1, named=named)
            self.text.add(" else ")
            self._expression(other, named=named)
        else:
            self.text.add(value.text + "(")
            for index, argument in enumerate(value.operands):
                self.text.add(", " if index else "")
                self._expression(argument, named=named)
            self.text.add(")")
        if precedence < least:
            self.text.add(")")
        self.text.mark(begin, value.place)


def _precedence(value: Value) -> int:
    if value.kind == "binary":
        return _PRECEDENCE[value.text]
    if value.kind == "if":
        return 0
    if value.kind == "unary" or (value.kind == "number" and value.text.startswith("-")):
        return _PRODUCT if "/" in value.text else _PREFIX
    # Infinity is printed as a quotient.
    return _PRODUCT if value.kind == "number" and "/" in value.text else _OPERAND
