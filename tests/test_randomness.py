"""Random numbers are a pure function of their address."""

import copy
import pickle
from itertools import count

import numpy as np
import pytest
from scipy import stats

import ensample as es
from conformance.interrupts import interrupted
from ensample.randomness import UNIFORMS, Address, RunGenerators, RunStream, Stream, run_generator
from evidence import holds


def test_an_address_gives_the_same_numbers_in_any_order() -> None:
    address = Address(5)
    forward = [address.generator(Stream.PERTURBATION, i).standard_normal(7) for i in range(20)]
    backward = [
        Address(5).generator(Stream.PERTURBATION, i).standard_normal(7) for i in reversed(range(20))
    ]
    np.testing.assert_array_equal(forward, backward[::-1])


def test_an_address_is_a_jump() -> None:
    """Index i of a stream is `jumped(i)` of the stream's generator."""
    origin = np.random.PCG64DXSM(np.random.SeedSequence(5, spawn_key=(Stream.MEMBER,)))
    expected = np.random.Generator(origin.jumped(12)).random(3)
    np.testing.assert_array_equal(Address(5).generator(Stream.MEMBER, 12).random(3), expected)


def test_half_used_words_do_not_leak() -> None:
    """A 32-bit draw leaves half a word behind, which the next address must not see."""
    address = Address(1)
    clean = address.generator(Stream.INITIAL, 3).integers(0, 2, 5, np.int32)
    address.generator(Stream.INITIAL, 2).integers(0, 2, 1, np.int32)
    np.testing.assert_array_equal(
        address.generator(Stream.INITIAL, 3).integers(0, 2, 5, np.int32), clean
    )


def test_seeds_streams_and_indices_differ() -> None:
    heads = {
        Address(seed).generator(stream, index).random()
        for seed in (0, 1, 2**70)
        for stream in Stream
        for index in (0, 1, 2, 10**12)
    }
    assert len(heads) == 3 * len(Stream) * 4


def test_uniforms_are_pure_and_uniform() -> None:
    address = Address(2)
    numbers = [address.uniform(i) for i in range(3 * UNIFORMS)]
    shuffled = np.random.default_rng(0).permutation(3 * UNIFORMS)[:50]
    assert [Address(2).uniform(int(i)) for i in shuffled] == [numbers[i] for i in shuffled]
    assert holds(stats.kstest(numbers, "uniform").pvalue)


def test_ctrl_c_leaves_uniforms_where_they_are() -> None:
    """Between any two instructions of the move from one block of them to the next."""
    expected = [Address(2).uniform(i) for i in (UNIFORMS - 1, UNIFORMS)]
    for moment in count(1):
        address = Address(2)
        address.uniform(UNIFORMS - 1)
        stopped = interrupted(lambda address=address: address.uniform(UNIFORMS), moment)
        assert [address.uniform(i) for i in (UNIFORMS - 1, UNIFORMS)] == expected, moment
        if stopped is None:
            break
    assert moment > 20


def test_a_stream_begins_when_it_is_asked_for() -> None:
    policy = es.LinUCB().start(es.FiniteArms(np.eye(2)), seed=3)
    policy.update(policy.decide(), 1.0)
    assert not policy.model.address._origins, "it draws nothing"
    half = Address(3)
    expected = [Address(3).generator(stream, 1).random() for stream in Stream]
    half.generator(Stream.REPLAY, 0)
    for other in (half, copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        assert [other.generator(stream, 1).random() for stream in Stream] == expected
    with pytest.raises(ValueError, match="9 is not a valid Stream"):
        half.generator(9, 0)  # type: ignore[arg-type]


def test_neighbouring_indices_are_uncorrelated() -> None:
    address = Address(3)
    rows = np.array(
        [address.generator(Stream.PERTURBATION, i).standard_normal(500) for i in range(60)]
    )
    correlations = np.corrcoef(rows)[np.triu_indices(60, 1)]
    assert holds(stats.chi2.sf(500 * (correlations**2).sum(), correlations.size))


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(es.InvalidArgument, match=r"^seed = "):
        Address(seed)


def test_initial_vectors_and_perturbations_are_independent() -> None:
    """W and the first rows of Z of a policy share no address."""
    policy = es.EnsembleSampling(size=2000, scale=1.0).start(es.UnitBall(4))
    W = policy.estimates  # lam = 1, so theta^j = W^j at the start
    Z = np.array([policy.model.perturbations(t) for t in range(8)])
    correlations = np.corrcoef(np.vstack([W.T, Z]))[:4, 4:]
    assert holds(stats.chi2.sf(2000 * (correlations**2).sum(), correlations.size))
    assert not set(W.ravel()) & set(Z.ravel()), "no number is used twice"
    shared = np.corrcoef(np.vstack([W.T, W.T]))[:4, 4:]
    assert not holds(stats.chi2.sf(2000 * (shared**2).sum(), shared.size)), (
        "negative control: the same numbers"
    )


def test_streams_are_the_generators_of_a_replicate() -> None:
    """Whatever was drawn before; a stream goes on until it is moved."""
    streams = RunGenerators(5, 2)
    for replicate in (0, 7, 1):
        streams.move(replicate).noise.integers(10, dtype=np.int32)  # leaves half a word behind
        for stream in RunStream:
            expected = run_generator(5, 2, replicate, stream)
            if stream == RunStream.NOISE:
                expected.integers(10, dtype=np.int32)
            for _ in range(2):
                numbers = getattr(streams, stream.name.lower()).integers(
                    2**31, size=3, dtype=np.int32
                )
                assert numbers.tolist() == expected.integers(2**31, size=3, dtype=np.int32).tolist()
