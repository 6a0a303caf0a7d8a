"""Options for texts, and tf-idf weights of texts."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import Share, plain

if TYPE_CHECKING:
    from odsymnmf.io import Dataset

# With fewer texts, rare and frequent words are kept.
MANY = 50
# Default options.
DEFAULTS: dict[str, Any] = {"stop_words": "english", "min_df": 3, "max_df": 0.5, "ngrams": 1}
# As scikit-learn: two or more letters or digits.
WORD = re.compile(r"\b\w\w+\b")

COLUMN = click.option(
    "--text-column",
    metavar="NAME",
    help="The column that holds the texts, in a csv, tsv or JSON lines file.",
)
LINES = click.option("--lines", is_flag=True, help="Every line of the file is a separate text.")
OPTIONS = [
    click.option(
        "--text",
        is_flag=True,
        help="INPUT holds texts: a folder or several files, one text each; or a csv, tsv or JSON "
        "lines file with a column of texts.",
    ),
    COLUMN,
    LINES,
    click.option(
        "--stop-words",
        type=click.Path(),
        metavar="english|none|FILE",
        show_default="english",
        help="Words to ignore: common English words, none, or those in FILE.",
    ),
    click.option(
        "--min-df",
        type=Share(),
        show_default=f"3, with fewer than {MANY} texts 1",
        help="Ignore words that occur in fewer texts: a number of texts, or a share such as 0.01.",
    ),
    click.option(
        "--max-df",
        type=Share(),
        show_default=f"0.5, with fewer than {MANY} texts 1.0",
        help="Ignore words that occur in more texts: a number of texts, or a share such as 0.5.",
    ),
    click.option(
        "--ngrams",
        type=click.IntRange(1, 5),
        show_default="1",
        help="Also use phrases of up to this many words.",
    ),
]


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for texts to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class TextOptions:
    """The options for texts; None where an option is not given."""

    text: bool
    text_column: str | None
    lines: bool
    stop_words: str | None
    min_df: float | None
    max_df: float | None
    ngrams: int | None

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> "TextOptions | None":
        """Remove the options for texts from the parameters; None if INPUT is not text."""
        options = cls(**{name: parameters.pop(name) for name in cls.__dataclass_fields__})
        refuse_both(options.text_column, options.lines)
        if options.text or options.lines or options.text_column is not None:
            return options
        for name in DEFAULTS:
            if getattr(options, name) is not None:
                option = "--" + name.replace("_", "-")
                raise click.UsageError(f"{option} applies to texts; add --text")
        return None

    def settings(self, n_texts: int) -> dict[str, Any]:
        """Return the settings for this number of texts."""
        few = {"min_df": 1, "max_df": 1.0} if n_texts < MANY else {}
        given = {name: getattr(self, name) for name in DEFAULTS}
        return {**DEFAULTS, **few, **{name: x for name, x in given.items() if x is not None}}

    def form(self) -> dict[str, Any]:
        """Return how the file of texts was to be read, for `odsymnmf predict`."""
        if self.lines:
            return {"lines": True}
        return {} if self.text_column is None else {"text_column": self.text_column}


def refuse_both(text_column: str | None, lines: bool) -> None:
    """Raise UsageError if both options are given."""
    if text_column is not None and lines:
        raise click.UsageError("--text-column and --lines exclude each other; use one of them")


def read_texts(paths: Sequence[str], options: TextOptions) -> tuple["Dataset", dict[str, Any]]:
    """Return texts x words, and the settings that were used."""
    from odsymnmf import io

    names, texts = io.read_texts(paths, text_column=options.text_column, lines=options.lines)
    if len(names) < 2:
        remedy = "if every line is a text, use --lines; else give at least two texts, to compare"
        raise io.InputError(f"{names[0]}: one text only; {remedy}")
    names = printable_names(names)
    used = options.settings(len(texts))
    X, terms = _tfidf(texts, used)
    messages = _without_words([names[i] for i in (X.getnnz(axis=1) == 0).nonzero()[0]])
    data = io.Dataset(X, names, "text", messages, feature_names=terms)
    return data, {**options.form(), **used}


def _tfidf(texts: list[str], used: dict[str, Any]) -> tuple[Any, list[str]]:
    """Return tf-idf weights and their words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from odsymnmf import io

    count = TfidfVectorizer(
        stop_words=_stop_words(used["stop_words"]),
        min_df=used["min_df"],
        max_df=used["max_df"],
        ngram_range=(1, used["ngrams"]),
        sublinear_tf=True,
    )
    try:
        X = count.fit_transform(texts)
    except ValueError as error:
        if not any(WORD.search(text) for text in texts):
            problem = f"the {len(texts)} texts contain no words of two or more letters"
        else:
            problem = (
                f"no word of the {len(texts)} texts is left; use a smaller --min-df, a "
                "larger --max-df, or --stop-words none"
            )
        raise io.InputError(problem) from error
    return X, list(count.get_feature_names_out())


def printable_names(names: Sequence[str]) -> list[str]:
    """Return names of files with invalid UTF-8 replaced."""
    return [os.fsencode(name).decode("utf-8", "replace") for name in names]


def features_of(data: "Dataset") -> tuple[list[str] | None, Any]:
    """Return the names of the features and, of words, their inverse document frequencies."""
    import numpy as np

    if data.feature_names is None or data.format != "text":
        return data.feature_names, None
    # As in TfidfVectorizer; every word occurs in a text.
    n, occurrences = data.matrix.shape[0], data.matrix.getnnz(axis=0)
    return data.feature_names, np.log((n + 1.0) / (occurrences + 1.0)) + 1.0


def tfidf_of_model(texts: list[str], terms: list[str], idf: Any) -> Any:
    """Return tf-idf weights of new texts, with the words and frequencies of a model.

    Words that the model does not know do not count. For phrases, the usual English stop words are
    left out before if the model has none of them.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    longest = max(term.count(" ") + 1 for term in terms)
    count = TfidfVectorizer(
        vocabulary=terms,
        ngram_range=(1, longest),
        stop_words=None if ENGLISH_STOP_WORDS & {*terms} else "english",
        sublinear_tf=True,
    )
    count.idf_ = idf
    return count.transform(texts)


def _stop_words(choice: str) -> str | list[str] | None:
    if choice in ("english", "none"):
        return None if choice == "none" else choice
    from odsymnmf import io

    _, lines = io.read_texts([choice], lines=True)
    return sorted({word for line in lines for word in WORD.findall(line.lower())})


def _without_words(names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(repr(plain(name)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    hold = "1 text holds" if len(names) == 1 else f"{len(names)} texts hold"
    return [f"{hold} none of the words that are used, and will be in no cluster: {shown}{more}"]
