"""
Texts
=====

What is a collection of texts about, which texts belong to two topics, and where should a new one
be filed?

The texts are the docstrings of SciPy: a few hundred short technical documents that are on every
machine with this library.
"""

# %%
# The data
# --------
# A list of texts is all that is needed. We keep the name of the subpackage beside each, to look at
# later; the fit does not see it.

import importlib
import inspect

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

import odsymnmf as od

texts, names, homes = [], [], []
for home in [
    "cluster.hierarchy",
    "fft",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "stats",
]:
    module = importlib.import_module(f"scipy.{home}")
    for name in module.__all__:
        thing = getattr(module, name)
        text = inspect.getdoc(thing) or ""
        if inspect.isfunction(thing) and len(text) > 400 and name not in names:
            texts.append(text)
            names.append(name)
            homes.append(home)
print(f"{len(texts)} texts, for example: {texts[0].splitlines()[0]}")

# %%
# Every text becomes a row of word weights. Words of three letters or more, without the English stop
# words and without those that stand in more than a third of the texts.

vectorizer = TfidfVectorizer(
    stop_words="english",
    max_df=1 / 3,
    min_df=3,
    sublinear_tf=True,
    token_pattern=r"[A-Za-z]{3,}",
)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()

# %%
# The fit
# -------
# Texts are compared by the cosine of their word weights. The matrix of all pairs is never formed,
# so that this works for a hundred thousand texts, too.

model = od.ODSymNMF(7, affinity="cosine", normalize="degree", init="spectral", random_state=0)
model.fit(X)
H = model.membership_

# %%
# The topics: the words that weigh more in the texts of a cluster than in the others.

pd.options.display.max_colwidth = 100
weight = X.T @ od.memberships.strength(H)
weight /= od.memberships.strength(H).sum(axis=0)
lead = 2 * weight - weight.sum(axis=1, keepdims=True)
pd.DataFrame(
    {
        "texts": np.bincount(model.labels_, minlength=7),
        "words": [", ".join(words[np.argsort(-column)[:7]]) for column in lead.T],
    }
)

# %%
# The picture
# -----------
# Blocks along the diagonal are topics; a block beside the diagonal says that two topics share
# their words.

ax = od.plots.plot_matrix(model.similarity_, H)

# %%
# How do the topics compare with the subpackages that SciPy's developers chose?

scores = od.metrics.scores(model.labels_, homes)
print({name: round(score, 2) for name, score in scores.items()})
pd.crosstab(pd.Series(homes, name="subpackage"), pd.Series(model.labels_, name="topic"))

# %%
# The decision
# ------------
# Texts that belong to two topics about equally should be linked from both:

strength = od.memberships.strength(H)
order = np.sort(strength, axis=1)
both = np.argsort(order[:, -1])[:8]
pd.DataFrame(
    {
        "text": [f"{homes[i]}.{names[i]}" for i in both],
        "topics": [str(sorted(np.argsort(-strength[i])[:2].tolist())) for i in both],
        "shares": [", ".join(f"{x:.2f}" for x in order[i, :-3:-1]) for i in both],
    }
)

# %%
# And a new text is filed under the topic of its largest membership, without another fit:

new = ["Smooth an image with a Gaussian filter and find the labelled objects in it."]
topic = model.predict(vectorizer.transform(new))[0]
print(f"topic {topic}:", ", ".join(words[np.argsort(-lead[:, topic])[:5]]))
