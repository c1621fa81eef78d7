"""Sphinx's configuration for the documentation site. `tools/docs` runs Sphinx with it."""

import hashlib
import html
import inspect
import pathlib

import docstrings
import lexers
from docutils import nodes

import updraft
from updraft import optim
from updraft.shipped import path_of
from updraft.shipped_constructor import comment

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(updraft.__file__).parent

project = "Updraft"
author = "The Updraft authors"
copyright = author
version = release = updraft.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
root_doc = "index"
nitpicky = False
templates_path: list[str] = []

myst_enable_extensions = ["colon_fence", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
myst_links_external_new_tab = False

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
add_module_names = False

html_theme = "furo"
html_title = f"Updraft {version}"
html_static_path = [str(HERE / "static")]
html_favicon = str(HERE / "static" / "icon.svg")
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5cad",
        "color-brand-content": "#0b5cad",
        "plot-rule": "#0b5cad",
        "plot-peer": "#b4500f",
        "plot-axis": "#8a8a8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cb2f7",
        "color-brand-content": "#6cb2f7",
        "plot-rule": "#6cb2f7",
        "plot-peer": "#f0a060",
        "plot-axis": "#8a8a8a",
    },
}
html_math_renderer = "katex"
pygments_style = "tango"
pygments_dark_style = "github-dark"


def _inline_math(translator, node):
    # Not as text, which results of a search would show.
    translator.body.append(f'<span class="math" data-tex="{html.escape(node.astext())}"></span>')
    raise nodes.SkipNode


def _display_math(translator, node):
    translator.body.append(f'<div class="math" data-tex="{html.escape(node.astext())}"></div>\n')
    raise nodes.SkipNode


def _add_katex(app, pagename, templatename, context, doctree):
    """Pages without mathematics don't load it."""
    if doctree and any(doctree.findall(lambda it: isinstance(it, nodes.math | nodes.math_block))):
        app.add_css_file("katex/katex.min.css")
        app.add_js_file("katex/katex.js")
        app.add_js_file("math.js")


def _convert_docstring(app, what, name, obj, options, lines):
    if what == "data" and obj.__doc__ == type(obj).__doc__:
        # The docstring of the type says nothing about the value.
        lines[:] = []
    module, _, rule = name.rpartition(".")
    if module == "updraft.optim" and rule in updraft.shipped_rules():
        lines[:] = docstrings.without_comment(lines, comment(path_of(rule)))
    lines[:] = docstrings.converted(lines)


def _own_constructor(app, what, name, obj, options, signature, returned):
    """The constructors of `updraft.optim`, whose parameters are those of the rule or of torch."""
    if what == "class" and name.startswith("updraft.optim.") and hasattr(optim, obj.__name__):
        return str(inspect.signature(obj)).replace("<no value>", "..."), returned
    return None


def _own_sources():
    """A digest of the code here and of the package. If it changes, Sphinx reads all pages again."""
    sources = [*sorted(HERE.glob("*.py")), *sorted(PACKAGE.rglob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def setup(app):
    app.add_config_value("own_sources", _own_sources(), "env")
    app.add_html_math_renderer(
        "katex",
        inline_renderers=(_inline_math, None),
        block_renderers=(_display_math, None),
    )
    app.connect("html-page-context", _add_katex)
    app.connect("autodoc-process-docstring", _convert_docstring)
    app.connect("autodoc-process-signature", _own_constructor)
    app.add_lexer("upd", lexers.RuleLexer)
    app.add_lexer("mlir", lexers.MLIRLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
