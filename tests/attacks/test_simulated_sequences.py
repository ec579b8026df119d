"""The same nasty sequences, learned by a simulation's kernel and by a live policy."""

import numpy as np

import ensample as es
from attacks.test_exactness import Sequence
from attempts import attempts
from ensample.randomness import RunGenerators
from ensample.simulation.dispatch import RunSettings, SimulatedRun, kernel_for

# A simulation keeps V and b in doubles: beyond this condition number it may be off by more.
STIFF = 1e8
APART = 1e-7  # of 5,643 prefixes of 1,000 sequences five are apart by more than 1e-8


def both(sequence: Sequence, rounds: int) -> tuple[float, float]:
    """Return the distance of kernel and live policy after a round, and the condition number.

    The distance is relative to theta_hat, and infinite where they chose different arms.
    """
    theta = np.random.default_rng(rounds).standard_normal(sequence.dim)
    problem = es.LinearProblem(es.FiniteArms(sequence.X), theta, 0.0, warmup=range(rounds))
    recipe = es.Greedy(regularization=sequence.lam)
    arrays = problem.as_arrays()
    marks, stop = np.array([1]), np.zeros(1, np.int64)
    settings = RunSettings.of(recipe, problem.arms, marks, stop)
    run = SimulatedRun(arrays, settings, RunGenerators(0, 0))
    kernel = kernel_for(recipe, problem, arrays, "eager")
    _, pulls, mean, _ = kernel.simulate(recipe, run)
    policy = recipe.start(problem.arms)
    for x in sequence.X[:rounds]:
        policy.update(x, problem.mean(x))
    decision = policy.decide()
    policy.update(decision, problem.mean(decision.features))
    if pulls[decision.arm] != 1 + (decision.arm < rounds):
        return 0.0, np.inf
    apart = np.linalg.norm(mean - policy.mean) / np.linalg.norm(policy.mean)
    return float(apart), float(np.linalg.cond(policy.gram))


def test_simulated_and_live_policies_learn_the_same() -> None:
    count, compared, bad = attempts(80, 1000), 0, []
    for number in range(count):
        for rounds in range(1, 9):
            apart, condition = both(Sequence(number), rounds)
            if condition <= STIFF:
                compared += 1
                if not apart <= APART:
                    bad.append((number, rounds, apart, condition))
    print(
        f"{count:,} sequences, {compared:,} prefixes within condition {STIFF:g}: "
        f"{len(bad)} apart by more than {APART:g}"
    )
    assert compared > count and not bad, bad[:5]
