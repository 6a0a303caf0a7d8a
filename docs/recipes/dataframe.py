"""
A DataFrame
===========

Which columns of a table are redundant, and which few of them are sufficient?

The table has 30 measurements of 569 tumors (it comes with scikit-learn). Many of them are nearly
the same: radius, perimeter and area, each as a mean, as a worst case and with its error. This page
needs ``pip install "odsymnmf[frames,plots]"``.
"""

# %%
# The data
# --------
# Two columns are similar if they are correlated, positively or negatively. Any square DataFrame of
# similarities will do, if its index and its columns are the same names.

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import odsymnmf as od

table = load_breast_cancer(as_frame=True)
similarity = table.data.corr().abs()
print(similarity.iloc[:4, :4].round(2).to_string())

# %%
# The fit
# -------
# The correlation of a column with itself is always 1: the diagonal is ignored.

model = od.ODSymNMF(6, random_state=0).fit(similarity)

H = model.membership_frame()
labels = model.labels_series()
clusters = pd.DataFrame(
    {
        "columns": labels.value_counts().sort_index(),
        "strongest": [", ".join(H[column].nlargest(3).index) for column in H],
    }
)
print(clusters.to_string())

# %%
# The picture
# -----------
# Every line is a column of the table. Some measurements, such as the concavity, belong to two
# clusters.

ax = od.plots.plot_memberships(H)
ax.figure.set_size_inches(6.4, 5.6)

# %%
# The decision
# ------------
# Keep the strongest measurement of every cluster, and drop the others:

keep = [H.loc[labels == cluster].iloc[:, cluster].idxmax() for cluster in sorted(set(labels))]
print("\n".join(keep))

# %%
# The accuracy of a classifier of benign and malignant tumors with all columns, with the selected
# ones, and with the first six:


def accuracy(columns):
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    return cross_val_score(classifier, table.data[columns], table.target, cv=5).mean()


every = list(table.data)
scores = {
    "all 30": accuracy(every),
    "one of each cluster": accuracy(keep),
    "the first six": accuracy(every[:6]),
}
print(pd.Series(scores, name="accuracy").round(3).to_frame().to_string())

# %%
# One measurement of each cluster is nearly as accurate as all thirty, and better than as many
# redundant ones. If the difference to all 30 matters, increase the number of clusters.
