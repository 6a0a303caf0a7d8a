"""Texts: what are they about, and where does a new one belong?

    python examples/texts.py FOLDER          (needs odsymnmf[plots])

The same from the command line: odsymnmf cluster texts.csv -r 7 --text
"""

import ast
import importlib.util
import sys
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

import odsymnmf as od

PARTS = ("fft", "integrate", "interpolate", "ndimage", "optimize", "signal", "sparse")


def docstrings(part: str) -> list[str]:
    """Return the longer docstrings of a part of SciPy: texts that are there already."""
    home = Path(str(importlib.util.find_spec(f"scipy.{part}").origin)).parent
    found = []
    for path in sorted(home.glob("*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef) and len(ast.get_docstring(node) or "") > 400:
                found.append(str(ast.get_docstring(node)))
    return found


def main(folder: str) -> list[list[str]]:
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)

    # The data: weights of words. What hardly any or nearly every text says is left out.
    texts = [text for part in PARTS for text in docstrings(part)]
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=3, max_df=0.5)
    X = words.fit_transform(texts)
    settings = {"affinity": "cosine", "init": "spectral", "max_iter": 1000, "random_state": 0}
    model = od.ODSymNMF(len(PARTS), **settings).fit(X)

    # The picture: similar texts side by side.
    picture = od.plots.plot_matrix(model.similarity_, model.membership_)
    picture.figure.savefig(home / "texts.png", dpi=120)

    # What each cluster is about.
    top = od.memberships.top_features(model.membership_, X, words.get_feature_names_out(), 8)
    topics = [[word for word, _ in topic] for topic in top]
    for number, topic in enumerate(topics):
        print(f"{number} ({(model.labels_ == number).sum()} texts): {', '.join(topic)}")

    # The decision: where a new text is to be filed.
    new = "Filter a signal with a Butterworth low-pass filter, and plot its frequency response."
    shelf = model.predict(words.transform([new]))[0]
    print(f"{new!r} belongs to {shelf}: {', '.join(topics[shelf])}")
    return topics


if __name__ == "__main__":
    main(sys.argv[1])
