"""
A DataFrame
===========

Which columns of a table say the same, and which few of them are enough?

The table has 30 measurements of 569 tumours (it comes with scikit-learn). Many of them are nearly
the same: radius, perimeter and area, each as a mean, as a worst case and with its error.
"""

# %%
# The data
# --------
# Two columns are similar if they are correlated, up or down.

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import odsymnmf as od

table = load_breast_cancer(as_frame=True)
similarity = table.data.corr().abs()
similarity.iloc[:4, :4].round(2)

# %%
# The fit
# -------
# Correlations mean something as they are, so they are not normalised. A column's correlation with
# itself is 1 and says nothing: it is left out of the fit. ``upper=1`` keeps memberships between
# 0 and 1.

model = od.ODSymNMF(6, upper=1, n_init=20, random_state=0).fit(similarity)
H = pd.DataFrame(model.membership_, index=similarity.index)

pd.options.display.max_colwidth = 100
pd.DataFrame(
    {
        "columns": [(model.labels_ == l).sum() for l in H],
        "strongest": [", ".join(H[l].nlargest(3).index) for l in H],
    }
)

# %%
# The picture
# -----------
# Every line is a column of the table. Size (cluster 0) is measured a dozen times; some
# measurements, such as the concavity, have a part in two clusters.

ax = od.plots.plot_memberships(H, names=H.index)
ax.figure.set_size_inches(6.4, 5.6)

# %%
# The decision
# ------------
# Keep the strongest measurement of every cluster, and drop the others:

keep = [H.loc[model.labels_ == l, l].idxmax() for l in H]
print("\n".join(keep))

# %%
# What does it cost? A classifier that tells benign from malignant, with all columns, with those
# that we keep, and with the six that happen to come first:


def accuracy(columns):
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    return cross_val_score(classifier, table.data[columns], table.target, cv=5).mean()


every, first = list(table.data), list(table.data)[:6]
pd.Series(
    {
        "all 30": accuracy(every),
        "one of each cluster": accuracy(keep),
        "the first six": accuracy(first),
    },
    name="accuracy",
).round(3).to_frame()

# %%
# One measurement of each cluster keeps most of what thirty tell, and is better than as many
# that repeat each other. If the difference to all 30 matters, raise the number of clusters and look
# again.
