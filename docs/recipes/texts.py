"""
Texts
=====

What is a collection of texts about, which texts belong to two topics, and where should a new one
be filed?

The texts are the docstrings of SciPy: a few hundred short technical documents that are on every
machine with this library. This page needs ``pip install "odsymnmf[frames,plots]"``.
"""

# %%
# The data
# --------
# The input is a list of texts. The name of the subpackage of each text is not used in the fit, only
# for a comparison at the end.

import importlib
import inspect

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

import odsymnmf as od

texts, names, homes = [], [], []
for home in ("cluster.hierarchy", "fft", "interpolate", "linalg", "ndimage", "optimize", "stats"):
    module = importlib.import_module(f"scipy.{home}")
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if inspect.isfunction(getattr(module, name)) and len(text) > 400 and name not in names:
            texts.append(text)
            names.append(name)
            homes.append(home)
print(f"{len(texts)} texts, for example: {texts[0].splitlines()[0]}")

# %%
# Every text becomes a row of word weights. Stop words, words in fewer than three texts and words in
# more than half of them are left out (the settings of ``odsymnmf cluster --text``).

vectorizer = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.5, sublinear_tf=True)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()

# %%
# The fit
# -------
# Texts are compared by the cosine of their word weights. The matrix of all pairs is never formed,
# so this also works for a hundred thousand texts. The number of topics is chosen from the data:

model = od.ODSymNMF("auto", affinity="cosine", random_state=0).fit(X)
H = model.membership_
print(model.n_clusters_search_)

# %%
# The topics: the words that are frequent in the texts of a cluster, and rarer in the others.

topics = od.memberships.top_features(H, X, words, n_top=7)
listed = pd.DataFrame(
    {
        "texts": [(model.labels_ == topic).sum() for topic in range(len(topics))],
        "words": [", ".join(word for word, _ in top) for top in topics],
    }
)
print(listed.rename_axis("topic").to_string())

# %%
# The picture
# -----------
# Blocks along the diagonal are topics; a bright area off the diagonal shows that two topics share
# words.

ax = od.plots.plot_matrix(model.similarity_, H)

# %%
# How do the topics compare with the subpackages that SciPy's developers chose?

scores = od.metrics.scores(model.labels_, homes)
print({name: round(score, 2) for name, score in scores.items()})
counts = pd.crosstab(pd.Series(homes, name="subpackage"), pd.Series(model.labels_, name="topic"))
print(counts.to_string())

# %%
# The decision
# ------------
# Texts that belong to two topics about equally should be linked from both:

strength = pd.DataFrame(od.memberships.strength(H), index=names)
ambiguous = strength.max(axis=1).nsmallest(8).index
shared = pd.DataFrame(
    {
        "topics": [str(sorted(strength.loc[name].nlargest(2).index)) for name in ambiguous],
        "shares": [
            ", ".join(f"{x:.2f}" for x in strength.loc[name].nlargest(2)) for name in ambiguous
        ],
    },
    index=ambiguous,
)
print(shared.to_string())

# %%
# And a new text is filed under the topic of its largest membership, without another fit:

new = ["Smooth an image with a Gaussian filter and find the labeled objects in it."]
topic = model.predict(vectorizer.transform(new))[0]
print(f"topic {topic}:", ", ".join(word for word, _ in topics[topic]))

# %%
# The same from the command line, for a folder of text files or a CSV file with a column of texts:
# ``odsymnmf cluster letters/ --text``, and ``odsymnmf predict letters-clusters new.txt -o new``.
