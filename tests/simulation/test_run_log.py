"""The log of simulated runs is one that evaluation reads, and says the truth."""

import numpy as np
import polars as pl
import pytest

import ensample as es


@pytest.mark.parametrize("family", ["sphere", "contextual"])
def test_a_log_has_every_decision_and_the_regret_is_that_of_the_live_policy(family, tmp_path):
    problem = es.problem(family, dim=3, arms=6)
    path = tmp_path / "log.parquet"
    runs = es.simulate(es.EnsembleSampling(10), problem, 40, runs=3, seed=5, log=path)
    again = es.simulate(es.EnsembleSampling(10), problem, 40, runs=3, seed=5, evaluation="live")
    assert np.array_equal(runs.regret, again.regret)
    log = es.read_log(path)
    assert log.height == 120 and log["id"].n_unique() == 120
    shares = np.array(log["propensities"].to_list())
    assert shares.shape == (120, 6) and np.allclose(shares.sum(axis=1), 1.0)
    chosen = log["action"].cast(pl.Int64).to_numpy()
    assert np.array_equal(shares[np.arange(120), chosen], log["propensity"].to_numpy())
    assert (log["features"].null_count() == 120) == (family == "sphere")


def test_what_was_logged_is_what_evaluation_finds(tmp_path):
    path = tmp_path / "log.parquet"
    es.simulate(es.EpsilonGreedy(0.5), es.problem("sphere", dim=3, arms=4), 300, seed=1, log=path)
    log = es.read_log(path)
    assert es.evaluate(path, "logged")["ips"].value == pytest.approx(log["reward"].mean())


def test_recipes_without_propensities_have_none(tmp_path):
    es.simulate(
        es.PerturbedHistory(scale=1.0, regularization=1.0),
        es.problem("sphere", dim=2, arms=3),
        20,
        log=tmp_path / "log.parquet",
    )
    assert es.read_log(tmp_path / "log.parquet")["propensity"].null_count() == 20


def test_what_cannot_be_logged_is_said_before_the_work(tmp_path):
    with pytest.raises(es.InvalidArgument, match="evaluation = 'lazy'"):
        es.simulate(
            es.EnsembleSampling(3),
            es.problem("sphere"),
            10,
            evaluation="lazy",
            log=tmp_path / "log.parquet",
        )
    with pytest.raises(es.InvalidArgument, match="log"):
        es.simulate(
            es.EnsembleSampling(3),
            es.problem("sphere"),
            10,
            log=tmp_path / "nowhere" / "log.parquet",
        )
    with pytest.raises(es.InvalidArgument, match="listed"):
        es.simulate(es.EnsembleSampling(3), es.problem("ball"), 10, log=tmp_path / "log.parquet")
