"""Texts for the command cluster: its options, and from texts to weights of words."""

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import FilePath, Share
from odsymnmf.cli.text import plain

if TYPE_CHECKING:
    from odsymnmf.io import Items

# With fewer texts, rare and frequent words are kept: there are too few to tell.
MANY = 50
# What the options are if nothing is said; measured in benchmarks/texts.py.
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
        type=FilePath(),
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
    """Give a command the options that are about texts."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True)
class Words:
    """What was said about texts; None where nothing was."""

    text: bool
    text_column: str | None
    lines: bool
    stop_words: str | None
    min_df: float | None
    max_df: float | None
    ngrams: int | None

    @classmethod
    def of(cls, parameters: dict[str, Any]) -> "Words | None":
        """Take the options about texts out of all; None if INPUT holds no texts."""
        said = cls(**{name: parameters.pop(name) for name in cls.__dataclass_fields__})
        refuse_both(said.text_column, said.lines)
        if said.text or said.lines or said.text_column is not None:
            return said
        for name in DEFAULTS:
            if getattr(said, name) is not None:
                option = "--" + name.replace("_", "-")
                raise click.UsageError(f"{option} applies to texts; add --text")
        return None

    def settings(self, n_texts: int) -> dict[str, Any]:
        """Return what holds for so many texts."""
        few = {"min_df": 1, "max_df": 1.0} if n_texts < MANY else {}
        said = {name: getattr(self, name) for name in DEFAULTS}
        return {**DEFAULTS, **few, **{name: x for name, x in said.items() if x is not None}}

    def form(self) -> dict[str, Any]:
        """Return how the file of texts was to be read, for `odsymnmf predict`."""
        if self.lines:
            return {"lines": True}
        return {} if self.text_column is None else {"text_column": self.text_column}


def refuse_both(text_column: str | None, lines: bool) -> None:
    """Refuse two ways to read one file."""
    if text_column is not None and lines:
        raise click.UsageError("--text-column and --lines exclude each other; use one of them")


def read_words(paths: Sequence[str], words: Words) -> tuple["Items", str, dict[str, Any]]:
    """Return texts x words, the SHA-256 of what was read, and the settings that were used."""
    from odsymnmf import io

    names, texts = io.read_texts(paths, column=words.text_column, lines=words.lines)
    if len(names) < 2:
        remedy = "if every line is a text, use --lines; else give at least two texts, to compare"
        raise io.InputError(f"{names[0]}: one text only; {remedy}")
    names = readable(names)
    used = words.settings(len(texts))
    X, terms = _weights(texts, used)
    fingerprint = hashlib.sha256()
    for part in (*names, *texts):
        piece = part.encode()
        fingerprint.update(len(piece).to_bytes(8, "big") + piece)
    notes = _without_words([names[i] for i in (X.getnnz(axis=1) == 0).nonzero()[0]])
    return (
        io.Items(X, names, "text", notes, features=terms),
        fingerprint.hexdigest(),
        {**words.form(), **used},
    )


def _weights(texts: list[str], used: dict[str, Any]) -> tuple[Any, list[str]]:
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


def readable(names: Sequence[str]) -> list[str]:
    """Return the names of files, which may be any bytes, as a table of UTF-8 can hold them."""
    return [os.fsencode(name).decode("utf-8", "replace") for name in names]


def features_of(items: "Items") -> Any:
    """Return what a model file says of the features: their names, of words the frequencies, too."""
    import numpy as np

    from odsymnmf.estimators.saving import Features

    if items.features is None:
        return None
    if items.format != "text":
        return Features(list(items.features))
    # As TfidfVectorizer has them: every word that it kept is in a text.
    n, occurrences = items.matrix.shape[0], items.matrix.getnnz(axis=0)
    return Features(list(items.features), np.log((n + 1.0) / (occurrences + 1.0)) + 1.0)


def weigh_known(texts: list[str], features: Any) -> Any:
    """Return tf-idf weights of new texts, with the words and frequencies of a model.

    Words that the model does not know do not count. For phrases, the usual English stop words are
    left out before if the model has none of them.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    longest = max(term.count(" ") + 1 for term in features.names)
    count = TfidfVectorizer(
        vocabulary=features.names,
        ngram_range=(1, longest),
        stop_words=None if ENGLISH_STOP_WORDS & {*features.names} else "english",
        sublinear_tf=True,
    )
    count.idf_ = features.idf
    return count.transform(texts)


def _stop_words(said: str) -> str | list[str] | None:
    if said in ("english", "none"):
        return None if said == "none" else said
    from odsymnmf import io

    _, lines = io.read_texts([said], lines=True)
    return sorted({word for line in lines for word in WORD.findall(line.lower())})


def _without_words(names: list[str]) -> list[str]:
    if not names:
        return []
    shown = ", ".join(repr(plain(name)) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    hold = "1 text holds" if len(names) == 1 else f"{len(names)} texts hold"
    return [f"{hold} none of the words that are used, and will be in no cluster: {shown}{more}"]
