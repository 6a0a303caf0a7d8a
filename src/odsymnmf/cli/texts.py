"""Options for texts, and tf-idf weights of texts."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from odsymnmf.cli.options import Table, count_or_fraction, parsed, plain

if TYPE_CHECKING:
    from odsymnmf.io import Dataset

# Settings for at least MIN_TEXTS texts, and the differences for fewer.
MIN_TEXTS = 50
SETTINGS: dict[str, Any] = {"stop_words": "english", "min_df": 3, "max_df": 0.5, "ngrams": 1}
FEW_TEXTS = {"min_df": 1, "max_df": 1.0}
# The words of scikit-learn's vectorizers: two or more letters or digits.
WORD = re.compile(r"\b\w\w+\b")

COUNT = parsed(count_or_fraction, "INTEGER|FLOAT")

# Arguments of io.read_texts.
FORM: Table = {
    "text_column": (str, None, "The column of the texts in a csv, tsv or JSON lines file."),
    "lines": (bool, False, "Every line of the file is a separate text."),
}
TEXTS: Table = {
    "text": (bool, False, "INPUT is a folder of texts, files, or a table with a column of texts."),
    **FORM,
    "stop_words": (click.Path(), None, "Words to ignore: english (default), none, or a file."),
    "min_df": (
        COUNT,
        None,
        "Ignore words in fewer texts; default 3, or 1 for fewer than 50 texts.",
    ),
    "max_df": (COUNT, None, "Ignore words in more texts; default 0.5, or 1.0 for fewer than 50."),
    "ngrams": (int, None, "Largest number of words in a phrase; default 1."),
}


def check_options(texts: dict[str, Any]) -> bool:
    """Return whether INPUT holds texts; raise UsageError if options exclude each other."""
    if "text_column" in texts and "lines" in texts:
        raise click.UsageError("--text-column and --lines exclude each other; use one of them")
    is_text = bool({*texts} & {"text", *FORM})
    if texts and not is_text:
        option = next(iter(texts)).replace("_", "-")
        raise click.UsageError(f"--{option} applies to texts; add --text")
    return is_text


def read_texts(
    paths: Sequence[str], options: dict[str, Any]
) -> tuple["Dataset", dict[str, Any], Any]:
    """Return a Dataset of texts x words, the settings used, and inverse document frequencies."""
    from odsymnmf import io

    form = {name: value for name, value in options.items() if name in FORM}
    names, texts = io.read_texts(paths, **form)
    few = FEW_TEXTS if len(texts) < MIN_TEXTS else {}
    settings = {**SETTINGS, **few, **options}
    settings.pop("text", None)
    X, vectorizer = _tfidf(texts, settings)
    empty = [plain(names[i]) for i in (X.getnnz(axis=1) == 0).nonzero()[0]]
    messages = []
    if empty:
        suffix = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        messages.append(
            "texts without any of the selected words, which will be in no cluster: "
            f"{', '.join(map(repr, empty[:3]))}{suffix}"
        )
    terms = [*vectorizer.get_feature_names_out()]
    return io.Dataset(X, names, "text", messages, feature_names=terms), settings, vectorizer.idf_


def _tfidf(texts: list[str], settings: dict[str, Any]) -> tuple[Any, Any]:
    """Return tf-idf weights and the vectorizer."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from odsymnmf import io

    if not any(WORD.search(text) for text in texts):
        raise io.InputError(f"the {len(texts)} texts contain no words of two or more letters")
    stop_words = None if settings["stop_words"] == "none" else settings["stop_words"]
    if stop_words not in (None, "english"):
        _, lines = io.read_texts([stop_words], lines=True)
        stop_words = sorted({word for line in lines for word in WORD.findall(line.lower())})
    vectorizer = TfidfVectorizer(
        stop_words=stop_words,
        min_df=settings["min_df"],
        max_df=settings["max_df"],
        ngram_range=(1, settings["ngrams"]),
        sublinear_tf=True,
    )
    try:
        return vectorizer.fit_transform(texts), vectorizer
    except ValueError as error:
        reason = str(error).removesuffix(".")
        raise io.InputError(
            f"{reason}. Use a smaller --min-df, a larger --max-df, or --stop-words none"
        ) from error


def tfidf_of_model(texts: list[str], terms: list[str], idf: Any) -> Any:
    """Return tf-idf weights of new texts, with the words and frequencies of a model.

    Other words are ignored. English stop words are removed before phrases are formed, unless the
    terms of the model include stop words.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    vectorizer = TfidfVectorizer(
        vocabulary=terms,
        ngram_range=(1, max(term.count(" ") + 1 for term in terms)),
        stop_words=None if ENGLISH_STOP_WORDS & {*terms} else "english",
        sublinear_tf=True,
    )
    vectorizer.idf_ = idf
    return vectorizer.transform(texts)
