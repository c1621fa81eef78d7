"""Pages of the Python package's interface, which Sphinx fills from docstrings."""

import importlib
import inspect

from updraft.shipped import path_of, shipped_rules

MODULES = {
    "updraft": "Compiling rules and applying them to arrays",
    "updraft.optim": "Optimizers of PyTorch",
    "updraft.lang": "Functions of the language, for rules in Python",
    "updraft.distributed": "Calls and gradients across processes",
    "updraft.distributed.optim": "Optimizers of distributed training",
    "updraft.distributed.grpc": "A client of parameter servers",
}


def _names(module) -> list[str]:
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    )
    return [name for name in dict.fromkeys(own) if not name.startswith("_")]


def _directive(module, name: str) -> str:
    value = getattr(module, name)
    if inspect.ismodule(value):
        return ""
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        return f".. auto{kind}:: {module.__name__}.{name}\n   :members:\n"
    kind = "function" if callable(value) else "data"
    return f".. auto{kind}:: {module.__name__}.{name}\n"


def _page(name: str, title: str) -> str:
    module = importlib.import_module(name)
    rules = shipped_rules() if name == "updraft.optim" else []
    directives = [_directive(module, each) for each in sorted(_names(module)) if each not in rules]
    text = (
        f"# `{name}`\n\n{title}.\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :no-members:\n```\n"
    )
    if rules:
        text += "\n## Classes of the shipped rules\n\nTheir pages describe the arguments.\n\n"
        links = (f"[`{rule}`](/rules/{path_of(rule).rpartition('/')[2][:-4]}.md)" for rule in rules)
        text += ", ".join(links) + "\n"
        text += "\n## Other classes and functions\n"
    return text + "\n```{eval-rst}\n" + "\n".join(filter(None, directives)) + "```\n"


def pages() -> dict[str, str]:
    """The Markdown of each page, by its name."""
    result = {f"api/{name}": _page(name, title) for name, title in MODULES.items()}
    rows = "\n".join(f"| [`{name}`]({name}.md) | {title} |" for name, title in MODULES.items())
    names = "\n".join(MODULES)
    result["api/python"] = (
        "# Python API\n\nGenerated from the docstrings. "
        "[Python](/python.md) introduces the package.\n"
        "[Transforms](/rules/transforms.md) lists the functions of `updraft.transforms`.\n\n"
        f"| module | contents |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )
    return result
