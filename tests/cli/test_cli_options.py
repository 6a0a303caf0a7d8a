"""odsymnmf cluster: its options are those of the estimator, with the same defaults."""

import csv
import inspect
from typing import get_args

from cli_problems import run

import odsymnmf as od
from odsymnmf import io
from odsymnmf.cli import cluster as command
from odsymnmf.engine import losses, starts
from odsymnmf.engine.how import LossName
from odsymnmf.engine.many import choice
from odsymnmf.estimators import affinity


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_options_reach_the_estimator(edges, tmp_path, monkeypatch):
    seen = {}
    original = od.ODSymNMF.__init__

    def spy(self, **parameters):
        seen.update(parameters)
        original(self, **parameters)

    spy.__signature__ = inspect.signature(original)
    monkeypatch.setattr(od.ODSymNMF, "__init__", spy)
    options = "--loss mixed --l1-ratio 0.3 --init spectral --n-init 2 --normalize degree"
    options += " --upper 0.4 --zero-weight 0.1 --restarts 1 --max-iter 9 --tol 0.01 --seed 5"
    options += " --gamma 2 --n-neighbors 4 --n-jobs 2"
    result = run("cluster", edges, "-r", 3, *options.split(), "-q", "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert seen == {
        "n_clusters": 3,
        "loss": "mixed",
        "l1_ratio": 0.3,
        "affinity": "precomputed",
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
        "verbose": 0,
        "gamma": 2,
        "n_neighbors": 4,
        "memberships": "auto",
        "checkpoint": None,
    }


def test_choices_are_those_of_the_library():
    assert command.FORMATS == io.FORMATS
    assert command.AFFINITIES == affinity.AFFINITIES
    assert tuple(starts.STARTS) == command.STARTS
    assert choice.STARTS == command.MANY_STARTS
    assert tuple(losses.names()) == command.LOSSES == get_args(LossName)


def test_every_option_of_the_estimator_is_there():
    # verbose follows from the terminal and --quiet; a checkpoint is written every minute; --many
    # stands for memberships="sparse".
    missing = {*od.ODSymNMF().get_params()} - {option.name for option in command.cluster.params}
    assert missing == {"verbose", "checkpoint_every", "memberships"}


def test_the_number_of_clusters_is_chosen_by_default(edges, tmp_path):
    result = run("cluster", edges, "-o", tmp_path / "run")
    assert result.exit_code == 0
    assert "in 3 clusters" in result.stdout
    assert "number of clusters: the shortest description" in result.stdout


def test_defaults_are_those_of_the_estimator():
    expected = {**od.ODSymNMF().get_params(), "random_state": 0}
    given = {option.name: option for option in command.cluster.params}
    for name in {*expected} & {*given} - {"n_clusters", "affinity"}:
        assert (
            command.cluster.make_context("cluster", ["x", "-r", "1"]).params[name]
            == (expected[name])
        ), name
