"""Colours rules and MLIR in code blocks."""

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

from updraft.tracing.names import KEYWORDS, RESERVED


class RuleLexer(RegexLexer):
    """The language of rules."""

    name = "Updraft rule"
    aliases = ("upd",)
    tokens = {  # noqa: RUF012
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r'"(?:\\.|[^"\\\n])*"?', String),
            (r"(?:\b[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\b", Number),
            (words(sorted(KEYWORDS), r"\b", r"\b"), Keyword),
            (words(sorted(RESERVED), r"\b", r"\b"), Name.Builtin),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"\|>|[<>=!]=|&&|\|\||[-+*/^<>=!]", Operator),
            (r"[(){}\[\],;:]", Punctuation),
            (r"\s+", Text),
            (r".", Text),
        ]
    }


class MLIRLexer(RegexLexer):
    """The textual form of MLIR."""

    name = "MLIR"
    aliases = ("mlir",)
    tokens = {  # noqa: RUF012
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r'"(?:\\.|[^"\\\n])*"?', String),
            (r"[%][\w$.-]+(?:[:#]\d+)?", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"[!#][\w$.-]+", Keyword.Type),
            (r"\b(?:[fi]\d+|bf16|index|none|tensor|memref|vector)\b", Keyword.Type),
            (r"-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b|\b0x[0-9A-Fa-f]+\b", Number),
            (r"[A-Za-z_]\w*\.[\w.]+", Keyword),
            (r"[A-Za-z_]\w*", Name),
            (r"->|::|[-+*/<>=?]", Operator),
            (r"[(){}\[\],;:|&]", Punctuation),
            (r"\s+", Text),
            (r".", Text),
        ]
    }
