"""Compares the TextMate grammar with the language, and highlights every rule with it.

usage: grammar.py SERVER GRAMMAR RULES
"""

import json
import pathlib
import re
import sys

from client import Client, equal, position

RULE = """\
rule R(lr = 1) {
  state a = 0 : f32
  update(param, grad) {
    next param = param - lr
  }
}
transform T(x = 1) {
  update(
"""
KEYWORD, FUNCTION = 14, 3  # kinds of completion items


def words_of_language(server):
    """The names that the compiler knows, from requests like an editor's."""
    with Client(server) as client:
        uri = "file:///r.upd"
        client.open(uri, RULE)

        def complete(words):
            place = position(RULE, RULE.index(words) + len(words))
            return client.ask("completion", uri, place)["items"]

        everywhere = complete("param - ")
        keywords = {item["label"] for item in everywhere if item["kind"] == KEYWORD}
        builtins = {i["label"] for i in everywhere if i.get("detail", "").startswith("built-in")}
        types = {item["label"] for item in complete("0 :")}
        inputs = {item["label"] for item in complete("{\n  update(")}
    return keywords, builtins, types, inputs


def words_in(pattern):
    return set(re.findall(r"[a-z_][a-z0-9_]*", re.sub(r"\\.|\(\?[:=<!]+", " ", pattern)))


def check_words(grammar, server):
    keywords, builtins, types, inputs = words_of_language(server)
    parts = grammar["repository"]
    patterns = [part["match"] for part in parts["keyword"]["patterns"]]
    equal(set().union(*map(words_in, patterns)), keywords)
    equal(words_in(parts["type"]["match"]), types)
    equal(words_in(parts["builtin"]["match"]), builtins)
    # `matrix` is known where the inputs are, and `numerics` everywhere.
    equal(words_in(parts["input"]["match"]), inputs | {"matrix", "numerics"})
    return keywords


class Highlighter:
    """The part of TextMate that the grammar uses: `match`, and `begin` with `end` within a line."""

    def __init__(self, grammar):
        self.repository = grammar["repository"]
        self.rules = list(self.flat(grammar["patterns"]))

    def flat(self, patterns):
        for rule in patterns:
            if "include" in rule:
                rule = self.repository[rule["include"].removeprefix("#")]
            if "patterns" in rule and "begin" not in rule:
                yield from self.flat(rule["patterns"])
            else:
                yield rule

    def line(self, text):
        """Returns the scope of every character of a line."""
        scopes, at = [""] * len(text), 0
        while at < len(text):
            found = [
                (re.compile(r.get("match", r.get("begin"))).search(text, at), r) for r in self.rules
            ]
            found = [(match, rule) for match, rule in found if match]
            if not found:
                break
            match, rule = min(found, key=lambda pair: pair[0].start())
            end = match.end()
            if "begin" in rule:
                end = self.end_of_string(text, end, rule)
            for number in range(match.start(), end):
                scopes[number] = rule.get("name", "")
            for group, capture in rule.get("captures", {}).items():
                for number in range(*match.span(int(group))):
                    scopes[number] = capture["name"]
            at = max(end, at + 1)
        return scopes

    @staticmethod
    def end_of_string(text, at, rule):
        inner = [re.compile(inside["match"]) for inside in rule["patterns"]]
        while not (match := re.compile(rule["end"]).match(text, at)):
            skipped = next(filter(None, (pattern.match(text, at) for pattern in inner)), None)
            at = skipped.end() if skipped else at + 1
        return match.end()


def check_rule(highlighter, path, keywords):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        scopes = highlighter.line(line)
        code = re.sub(r'"(\\.|[^"\\])*"', lambda match: " " * len(match[0]), line.split("//")[0])
        where = f"{path.name}:{number}"
        if "//" in line:
            start = line.index("//")
            equal((where, set(scopes[start:])), (where, {"comment.line.double-slash.upd"}))
        for match in re.finditer(r"[A-Za-z_]\w*", code):
            is_keyword = scopes[match.start()].startswith(("keyword.", "constant.language"))
            equal((where, match[0], is_keyword), (where, match[0], match[0] in keywords))
        for match in re.finditer(r"(?<![\w.])\d[\d.]*(e[+-]?\d+)?", code):
            scope = set(scopes[match.start() : match.end()])
            equal((where, match[0], scope), (where, match[0], {"constant.numeric.upd"}))
        for match in re.finditer(r'"', line.split("//")[0]):
            equal((where, scopes[match.start()]), (where, "string.quoted.double.upd"))


def main():
    server, file, rules = sys.argv[1:]
    grammar = json.loads(pathlib.Path(file).read_text())
    keywords = check_words(grammar, server)
    highlighter = Highlighter(grammar)
    for path in sorted(pathlib.Path(rules).rglob("*.upd")):
        check_rule(highlighter, path, keywords)
    scopes = highlighter.line('fn f(x) = max(g(x), param) // "no string')
    equal(scopes[3], "entity.name.function.upd")
    equal(scopes[10], "support.function.upd")
    equal(scopes[14], "entity.name.function.call.upd")
    equal(scopes[20], "variable.language.upd")
    equal(scopes[30], "comment.line.double-slash.upd")
    print("all coloured")


if __name__ == "__main__":
    main()
