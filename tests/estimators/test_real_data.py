"""Documents in the directory that ODSYMNMF_DATA names: time and memory of a large fit."""

import os
import subprocess
import sys

import pytest

DATA = os.environ.get("ODSYMNMF_DATA")


WORDNET = """
import resource, sys
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from odsymnmf import ODSymNMF, metrics

folder = sys.argv[1] + "/documents/"
counts = sparse.load_npz(folder + "wordnet_gloss.npz")
clusters = ODSymNMF(45, affinity="cosine", init="spectral", tol=0.03, random_state=0)
labels = make_pipeline(TfidfTransformer(), clusters).fit_predict(counts)
nmi = metrics.scores(labels, np.load(folder + "wordnet_gloss_labels.npy"))["nmi"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in kB, on Linux
print(len(labels), int((labels >= 0).sum()), nmi, peak * 1024)
"""


@pytest.mark.skipif(not DATA, reason="ODSYMNMF_DATA is not a directory with documents/")
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is in other units elsewhere")
def test_117791_documents_within_2_gigabytes():
    done = subprocess.run(
        [sys.executable, "-c", WORDNET, DATA], check=True, capture_output=True, text=True
    )
    n, assigned, nmi, peak = done.stdout.split()
    assert int(n) == 117_791
    assert int(assigned) > 117_000
    assert float(nmi) > 0.15
    assert float(peak) < 2e9
