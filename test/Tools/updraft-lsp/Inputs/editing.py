"""The features that a user sees while writing a rule.

usage: editing.py SERVER FOLDER
"""

import pathlib
import sys

from client import Client, at, equal, position, text_of, uri_of

LIBRARY = """\
// Moves old to new.
fn ema(old, new, beta) = beta * old + (1 - beta) * new
"""

RULE = """\
import "library.upd"

// The root of the mean square; "🙂 é" has characters of all lengths.
fn rms(m) {
  let scaled = m / 2
  return sqrt(square(scaled)) /* é */
}

// A rule.
rule Tested(lr = 1e-3, beta = 0.9, static nested = false)
  require lr >= 0 else "🙂 bad: {lr}"
{
  // How far it went.
  state average = 0 : bf16 when nested
  state other   = lr

  update(param, grad, step) {
    let mean = ema(other, grad, beta)
    let rate = lr / (1 - beta ^ step)
    let big = mean > 0 && rate > 0

    next other = lerp(mean, grad, 0.5)
    next param = param - rate * rms(mean)
  }
}
""".replace(" /* é */", "")


def hover_text(client, uri, place):
    hover = client.ask("hover", uri, place)
    return hover and hover["contents"]["value"]


def check_diagnostics(client, uri):
    equal(client.open(uri, RULE), [])
    broken = RULE.replace("mean > 0 &&", '"🙂" == "🙂" && meen > 0 &&')
    (only,) = client.open(uri, broken)
    equal(only["message"], "unknown name `meen`; did you mean `mean`?")
    equal((only["severity"], only["source"]), (1, "updraft"))
    equal(text_of(broken, only["range"]), "meen")

    twice = RULE.replace("let big", "let mean")
    (only,) = client.open(uri, twice)
    equal(only["message"], "`mean` is declared twice; choose another name")
    (note,) = only["relatedInformation"]
    equal(note["message"], "`mean` is declared here")
    equal(note["location"]["uri"], uri)
    equal(note["location"]["range"]["start"], at(twice, "let mean = ema", 4))

    # An error inside a called function is reported at the call.
    called = RULE.replace("m / 2", "if m then 1 else 2")
    (only,) = client.open(uri, called)
    equal(only["message"], "a condition must be a bool, found a tensor")
    equal([note["message"] for note in only["relatedInformation"]], ["in this call of `rms`"])

    equal(client.open(uri, RULE), [])


def check_imports(client, uri, library):
    # For an import that is open, the editor's text counts.
    equal(
        client.open(library, LIBRARY.replace("beta * old", "beta * odl")),
        [
            {
                "message": "unknown name `odl`; did you mean `old`?",
                "range": {
                    "start": {"line": 1, "character": 32},
                    "end": {"line": 1, "character": 35},
                },
                "severity": 1,
                "source": "updraft",
            }
        ],
    )
    client.ask("documentSymbol", uri)
    found = client.diagnostics[uri][0]
    equal(found["message"], "unknown name `odl`; did you mean `old`?")
    equal(text_of(RULE, found["range"]), '"library.upd"')
    equal(found["relatedInformation"][0]["location"]["uri"], library)
    equal(client.open(library, LIBRARY), [])
    client.ask("documentSymbol", uri)
    equal(client.diagnostics[uri], [])
    client.notify("textDocument/didClose", textDocument={"uri": library})


def declared(code, text, comment=""):
    """The hover text of a declaration."""
    return f"```upd\n{code}\n```\n{text}" + (f"\n\n```text\n{comment}\n```" if comment else "")


def check_hover(client, uri):
    rate = declared("let rate = lr / (1 - beta ^ step)", "value of `Tested`: a scalar")
    lr = declared("lr = 1e-3", "hyperparameter of `Tested`: a scalar")
    for words, within, expected in [
        ("let rate", 4, rate),
        ("rate > 0", 0, rate),
        ("lr / (1", 1, lr),
        ("{lr}", 1, lr),
        (
            "let mean",
            4,
            declared("let mean = ema(other, grad, beta)", "value of `Tested`: a tensor"),
        ),
        (
            "let big",
            4,
            declared("let big = mean > 0 && rate > 0", "value of `Tested`: a bool tensor"),
        ),
        ("when nested", 6, declared("static nested = false", "static flag of `Tested`: a bool")),
        ("next other", 5, declared("state other = lr", "state of `Tested`: a tensor")),
        ("(scaled)", 1, declared("let scaled = m / 2", "value of `rms`: a tensor")),
        (
            "state average",
            6,
            declared(
                "state average = 0 : bf16 when nested",
                "state of `Tested`: a tensor",
                "How far it went.",
            ),
        ),
        (
            "ema(",
            0,
            declared(
                "fn ema(old, new, beta) = beta * old + (1 - beta) * new",
                "function of `library.upd`; here it gives a tensor",
                "Moves old to new.",
            ),
        ),
        (
            "lerp(",
            0,
            declared(
                'fn lerp(a, b, w) = if numerics == "torch" then nearer_lerp(a, b, rounded(w)) '
                "else a + w * (b - a)",
                "function of the standard library; here it gives a tensor",
                "From a to b: a where w is 0.",
            ),
        ),
        (
            "rms(mean)",
            0,
            declared(
                "fn rms(m)",
                "function; here it gives a tensor",
                'The root of the mean square; "🙂 é" has characters of all lengths.',
            ),
        ),
        (
            "rule Tested",
            5,
            declared(
                "rule Tested(lr = 1e-3, beta = 0.9, static nested = false)", "rule", "A rule."
            ),
        ),
        ("sqrt(", 0, "`sqrt`: built-in function of 1 number; here it gives a tensor"),
        ("m / 2", 2, "a tensor"),
        ("beta ^ step", 5, "a scalar"),
        ("&& rate", 0, "a bool tensor"),
        ("// A rule", 4, None),
        ("update", 0, None),
    ]:
        equal(hover_text(client, uri, at(RULE, words, within)), expected)


def check_definition(client, uri, library):
    def go(words, within=0):
        (found,) = client.ask("definition", uri, at(RULE, words, within))
        return found["uri"], found["range"]["start"]

    equal(go("rate * rms"), (uri, at(RULE, "let rate", 4)))
    equal(go("rms(mean)"), (uri, at(RULE, "fn rms", 3)))
    equal(go("(scaled)", 1), (uri, at(RULE, "let scaled", 4)))
    equal(go("m / 2"), (uri, at(RULE, "rms(m) {", 4)))
    equal(go("next other", 5), (uri, at(RULE, "state other", 6)))
    equal(go("param - rate"), (uri, at(RULE, "update(param", 7)))
    equal(go("lr / (1"), (uri, at(RULE, "Tested(lr", 7)))
    equal(go("{lr}", 1), (uri, at(RULE, "Tested(lr", 7)))
    equal(go("let big", 5), (uri, at(RULE, "let big", 4)))
    equal(go("ema("), (library, at(LIBRARY, "ema")))
    equal(go('"library.upd"', 3), (library, {"line": 0, "character": 0}))
    equal(client.ask("definition", uri, at(RULE, "sqrt(")), [])

    # Definitions in the standard library are shown in a copy on the disk.
    copy, place = go("lerp(")
    path = pathlib.Path(copy.removeprefix("file://"))
    line = path.read_text().splitlines()[place["line"]]
    assert line[place["character"] :].startswith("lerp(a, b, w) ="), line
    equal(go("square(")[0].rsplit("/", 1)[1], "elementary.upd")


def check_completion(client, uri):
    def labels(text, place):
        client.open(uri, text)
        return {item["label"]: item for item in client.ask("completion", uri, place)["items"]}

    def complete(old, new):
        """The completions at the `|` of `new`, which replaces `old`."""
        assert RULE.count(old) == 1, old
        text = RULE.replace(old, new)
        return labels(text.replace("|", ""), position(text, text.index("|")))

    # Half a statement: names before it are known.
    found = complete("let big", "let half = me|\n    let big")
    assert {"mean", "rate", "lr", "beta", "nested", "other", "average", "grad", "ema"} <= set(found)
    assert {"sqrt", "lerp", "rms", "if"} <= set(found)
    assert not {"half", "big", "scaled"} & set(found)
    equal(found["mean"]["detail"], "value, a tensor")
    equal(found["lerp"]["detail"], "lerp(a, b, w)")
    equal(found["lerp"]["documentation"]["value"], "From a to b: a where w is 0.\n")
    # The parameters of an unfinished function, without names of a rule.
    found = complete("m / 2", "m / |")
    assert "m" in found and not {"lr", "scaled"} & set(found)
    # Positions that only allow some names.
    equal(set(complete("next other", "next |")), {"param", "average", "other"})
    found = complete(": bf16", ": |")
    assert {"f32", "f64", "bf16", "f16"} <= set(found) and "lr" not in found
    found = complete("update(param, grad, step)", "update(param, |)")
    assert {"param", "grad", "step", "first"} <= set(found) and "lr" not in found
    equal(complete("let big", "let |"), {})
    equal(complete("// A rule.", "// A ru|"), {})
    equal(complete("{lr}", "{l|"), {})
    found = labels("ru", position("ru", 2))
    assert {"rule", "fn", "import"} <= set(found) and "sqrt" not in found
    client.open(uri, RULE)


CHAIN = """\
rule Plain(lr = 0.1) {
  update(param, grad) {
    next param = param - lr * grad
  }
}

// Half of it.
transform halved(factor = 0.5) {
  update(grad) {
    next grad = factor * grad
  }
}

rule Both = halved(factor = 0.25) |> Plain
"""


def check_chains(client, uri):
    equal(client.open(uri, CHAIN), [])
    equal(
        hover_text(client, uri, at(CHAIN, "halved(factor = 0.25)")),
        "```upd\ntransform halved(factor = 0.5)\n```\ntransform\n\n```text\nHalf of it.\n```",
    )
    equal(
        hover_text(client, uri, at(CHAIN, "factor = 0.25")),
        "```upd\nfactor = 0.5\n```\nhyperparameter of `halved`: a scalar",
    )
    (found,) = client.ask("definition", uri, at(CHAIN, "|> Plain", 4))
    equal(found["range"]["start"], at(CHAIN, "Plain(lr"))
    found = client.ask("documentSymbol", uri)
    equal([symbol["name"] for symbol in found], ["Plain", "halved", "Both"])
    text = CHAIN.replace("|> Plain", "|> ")
    client.open(uri, text)
    found = client.ask("completion", uri, at(text, "|> ", 3))["items"]
    labels = {item["label"]: item["detail"] for item in found}
    equal((labels["Plain"], labels["halved"]), ("rule", "transform"))
    equal(labels["clip_by_value"], "transform")
    assert "lr" not in labels
    text = CHAIN.replace("|> Plain", "|> clip_by_value(bound = 2) |> Plain")
    equal(client.open(uri, text), [])
    shown = hover_text(client, uri, at(text, "clip_by_value"))
    head = "```upd\ntransform clip_by_value(bound = 1)\n```\ntransform of the standard library\n"
    assert shown.startswith(head), shown
    shown = hover_text(client, uri, at(text, "bound = 2"))
    equal(shown, declared("bound = 1", "hyperparameter of `clip_by_value`"))
    (found,) = client.ask("definition", uri, at(text, "clip_by_value"))
    equal(found["uri"].rsplit("/", 1)[1], "clip_by_value.upd")
    client.open(uri, RULE)


def check_symbols(client, uri):
    rms, tested = client.ask("documentSymbol", uri)
    equal((rms["name"], rms["kind"]), ("rms", 12))
    equal([child["name"] for child in rms["children"]], ["m", "scaled"])
    equal((tested["name"], tested["detail"]), ("Tested", "rule"))
    equal(
        [(child["name"], child["detail"]) for child in tested["children"]],
        [
            ("lr", "a scalar"),
            ("beta", "a scalar"),
            ("nested", "a bool"),
            ("average", "a tensor"),
            ("other", "a tensor"),
            ("mean", "a tensor"),
            ("rate", "a scalar"),
            ("big", "a bool tensor"),
        ],
    )
    equal(tested["range"]["end"], position(RULE, len(RULE) - 1))
    equal(tested["selectionRange"]["start"], at(RULE, "Tested"))


def check_formatting(client, uri):
    equal(client.ask("formatting", uri), [])
    client.open(uri, RULE.replace("let rate = ", "let   rate="))
    (edit,) = client.ask("formatting", uri)
    equal(edit["newText"], RULE)
    equal(edit["range"]["start"], {"line": 0, "character": 0})
    equal(edit["range"]["end"], {"line": RULE.count("\n"), "character": 0})
    client.open(uri, RULE.replace("let rate = ", "let rate + "))
    equal(client.ask("formatting", uri), [])
    client.open(uri, RULE)


def main():
    server, folder = sys.argv[1:]
    pathlib.Path(folder, "library.upd").write_text(LIBRARY)
    uri, library = uri_of(f"{folder}/tested.upd"), uri_of(f"{folder}/library.upd")
    with Client(server) as client:
        equal(client.capabilities["positionEncoding"], "utf-16")
        check_diagnostics(client, uri)
        check_hover(client, uri)
        check_definition(client, uri, library)
        check_completion(client, uri)
        check_symbols(client, uri)
        check_chains(client, uri)
        check_formatting(client, uri)
        check_imports(client, uri, library)
    print("all as expected")


if __name__ == "__main__":
    main()
