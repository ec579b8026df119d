"""How noise.npz was made.

The file is the reference, not this script: a new generator need not give these numbers.

Run: python tests/golden/make_noise.py
"""

from pathlib import Path

import numpy as np

ROUNDS, MEMBERS, ARMS = 2000, 8, 12


def main() -> None:
    rng = np.random.default_rng(20240611)
    noise: dict[str, np.ndarray] = {
        "eta": rng.normal(0.0, 0.3, ROUNDS).astype(np.float32),
        "j": rng.integers(0, MEMBERS, ROUNDS).astype(np.int8),
        "Z_gaussian": rng.standard_normal((ROUNDS, MEMBERS)).astype(np.float32),
        "Z_uniform": rng.uniform(-(3**0.5), 3**0.5, (ROUNDS, MEMBERS)).astype(np.float32),
        "Z_rademacher": (2 * rng.integers(0, 2, (ROUNDS, MEMBERS)) - 1).astype(np.int8),
        "Z_binomial": (rng.binomial(4, 0.5, (ROUNDS, MEMBERS)) - 2).astype(
            np.int8
        ),  # (2B - 4) / sqrt(4)
    }
    for dim in (1, 3, 20):
        features = rng.standard_normal((ARMS, dim))
        noise[f"X_{dim}"] = (
            features / np.linalg.norm(features, axis=1, keepdims=True)
            if dim > 1
            else np.tanh(features)
        )
        theta = rng.standard_normal(dim)
        noise[f"theta_{dim}"] = theta / np.linalg.norm(theta)
        gaussian = rng.standard_normal((MEMBERS, dim))
        noise[f"W_gaussian_{dim}"] = gaussian
        noise[f"W_sphere_{dim}"] = (
            dim**0.5 * gaussian / np.linalg.norm(gaussian, axis=1, keepdims=True)
        )
        noise[f"W_uniform_{dim}"] = rng.uniform(-(3**0.5), 3**0.5, (MEMBERS, dim))
        noise[f"W_rademacher_{dim}"] = 2.0 * rng.integers(0, 2, (MEMBERS, dim)) - 1.0
        noise[f"W_binomial_{dim}"] = rng.binomial(4, 0.5, (MEMBERS, dim)) - 2.0
    np.savez_compressed(Path(__file__).parent / "noise.npz", **noise)


if __name__ == "__main__":
    main()
