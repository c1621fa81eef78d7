"""Typesets the equations in the comments of rules as LaTeX.

The notation is that of the comments: names side by side are multiplied, `/` and `*` bind alike from
left to right, a prime marks the next value, and words that aren't names of the rule are prose. Two
blanks separate an equation from the next one or from a remark.
"""

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:e-?\d+)?)"
    r"|(?P<code>`[^`]*`)"
    r'|(?P<string>"[^"]*")'
    r"|(?P<ordinal>-(?:th|nd|st|rd)\b)"
    r"|(?P<word>[A-Za-z]+(?:-[A-Za-z]{2,})+(?![\w(])|[A-Za-z]{2,}'s\b)"
    r"|(?P<name>[A-Za-z]\w*)"
    r"|(?P<operator><=|>=|!=|[-+*/^'(),;:=|<>_.])"
    r"|(?P<dots>…)"
)
_EQUATION = re.compile(r"[A-Za-z][\w']*(\^-\d)?(, [A-Za-z][\w']*)* +=(?!=)")
_FUNCTIONS = {
    "max": r"\max",
    "min": r"\min",
    "exp": r"\exp",
    "log": r"\log",
    "tr": r"\operatorname{tr}",
}
_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "eta", "mu", "nu", "pi", "rho", "kappa",
}  # fmt: skip
_SPELLED = {"eps": r"\epsilon", "lambd": r"\lambda", "inf": r"\infty"}
_RELATIONS = {"=": "=", "<=": r"\le", ">=": r"\ge", "!=": r"\ne", "<": "<", ">": ">"}


class NotationError(ValueError):
    """An equation that isn't in the notation."""


def _letter(part: str) -> str:
    if part in _SPELLED:
        return _SPELLED[part]
    if part in _GREEK:
        return "\\" + part
    return part if len(part) == 1 else rf"\mathit{{{part}}}"


def name_in_latex(name: str) -> str:
    """Returns the LaTeX of a name: `beta1` is β with the index 1, and `weight_decay` one word.

    >>> name_in_latex("beta1"), name_in_latex("Q_L"), name_in_latex("rho_inf")
    ('\\\\beta_{1}', 'Q_{L}', '\\\\rho_{\\\\infty}')
    >>> name_in_latex("weight_decay")
    '\\\\mathit{weight\\\\_decay}'
    """
    numbered = re.fullmatch(r"([A-Za-z]+)(\d+)", name)
    if numbered and (len(numbered[1]) == 1 or numbered[1] in _GREEK | _SPELLED.keys()):
        return f"{_letter(numbered[1])}_{{{numbered[2]}}}"
    indexed = re.fullmatch(r"([A-Za-z]+)_([A-Za-z]+)", name)
    if indexed and (len(indexed[1]) == 1 or indexed[1] in _GREEK | _SPELLED.keys()):
        return f"{_letter(indexed[1])}_{{{_letter(indexed[2])}}}"
    return _letter(name) if name.isalpha() else rf"\mathit{{{name}}}".replace("_", r"\_")


class _Text(str):
    """Prose, as opposed to an operand."""


class _Reader:
    """Reads one row of an equation."""

    def __init__(self, text: str, names: frozenset[str]) -> None:
        self.text = text
        self.names = names
        self.tokens: list[tuple[str, str, bool, bool]] = []
        end = 0
        for match in _TOKEN.finditer(text):
            if text[end : match.start()].strip():
                raise NotationError(f"`{text[end : match.start()].strip()}` in `{text}`")
            follows = text[match.end() : match.end() + 1]
            self.tokens.append(
                (match.lastgroup or "", match[0], match.start() > end, follows in ("", " "))
            )
            end = match.end()
        if text[end:].strip():
            raise NotationError(f"`{text[end:].strip()}` in `{text}`")
        self.at = 0
        self.in_norm = False

    def peek(self, offset: int = 0) -> tuple[str, str, bool, bool]:
        index = self.at + offset
        return self.tokens[index] if index < len(self.tokens) else ("end", "", False, True)

    def take(self, value: str) -> None:
        if self.peek()[1] != value:
            raise NotationError(f"expected `{value}` before `{self.peek()[1]}` in `{self.text}`")
        self.at += 1

    def is_call(self, offset: int = 0) -> bool:
        kind, value, _, _ = self.peek(offset)
        after = self.peek(offset + 1)
        return kind == "name" and len(value) > 1 and after[1] == "(" and not after[2]

    def is_prose(self, offset: int = 0) -> bool:
        kind, value, _, _ = self.peek(offset)
        if kind in ("code", "string", "ordinal", "word", "dots"):
            return True
        if kind != "name" or self.is_call(offset):
            return False
        if value in ("a", "I") and offset == 0 and self.at > 0:
            before = self.tokens[self.at - 1]
            article = before[0] == "name" and before[1] not in self.names and len(before[1]) > 1
            return article and self.peek(1)[0] == "name" and len(self.peek(1)[1]) > 1
        if self.peek(offset + 1)[1] in ("*", "/", "^") or (
            self.at + offset > 0 and self.tokens[self.at + offset - 1][1] in ("*", "/")
        ):
            return False
        return (
            len(value) > 1
            and value not in self.names
            and not re.fullmatch(r"[A-Za-z]\d+|[A-Za-z]_(\w+)?|(mu|rho)_\w*", value)
        )

    def starts_factor(self) -> bool:
        kind, value, spaced, before_space = self.peek()
        if kind != "operator":
            return kind != "end"
        if value == "(":
            return True
        if value == "|":
            return not self.in_norm
        return value == "<" and spaced and not before_space

    def row(self, closing: str = "") -> str:
        """Relations, separated by punctuation, up to a closing token."""
        pieces = [self.relation()]
        while self.peek()[1] in (",", ";", ":", ".") and self.peek()[0] == "operator":
            mark = self.peek()[1]
            self.at += 1
            pieces.append(("." if mark == "." else mark) + r"\;")
            if self.peek()[0] != "end" and self.peek()[1] not in (closing, ",", ";"):
                pieces.append(self.relation())
        return " ".join(pieces)

    def relation(self) -> str:
        pieces = [self.sum()]
        while self.peek()[1] in _RELATIONS and self.peek()[0] == "operator":
            if closing_product(self):
                break
            pieces.append(_RELATIONS[self.peek()[1]])
            self.at += 1
            pieces.append(self.sum())
        return " ".join(pieces)

    def sum(self) -> str:
        pieces = []
        if self.peek()[1] in ("-", "+"):
            pieces.append(self.peek()[1])
            self.at += 1
        pieces.append(self.term())
        while self.peek()[1] in ("+", "-") and self.peek()[0] == "operator":
            pieces.append(self.peek()[1])
            self.at += 1
            # `or -` and the like end an operand in prose.
            pieces.append(self.term())
        return " ".join(pieces)

    def term(self) -> str:
        product: list[str] = [self.factor()]
        while True:
            if self.peek()[1] == "/":
                self.at += 1
                if isinstance(product[-1], _Text):
                    raise NotationError(f"prose is divided in `{self.text}`")
                below = self.factor()
                cut = max(
                    (i + 1 for i, it in enumerate(product) if isinstance(it, _Text)), default=0
                )
                # A fraction at the beginning stays beside the new one.
                while cut < len(product) - 1 and product[cut].startswith(r"\dfrac"):
                    cut += 1
                above = _joined(_bare(product[cut:]))
                product = [*product[:cut], rf"\dfrac{{{above}}}{{{_joined(_bare([below]))}}}"]
            elif self.peek()[1] == "*":
                self.at += 1
                product.append(r"\cdot")
                product.append(self.factor())
            elif self.starts_factor():
                product.append(self.factor())
            else:
                return _joined(product)

    def factor(self) -> str:
        if self.is_prose():
            return self.prose()
        base = self.atom()
        while self.peek()[0] == "operator":
            value = self.peek()[1]
            if value == "'" and not self.peek()[2]:
                self.at += 1
                base += "'"
            elif value == "^":
                self.at += 1
                base = (
                    f"{base}^{{{self.script()}}}"
                    if "'" not in base[-1:]
                    else (f"{base[:-1]}^{{\\prime\\,{self.script()}}}")
                )
            elif value == "_" and not self.peek()[2]:
                self.at += 1
                base = f"{base}_{{{self.script()}}}"
            else:
                break
        return base

    def script(self) -> str:
        sign = ""
        if self.peek()[1] == "-":
            self.at += 1
            sign = "-"
        if self.peek()[1] == "(":
            self.at += 1
            before, self.in_norm = self.in_norm, False
            inside = self.text_of_script()
            self.in_norm = before
            return sign + inside
        return sign + self.atom()

    def text_of_script(self) -> str:
        """The inside of a script in parentheses. Fractions are on one line there."""
        pieces = []
        while self.peek()[1] != ")":
            if self.peek()[0] == "end":
                raise NotationError(f"expected `)` at the end of `{self.text}`")
            if self.peek()[1] in ("/", "-", "+", ","):
                pieces.append(self.peek()[1])
                self.at += 1
            else:
                pieces.append(self.factor())
        self.at += 1
        return _joined(pieces)

    def prose(self) -> str:
        words = []
        while self.is_prose():
            kind, value, spaced, _ = self.peek()
            self.at += 1
            if kind == "code":
                text = rf"\texttt{{{_escaped(value[1:-1])}}}"
            elif kind == "dots":
                text = r"\dots"
            else:
                text = rf"\text{{{_escaped(value)}}}"
            words.append(("\\ " if words and spaced else "") + text)
        return _Text(rf"\;{''.join(words)}\;")

    def atom(self) -> str:
        kind, value, _, _ = self.peek()
        if self.is_call():
            return self.call()
        self.at += 1
        if kind == "number":
            digits, _, power = value.partition("e")
            return rf"{digits} \cdot 10^{{{power}}}".removeprefix(r"1 \cdot ") if power else value
        if kind == "name":
            if value.endswith("_"):
                return f"{_letter(value[:-1])}_{{{self.script()}}}"
            return name_in_latex(value)
        if value == "(":
            before, self.in_norm = self.in_norm, False
            inside = self.row(")")
            self.in_norm = before
            self.take(")")
            return rf"\left({inside}\right)"
        if value == "|":
            self.in_norm = True
            inside = self.sum()
            self.take("|")
            self.in_norm = False
            return rf"\left\lvert {inside} \right\rvert"
        if value == "<":
            inside = self.row(">")
            self.take(">")
            return rf"\left\langle {inside} \right\rangle"
        raise NotationError(f"unexpected `{value or 'end'}` in `{self.text}`")

    def call(self) -> str:
        name = self.peek()[1]
        self.at += 2
        before, self.in_norm = self.in_norm, False
        inside = self.row(")")
        self.in_norm = before
        self.take(")")
        if name == "sqrt":
            return rf"\sqrt{{{inside}}}"
        function = _FUNCTIONS.get(name, rf"\operatorname{{{_escaped(name)}}}")
        return rf"{function}\left({inside}\right)"


def closing_product(reader: _Reader) -> bool:
    """Whether a `>` closes an inner product: a relation has blanks on both sides."""
    _, value, spaced, _ = reader.peek()
    return value == ">" and not spaced


def _escaped(text: str) -> str:
    return re.sub(r"([_%&#$])", r"\\\1", text)


def _bare(pieces: list[str]) -> list[str]:
    """Removes the parentheses around a numerator or denominator that is one group."""
    if len(pieces) == 1 and re.fullmatch(r"\\left\((.*)\\right\)", pieces[0]):
        inside = pieces[0][len(r"\left(") : -len(r"\right)")]
        depth = 0
        for mark in re.findall(r"\\left|\\right", inside):
            depth += 1 if mark == r"\left" else -1
            if depth < 0:
                return pieces
        return [inside] if depth == 0 else pieces
    return pieces


def _joined(pieces: Iterable[str]) -> str:
    return (
        r" \, ".join(pieces)
        .replace(r"\; \, ", r"\; ")
        .replace(r" \, \;", r" \;")
        .replace(r" \, \cdot \, ", r" \cdot ")
    )


def _joined_quotations(lines: Iterable[str]) -> list[str]:
    """Joins lines between which a quotation goes on."""
    result: list[str] = []
    for line in lines:
        if result and result[-1].count('"') % 2:
            result[-1] += " " + line.strip()
        else:
            result.append(line)
    return result


def _cells(line: str) -> list[str]:
    """Splits a line at two or more blanks, except beside operators."""
    cells: list[str] = []
    for cell in re.split(r"\s{2,}", re.sub(r"\s+=(?!=)\s*", " = ", line.strip())):
        if cells and (cell[0] in "+-" or cells[-1][-1] in "+-*/=") and not cells[-1].endswith("`"):
            cells[-1] += " " + cell
        else:
            cells.append(cell)
    return cells


def _latex(cell: str, names: frozenset[str]) -> str:
    reader = _Reader(cell, names)
    latex = reader.row()
    if reader.peek()[0] != "end":
        raise NotationError(f"unexpected `{reader.peek()[1]}` in `{cell}`")
    # Prose has its own space, but not before punctuation.
    return re.sub(r"\\; +([,;:.])", r"\1", latex.replace(r"\;\;", r"\;"))


def is_equation_block(paragraph: str) -> bool:
    """Whether all lines of a paragraph are indented."""
    return all(line.startswith("  ") for line in paragraph.splitlines())


def typeset(paragraph: str, hypers: Iterable[str]) -> str:
    """Returns an indented paragraph of a rule's comment as one aligned block of LaTeX.

    Args:
        paragraph: lines in the notation.
        hypers: the names of the rule's hyperparameters and flags.

    Raises:
        NotationError: a line isn't in the notation.

    >>> typeset("  p' = p - lr g", ["lr"])
    "\\\\begin{aligned}\\np' &= p - \\\\mathit{lr} \\\\, g\\n\\\\end{aligned}"
    """
    lines = [_cells(line) for line in _joined_quotations(paragraph.splitlines())]
    names = set(hypers) | {"ratio", "rate"}
    for cell in (cell for cells in lines for cell in cells):
        if equation := _EQUATION.match(cell):
            names |= set(re.findall(r"[A-Za-z]\w*", equation[0]))
    known = frozenset(names)
    rows: list[str] = []
    for cells in lines:
        beginning = True
        for cell in cells:
            latex = _latex(cell, known)
            if _EQUATION.match(cell):
                rows.append(latex.replace("=", "&=", 1))
            elif beginning and cell.endswith(":"):
                rows.append(f"& {latex}")
            elif beginning:
                rows.append(rf"&\phantom{{{{}}={{}}}} {latex}")
            else:
                rows[-1] += rf" \quad {latex}"
            beginning = False
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"
