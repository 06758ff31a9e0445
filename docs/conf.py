"""The documentation as a site: `make docs` builds it into site/, offline, and refuses a broken link.

Sphinx reads the Markdown of this folder as it is. Two things are made here, so that a new page or a
new public name needs no line of its own: the order of pages, and the reference of public names.
"""

import importlib
import re
from pathlib import Path

import sfumato

project = "Sfumato"
author = "The Sfumato authors"
copyright = author  # noqa: A001 - Sphinx calls it so
version = release = sfumato.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["*.py"]
html_theme = "furo"
html_title = "Sfumato"
html_copy_source = False
html_show_sphinx = False
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, model_config",
}
# Types in annotations are names of modules that are loaded when used; docstrings are plain prose.
suppress_warnings = ["autodoc", "docutils", "ref.python"]

DOCS = Path(__file__).parent
PARTS = {
    "Tutorials": ("tutorial", "first-release"),
    "Walk-throughs": ("walkthroughs", "arx-user"),
    "How-to": ("how-to", "recipes"),
    "Explanation": ("explanation", "definitions"),
    "Mechanisms": ("mechanisms", "index"),
    "Reference": ("reference", "command-line"),
}
ROOMS = {
    "sfumato": "At the top",
    "sfumato.dp": "Differential privacy",
    "sfumato.local": "Local differential privacy",
    "sfumato.attack": "Attacks",
    "sfumato.audit": "Checks",
    "sfumato.govern": "Ledger and spending",
    "sfumato.testing": "Conformance kits",
}


BESIDE = ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")
"""Pages that lie beside docs/ and belong to the site."""
SHOWN = set()
"""What stands on a page already: a name that two rooms offer is shown once."""


def contents():
    """Return the order of pages: a folder per purpose, the page to begin with first."""
    for title, (folder, first) in PARTS.items():
        pages = sorted(file.stem for file in (DOCS / folder).glob("*.md"))
        pages.sort(key=lambda page, first=first: page != first)
        names = [f"{folder}/{page}" for page in pages]
        if folder == "reference":
            names += [f"names/{page}" for page in BESIDE]
            names += [f"names/{room.replace('.', '-')}" for room in ROOMS]
        yield "\n".join(
            ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```", ""]
        )


def names(room, title):
    """Return the page that shows the docstring of every public name of a room."""
    module = importlib.import_module(room)
    yield f"# {title}\n\nThe names of `{room}`.\n"
    for name, place in sorted(module._HOME.items()):
        home = f"{place if place.startswith('sfumato.') else f'{room}.{place}'}.{name}"
        if home in SHOWN:
            continue
        SHOWN.add(home)
        value = getattr(module, name)
        kind = "class" if isinstance(value, type) else "function" if callable(value) else "data"
        options = "   :members:\n" if kind == "class" else ""
        yield f"\n## {name}\n\n```{{eval-rst}}\n.. auto{kind}:: {home}\n{options}```\n"


def adapt_page(app, docname, source):
    """Append the order of pages to the first page; point links between docs/ and its parent at pages."""
    if docname == "index":
        source[0] += "".join(contents())
    beside = "|".join(BESIDE)
    source[0] = re.sub(rf"\]\((?:\.\./)+({beside})\.md", r"](/names/\1.md", source[0])
    if docname in {f"names/{page}" for page in BESIDE}:
        source[0] = source[0].replace("](docs/", "](/")


def write_names(app):
    """Write the reference of public names where Sphinx finds it; git ignores that folder."""
    folder = DOCS / "names"
    folder.mkdir(exist_ok=True)
    SHOWN.clear()
    for room, title in reversed(ROOMS.items()):  # the top offers what the rooms define
        text = "".join(names(room, title))
        path = folder / f"{room.replace('.', '-')}.md"
        write(path, text)
    for page in BESIDE:
        write(folder / f"{page}.md", (DOCS.parent / f"{page}.md").read_text("utf-8"))


def write(path, text):
    """Write a page if it is another one than before, so that Sphinx reads only what changed."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app):
    """Register both with Sphinx."""
    app.connect("builder-inited", write_names)
    app.connect("source-read", adapt_page)
