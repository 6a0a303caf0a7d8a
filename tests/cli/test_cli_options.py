"""odsymnmf cluster: its options are those of the estimator, with the same defaults."""

import inspect
from typing import get_args

from cli_problems import run

import odsymnmf as od
from odsymnmf import affinity, io
from odsymnmf.cli.cluster import cluster
from odsymnmf.cli.options import FIT, FORMATS
from odsymnmf.fit import LossName
from odsymnmf.init.initialize import INITIALIZATIONS
from odsymnmf.solvers import losses


def test_options_reach_the_estimator(edges, tmp_path, monkeypatch):
    received = {}
    original = od.ODSymNMF.__init__

    def spy(self, **parameters):
        received.update(parameters)
        original(self, **parameters)

    spy.__signature__ = inspect.signature(original)
    monkeypatch.setattr(od.ODSymNMF, "__init__", spy)
    given = {"n_clusters": 3, "loss": "mixed", "l1_ratio": 0.3, "init": "spectral", "n_init": 2}
    given |= {"normalize": "degree", "upper": 0.4, "zero_weight": 0.1, "restarts": 1, "max_iter": 9}
    given |= {"tol": 0.01, "n_jobs": 2, "random_state": 5, "gamma": 2, "n_neighbors": 4}
    given |= {"checkpoint": str(tmp_path / "c"), "checkpoint_every": 7.0}
    options = [x for name, value in given.items() for x in ("--" + name.replace("_", "-"), value)]
    assert run("cluster", edges, *options, "-q", "-o", tmp_path / "run").exit_code == 0
    defaults = {"affinity": "precomputed", "sparse_membership": "auto"}
    assert received == {**given, **defaults, "resolution": None, "verbose": 0}
    resolution = ("-r", "auto", "--resolution", 2)
    assert run("cluster", edges, *resolution, "-q", "-o", tmp_path / "other").exit_code == 0
    assert (received["n_clusters"], received["resolution"]) == ("auto", 2.0)


def test_choices_are_those_of_the_library():
    choices = {name: kind.choices for name, (kind, *_) in FIT.items() if hasattr(kind, "choices")}
    assert io.FORMATS == FORMATS
    assert [*choices["affinity"]] == [*affinity.AFFINITIES]
    assert {*choices["init"]} == {"auto", "multilevel", "ego", *INITIALIZATIONS}
    assert [*choices["loss"]] == [*losses.names()] == [*get_args(LossName)]


def test_options_and_defaults_are_those_of_the_estimator():
    # verbose follows from the terminal and --quiet.
    expected = {**od.ODSymNMF().get_params(), "n_clusters": "auto", "random_state": 0}
    assert {*expected} - {"verbose"} == {*FIT}
    given = cluster.make_context("cluster", ["x"]).params
    for name in {*FIT} - {"affinity", "sparse_membership"}:
        assert given[name] == expected[name], name
