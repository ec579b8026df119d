"""The memory of networks: a uniform sample of the past, and a pure function of it."""

import numpy as np

from ensample import _core
from ensample.models.training_state import (
    EMPTY,
    FeatureUnits,
    RewardUnits,
    drawn_places,
    in_units,
    new_memory,
    reservoir_place,
    typical_sizes,
)
from ensample.randomness import Address
from evidence import holds, pmf_p_value


def kept_rounds(seed: int, count: int, capacity: int, forgetful: bool = False) -> np.ndarray:
    """The rounds in memory after so many; a forgetful one takes in every newcomer."""
    memory, address = new_memory(capacity, 1, 1, has_prior=False), Address(seed)
    for t in range(count):
        place = reservoir_place(address, t, t + 1, capacity)
        if forgetful and place == EMPTY:
            place = t % capacity
        if place != EMPTY:
            memory.rounds[place] = t
    return memory.rounds


def test_every_observation_is_kept_with_the_same_probability() -> None:
    support, law = np.arange(40), np.full(40, 1 / 40)
    kept = np.concatenate([kept_rounds(seed, 40, 8) for seed in range(500)])
    assert all(len(set(rounds)) == 8 for rounds in kept.reshape(-1, 8).tolist())
    assert holds(pmf_p_value(kept, support, law))
    fresh = np.concatenate([kept_rounds(seed, 40, 8, forgetful=True) for seed in range(500)])
    assert not holds(pmf_p_value(fresh, support, law)), "the control: one that prefers the new"


def test_choices_are_a_pure_function_of_seed_and_round() -> None:
    address = Address(3)
    there = [reservoir_place(address, t, 50, 8) for t in range(30)]
    assert there == [reservoir_place(Address(3), t, 50, 8) for t in reversed(range(30))][::-1]
    assert there != [reservoir_place(Address(4), t, 50, 8) for t in range(30)]
    places = drawn_places(address, 7, 3, 5, 20)
    assert places.shape == (3, 5) and places.max() < 20
    np.testing.assert_array_equal(places, drawn_places(Address(3), 7, 3, 5, 20))
    np.testing.assert_array_equal(drawn_places(address, 7, 2, 5, 4), [range(4), range(4)])


def test_minibatches_are_uniform() -> None:
    address = Address(0)
    places = np.concatenate([drawn_places(address, t, 1, 16, 20).ravel() for t in range(400)])
    assert holds(pmf_p_value(places, np.arange(20), np.full(20, 1 / 20)))


def test_features_are_seen_in_units_of_their_typical_size() -> None:
    def after(units: FeatureUnits, x: list[float] | np.ndarray, count: int) -> FeatureUnits:
        new = np.array(units)
        _core.learn_sizes(new, np.asarray(x), count)
        return FeatureUnits(*new)

    units = FeatureUnits(*np.zeros((3, 3)))
    rows = np.array([[2.0, 0.0, 0.0], [4.0, 0.0, 30.0], [0.0, 0.0, 0.0], [6.0, 0.0, 40.0]])
    for count, x in enumerate(rows, 1):
        units = after(units, x, count)
    np.testing.assert_allclose(units.sizes, typical_sizes(rows))
    np.testing.assert_allclose(units.sizes, [np.sqrt(56 / 3), 0.0, np.sqrt(1250)])
    frozen = after(units, [1000.0, 0.0, 0.0], 5)
    np.testing.assert_array_equal(frozen.sizes, units.sizes)  # until there are eight
    new = after(units, [0.0, -5.0, 0.0], 5)
    np.testing.assert_allclose(new.sizes, [*units.sizes[:1], 5.0, units.sizes[2]])
    seen = in_units(np.array([[1.0, 3.0, 1e90], [2.0, -4.0, 0.0]]), units.sizes)
    assert seen[0, 2] == 100.0 and np.isfinite(seen).all()
    np.testing.assert_allclose(seen[:, 1], np.array([3.0, -4.0]) / np.sqrt(12.5))


def test_rewards_have_a_mean_a_spread_and_misses() -> None:
    units, rewards = RewardUnits(*np.zeros((3, 1))), [3.0, 5.0, 4.0, 8.0]
    assert units.spread(0) == 1.0
    alike = units.after(-7.0, 1, -7.0)
    assert alike.spread(1) == 7.0 and alike.sigma(1) == 7.0
    for count, y in enumerate(rewards, 1):
        units = units.after(y, count, miss=1.0 if count < 4 else 2.0)
    assert units.mean[0] == np.mean(rewards) and np.isclose(units.spread(4), np.std(rewards))
    assert units.sigma(4) == np.std(rewards), "no more than the rewards' own spread"
    assert np.isclose(units.after(5.0, 5, 0.0).sigma(5), np.sqrt(0.2 * 4.0))
