"""Generalised linear ensembles as their definitions say, slowly."""

import numpy as np
from scipy.optimize import brentq, minimize


def sigmoid(u):
    return np.where(u >= 0, 1.0, np.exp(-np.abs(u))) / (1.0 + np.exp(-np.abs(u)))


def variance(u):
    return sigmoid(u) * sigmoid(-u)


def stream_fit(X, Y, lam, W, Z, kept=1.0, fresh=None, mean=sigmoid, slope=variance):
    """(theta_hat, V, theta^j [m, d]) after an implicit step for each observation.

    W [m, d], Z [n, m], fresh W' [n, m, d].
    """
    d = X.shape[1]
    theta, V, S = np.zeros(d), lam * np.eye(d), W.copy()
    for i, (x, y, z) in enumerate(zip(X, Y, Z, strict=True)):
        b, V = kept * V @ theta, kept * V + (1 - kept) * lam * np.eye(d)
        P = np.linalg.inv(V)
        theta, q = P @ b, x @ P @ x
        first = float(mean(x @ theta)) - y  # s is between 0 and it
        s = (
            brentq(lambda s, u=x @ theta, q=q, y=y: mean(u - q * s) - y - s, 0, first, xtol=1e-16)
            if first
            else 0.0
        )
        theta = theta - s * P @ x
        w = slope(x @ theta)
        V = V + w * np.outer(x, x)
        S = (
            np.sqrt(kept) * S
            + (np.sqrt(1 - kept) * fresh[i] if kept < 1 else 0)
            + np.sqrt(w) * np.outer(z, x)
        )
    return theta, V, theta + S @ np.linalg.inv(V)


def perturbed_loss(theta, X, Y, lam, shift):
    """sum_i [A(x_i'theta) - y_i x_i'theta] + lam/2 |theta|^2 - theta'shift, and its gradient."""
    u = X @ theta
    value = np.logaddexp(0.0, u).sum() - Y @ u + lam / 2 * theta @ theta - theta @ shift
    return value, X.T @ (sigmoid(u) - Y) + lam * theta - shift


def exact_fit(X, Y, lam, shift):
    """The minimiser, by a method that knows nothing of Newton's steps until its last two."""
    start = minimize(
        perturbed_loss, np.zeros(X.shape[1]), (X, Y, lam, shift), jac=True, method="BFGS", tol=1e-9
    ).x
    for _ in range(
        2
    ):  # polished, as BFGS stops at the rounding of the loss and not of its gradient
        hessian = lam * np.eye(start.size) + (X.T * variance(X @ start)) @ X
        start = start - np.linalg.solve(hessian, perturbed_loss(start, X, Y, lam, shift)[1])
    return start
