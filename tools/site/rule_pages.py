"""A page for each shipped rule, and one for the transforms."""

import hashlib
import json
import pathlib
import re

import behaviour
import equations

import updraft
from updraft import _updraft
from updraft.errors import UpdraftError
from updraft.shipped import path_of
from updraft.shipped_constructor import comment

ROOT = pathlib.Path(__file__).resolve().parents[2]

# How a rule may be stored, in the cost table.
STORAGES = {
    "all f32": {},
    "bf16 parameter and gradient, f32 states": {"param": "bf16", "grad": "bf16", "state": "f32"},
    "all bf16": {"param": "bf16", "grad": "bf16", "state": "bf16"},
    "f32, states in 8-bit blocks": {"state": "q8_linear"},
}
_EXTENTS = {
    "": "the parameter's",
    "row": "one for each row",
    "column": "one for each column",
    "row, row": "a square matrix with as many rows as the parameter",
    "column, column": "a square matrix with as many columns as the parameter",
    "batch": "one for each matrix",
    "tensor": "one for each parameter",
    "group": "one for the parameter group",
}


def prose(text: str, names: list[str]) -> str:
    """A paragraph of a comment as Markdown. Names that aren't also words become code."""
    clear = {name for name in names if re.search(r"_|\d", name)} | {"lr", "eps"} & {*names}

    def piece(match: re.Match[str]) -> str:
        found = match[0]
        if found.startswith("`"):
            return found
        if found in clear or re.fullmatch(r"torch(\.\w+)+", found):
            return f"`{found}`"
        return re.sub(r"([*<_\[\]$])", r"\\\1", found)

    return re.sub(r"`[^`]*`|torch(?:\.\w+)+|\w+|[^\w`]", piece, text)


def described(paragraphs: list[str], names: list[str]) -> str:
    """The paragraphs of a comment, with its equations typeset."""
    pieces = []
    for paragraph in paragraphs:
        if equations.is_equation_block(paragraph):
            pieces.append(f"```{{math}}\n{equations.typeset(paragraph, names)}\n```")
        else:
            pieces.append(prose(paragraph, names))
    return "\n\n".join(pieces)


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else json.dumps(value).replace("|", "\\|")


def _requirements(source: str) -> list[str]:
    found = re.findall(r"^\s*require\s+(.*?)\s+else\s+\"", source, re.MULTILINE | re.DOTALL)
    return [" ".join(each.split()) for each in found]


def _defaults(rule: updraft.RuleDefinition, source: str) -> str:
    requirements = _requirements(source)
    rows = ["| name | default | kind | requirement |", "|---|---|---|---|"]
    for kind, values in (("hyperparameter", rule.hypers), ("static", rule.statics)):
        for name, value in values.items():
            about = [it for it in requirements if re.search(rf"\b{name}\b", it)]
            shown = ", ".join(f"`{it}`" for it in about).replace("|", "\\|")
            rows.append(f"| `{name}` | `{_number(value)}` | {kind} | {shown} |")
    return "\n".join(rows)


def _states(source: str) -> str:
    pattern = r"^  state (\w+)(?:\s+over \(?(\w+(?:, \w+)?)\)?)?[^=\n]*=\s*(.*?)(?:\s+when (.*))?$"
    rows = ["| state | shape | initial value | exists |", "|---|---|---|---|"]
    for name, extent, initial, condition in re.findall(pattern, source, re.MULTILINE):
        exists = f"with `{condition}`" if condition else "always"
        initial = initial.partition(" : ")[0]
        exists = exists.replace("||", "\\|\\|")
        rows.append(f"| `{name}` | {_EXTENTS[extent]} | `{initial}` | {exists} |")
    return "\n".join(rows) if len(rows) > 2 else "The rule has no states."


def _costs(rule: updraft.RuleDefinition) -> str:
    rows = [
        "| stored | tensors | sweeps | bytes per element | operations per element |",
        "|---|---|---|---|---|",
    ]
    explained = ""
    for title, storage in STORAGES.items():
        try:
            text = rule.explain(storage=storage)
        except UpdraftError:
            # For example, states over rows can't be stored in blocks.
            continue
        explained = explained or text.strip()
        parts = re.split(r"^(?=\w+: \d+ sweeps? over data)", text, flags=re.MULTILINE)[1:]
        for part in parts:
            kind, sweeps, moved = re.match(
                r"(\w+): (\d+) sweeps? over data, ([\d.]+) bytes", part
            ).groups()
            tensors = kind.removeprefix(rule.name).strip("_").replace("_", " ")
            tensors = tensors or ("vectors" if len(parts) > 1 else "all")
            tensors = {"matrix": "matrices"}.get(tensors, tensors)
            flops = sum(int(it) for it in re.findall(r"does +(\d+) flop/element", part))
            rows.append(f"| {title} | {tensors} | {sweeps} | {moved} | {flops} |")
    return "\n".join(rows) + f"\n\n```text\n{explained}\n```"


def _behaviour(name: str) -> str:
    scale = behaviour.scale_of_peer(name)
    key = [f"<span>{name}</span>"]
    if name != "AdamW":
        factor = "" if scale == 1 else f" &times; {scale:g}"
        key.append(f'<span class="peer">AdamW{factor}</span>')
    drawn = "\n".join(behaviour.plots(name).values())
    return (
        f'```{{raw}} html\n<p class="plot-key">{"".join(key)}</p>\n<div class="plots">\n{drawn}\n'
        "</div>\n```"
    )


def _page(name: str) -> str:
    path = path_of(name)
    file = pathlib.Path(path).name
    source = pathlib.Path(path).read_text(encoding="utf-8")
    rule = updraft.load(name)
    origin, *rest = comment(path)
    names = [*rule.hypers, *rule.statics]
    return f"""# {name}

{prose(origin, names)}

## Update

{described(rest, names)}

A prime marks the value after the step. *p* is the parameter, *g* the gradient and *t* the step
count, from 1.

## Hyperparameters

{_defaults(rule, source)}

A static argument is a constant of the compiled code; hyperparameters may change at any step.

## States

{_states(source)}

## Behaviour

The plots show how far each step moves one element of an 8 by 8 matrix, in learning rates, with the
default hyperparameters. Positive values go against the mean gradient. The gradient is constant,
noisy (the noise is twice as large as the mean), spiking (20 times as large at every 20th step), or
sparse (0 except at every 10th step).

{_behaviour(name)}

## Cost

{_costs(rule)}

[Tools](../tools.md) explains how to print this for other flags and storage types.

## In Python

```{{eval-rst}}
.. autoclass:: updraft.optim.{name}
   :no-members:
```

## Source

`rules/{file}`:

````upd
{source.rstrip()}
````
"""


def _cached(folder: pathlib.Path, name: str) -> str:
    """The page of a rule. It is made again if what it is made of has changed."""
    digest = hashlib.sha256()
    library = next(pathlib.Path(_updraft.__file__).parent.glob("libupdraft.so.*"))
    status = library.stat()
    digest.update(f"{status.st_size} {status.st_mtime_ns}".encode())
    for part in (__file__, behaviour.__file__, equations.__file__, path_of(name)):
        digest.update(pathlib.Path(part).read_bytes())
    file = folder / f"{name}.{digest.hexdigest()[:16]}.md"
    if not file.exists():
        for old in folder.glob(f"{name}.*.md"):
            old.unlink()
        file.write_text(_page(name), encoding="utf-8")
    return file.read_text(encoding="utf-8")


def transforms_page() -> str:
    sections = []
    for path in sorted((ROOT / "rules" / "transforms").glob("*.upd")):
        source = path.read_text(encoding="utf-8")
        head = re.search(r"^transform \w+(\([^)]*\))?", source, re.MULTILINE)
        names = re.findall(r"(\w+) =", head[0])
        sections.append(
            f"## {path.stem}\n\n{described(comment(str(path)), names)}\n\n"
            f"````upd\n{source[head.start() :].rstrip()}\n````\n"
        )
    return (
        "# Transforms\n\nA transform changes the gradient before a rule, or its step after it. "
        "[The language](../language.md#transforms-and-chains) describes chains such as\n"
        "`clip_by_global_norm(max_norm = 1) |> AdamW`.\n\n" + "\n".join(sections)
    )


def pages(cache: pathlib.Path) -> dict[str, str]:
    """The Markdown of each page, by its name."""
    cache.mkdir(parents=True, exist_ok=True)
    result = {}
    for name in updraft.shipped_rules():
        result[f"rules/{pathlib.Path(path_of(name)).stem}"] = _cached(cache, name)
    result["rules/transforms"] = transforms_page()
    return result
