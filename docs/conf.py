"""The documentation site: ``make docs`` builds it into build/docs, ``make test-docs`` tries it."""

import re
import sys
from pathlib import Path

import odsymnmf

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # order.py
# Pages that the scripts of recipes/ and gallery/ make, to be copied into the site as they are.
MADE_PAGES = HERE / "made" / "pages"
MADE_PAGES.mkdir(parents=True, exist_ok=True)

project = "odsymnmf"
author = "The odsymnmf developers"
copyright = author
release = odsymnmf.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
# `name` in a docstring leads to its page, if it has one.
default_role = "py:obj"
# A block of code that does not name its language is a command or a formula.
highlight_language = "none"
exclude_patterns = ["recipes/*.rst", "gallery/*.rst", "tests", "made/pages"]

html_theme = "furo"
html_title = "odsymnmf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["made/pages"]
html_copy_source = False
# A search that shows pieces of the pages needs a server; the site can be read from the disk.
html_show_search_summary = False
templates_path = ["_templates"]

# Headings can be linked to, as on GitHub; pages are the Markdown files where they are.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

# The public names of a module are those of its __all__, wherever they come from.
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# Every public function says what goes in and what comes out. Classes other than the estimators are
# not made by users: they list their attributes instead.
numpydoc_validation_checks = {"GL03", "GL08", "PR01", "PR02", "PR10", "RT01", "SS01"}
numpydoc_validation_exclude = {r"\.(?!ODSymNMF)[A-Z]\w*(\.\w+)?$"}

sphinx_gallery_conf = {
    "examples_dirs": ["recipes", "gallery"],
    "gallery_dirs": ["made/recipes", "made/gallery"],
    "filename_pattern": "/",
    "within_subsection_order": "order.position",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "notebook_extensions": set(),
    "min_reported_time": 600,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "copyfile_regex": "",
    "write_computation_times": False,
    "reference_url": {},
}

# Files above docs/ that pages link to -> the pages that show them here.
OUTSIDE = {
    "SECURITY.md": "project/security.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}


def links_from_outside(app, docname, source):
    """Let links to files of the repository's first folder lead to their pages of the site."""
    up = "../" * docname.count("/")
    for name, page in OUTSIDE.items():
        source[0] = re.sub(rf"\]\((?:\.\./)+{re.escape(name)}", f"]({up}{page}", source[0])


# Examples and anything between backquotes stay as they are.
VERBATIM = re.compile(r"(^ *>>> .*?(?:\n *\n|\Z)|``.+?``|`[^`]+`)", re.DOTALL | re.MULTILINE)


def plain_formulas(app, what, name, thing, options, lines):
    """Let |x|, h_i . h_j and membership_ mean themselves: docstrings are written for help()."""
    parts = VERBATIM.split("\n".join(lines))
    for k in range(0, len(parts), 2):
        escaped = re.sub(r"(?<!\\)\||(?<=\w)_(?!\w)", r"\\\g<0>", parts[k])
        # A dot between blanks would end the first sentence, the summary in tables.
        parts[k] = re.sub(r"(?<=\S) \. (?=\S)", " · ", escaped)
    lines[:] = "".join(parts).split("\n")


def setup(app):
    app.connect("source-read", links_from_outside)
    # After numpydoc has made sections of the docstring.
    app.connect("autodoc-process-docstring", plain_formulas, priority=900)
