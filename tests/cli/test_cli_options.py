"""odsymnmf cluster: its options are those of the estimator, with the same defaults."""

import inspect
from typing import get_args

from cli_problems import run

import odsymnmf as od
from odsymnmf import affinity, defaults, io
from odsymnmf.cli import cluster as command
from odsymnmf.cli.options import FORMATS
from odsymnmf.fit import LossName
from odsymnmf.init.initialize import INITIALIZATIONS
from odsymnmf.solvers import losses


def test_options_reach_the_estimator(edges, tmp_path, monkeypatch):
    seen = {}
    original = od.ODSymNMF.__init__

    def spy(self, **parameters):
        seen.update(parameters)
        original(self, **parameters)

    spy.__signature__ = inspect.signature(original)
    monkeypatch.setattr(od.ODSymNMF, "__init__", spy)
    given = {
        "n_clusters": 3,
        "loss": "mixed",
        "l1_ratio": 0.3,
        "init": "spectral",
        "n_init": 2,
        "normalize": "degree",
        "upper": 0.4,
        "zero_weight": 0.1,
        "restarts": 1,
        "max_iter": 9,
        "tol": 0.01,
        "n_jobs": 2,
        "random_state": 5,
        "gamma": 2,
        "n_neighbors": 4,
    }
    options = [x for name, value in given.items() for x in ("--" + name.replace("_", "-"), value)]
    assert run("cluster", edges, *options, "-q", "-o", tmp_path / "run").exit_code == 0
    rest = {"affinity": "precomputed", "sparse_membership": "auto", "checkpoint": None}
    assert seen == {**given, **rest, "resolution": None, "verbose": 0}
    resolution = ("-r", "auto", "--resolution", 2)
    assert run("cluster", edges, *resolution, "-q", "-o", tmp_path / "other").exit_code == 0
    assert (seen["n_clusters"], seen["resolution"]) == ("auto", 2.0)


def test_choices_are_those_of_the_library():
    assert FORMATS == io.FORMATS
    assert command.AFFINITIES == affinity.AFFINITIES
    assert ("multilevel", *INITIALIZATIONS) == command.STARTS
    assert defaults.SPARSE_INITIALIZATIONS == command.MANY_STARTS
    assert tuple(losses.names()) == command.LOSSES == get_args(LossName)


def test_every_option_of_the_estimator_is_there():
    # verbose follows from the terminal and --quiet; a checkpoint is written every minute; --many
    # stands for sparse_membership=True.
    missing = {*od.ODSymNMF().get_params()} - {option.name for option in command.cluster.params}
    assert missing == {"verbose", "checkpoint_every", "sparse_membership"}


def test_defaults_are_those_of_the_estimator():
    expected = {**od.ODSymNMF().get_params(), "random_state": 0}
    given = command.cluster.make_context("cluster", ["x", "-r", "1"]).params
    for name in {*expected} & {*given} - {"n_clusters", "affinity"}:
        assert given[name] == expected[name], name
