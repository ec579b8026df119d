// The exact fit of a generalised linear model: Newton's method on a linearly perturbed loss,
//
//     F(theta) = sum_k [n_k A(x_k'theta) - y_k x_k'theta]
//                + theta'diag(prior) theta / 2 - theta'shift
//
// over rows x_k that were seen n_k times with rewards that sum to y_k. F is convex, and its slope
// along a step needs A' only: a step that would climb at its end is halved until F has fallen, and
// no longer falls fast, where it ends.
#pragma once

#include "cholesky.hpp"
#include "glm.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// H = diag(prior) + sum_k n_k slopes_k x_k x_k', a row of H after the other: sums stay in
/// registers.
inline void set_hessian(const Loss& loss, ConstVector slopes, Matrix hessian) {
  const Index n = loss.rows.rows, d = hessian.rows;
  Buffer<double> weights(n, Fill::none), of_row(n, Fill::none);
  for (Index k = 0; k < n; ++k)
    weights[k] = loss.counts[k] > 0.0 ? loss.counts[k] * slopes[k] : 0.0;
  for (Index i = 0; i < d; ++i) {
    for (Index k = 0; k < n; ++k) of_row[k] = weights[k] * loss.rows(k, i);
    sum_rows(hessian[i], loss.rows, of_row);
    hessian(i, i) += loss.prior[i];
  }
}

/// Write -H^-1 gradient at theta, given A' and A'' there, to `step`; return its length in the norm
/// of H, infinite if H is singular to working precision.
inline double newton_step(const Loss& loss, ConstVector theta, ConstVector means,
                          ConstVector slopes, Vector step) {
  const Index d = theta.size();
  const OwnedMatrix hessian(d, d, Fill::none), inverse(d, d, Fill::none);
  Buffer<double> downhill(d, Fill::none);
  for (Index i = 0; i < d; ++i) downhill[i] = loss.shift[i] - loss.prior[i] * theta[i];
  for (Index k = 0; k < loss.rows.rows; ++k)
    if (loss.counts[k] > 0.0)
      axpy(downhill, loss.totals[k] - loss.counts[k] * means[k], loss.rows[k]);
  set_hessian(loss, slopes, hessian);
  if (!invert(hessian, inverse)) return infinity;
  sum_rows(step, inverse, downhill);
  return std::sqrt(std::max(dot(step, downhill), 0.0));
}

/// Slope of F at shares of a step.
struct SlopeAlong {
  Link link;
  const Loss& loss;
  ConstVector predictors, changes;         // x_k'theta, and by how much the step changes it
  double at_start = 0.0, curvature = 0.0;  // of the part of F that is quadratic

  SlopeAlong(Link link, const Loss& loss, ConstVector theta, ConstVector step,
             ConstVector predictors, ConstVector changes)
      : link(link), loss(loss), predictors(predictors), changes(changes) {
    for (Index i = 0; i < theta.size(); ++i) {
      at_start += step[i] * (loss.prior[i] * theta[i] - loss.shift[i]);
      curvature += step[i] * loss.prior[i] * step[i];
    }
  }

  double operator()(double share) const {
    double slope = at_start + share * curvature;
    for (Index k = 0; k < changes.size(); ++k)
      if (loss.counts[k] > 0.0)
        slope +=
            changes[k] *
            (loss.counts[k] * link_mean(link, predictors[k] + share * changes[k]) - loss.totals[k]);
    return slope;
  }
};

/// Share of a step to take: 1, or less where F would climb. `slope_at_start` is that of F at
/// its beginning, downwards.
inline double share_of_step(const SlopeAlong& slope_at, double slope_at_start) {
  constexpr int max_halvings = 50;
  constexpr double climb = 0.1;
  constexpr double fall = -0.5;  // slopes at the end of a step that will do, over `slope_at_start`
  double low = 0.0, high = 1.0, share = 1.0;
  for (int halving = 0; halving < max_halvings; ++halving) {
    const double slope = slope_at(share);
    if (slope > climb * slope_at_start)
      high = share;
    else if (share == 1.0 || slope >= fall * slope_at_start)
      return share;
    else
      low = share;
    share = 0.5 * (low + high);
  }
  return share;
}

/// Replace theta by argmin F; return true if the last step was at most `tolerance` long, in the
/// norm of H.
inline bool minimise(Link link, const Loss& loss, double tolerance, Vector theta) {
  constexpr int max_steps = 100;
  const Index n = loss.rows.rows, d = theta.size();
  Buffer<double> predictors(n, Fill::none), means(n, Fill::none), slopes(n, Fill::none),
      changes(n, Fill::none), step(d, Fill::none);
  for (int number = 0; number < max_steps; ++number) {
    for (Index k = 0; k < n; ++k) {
      predictors[k] = dot(loss.rows[k], theta);
      const auto at = link_at(link, predictors[k], 0.0);
      means[k] = at.error, slopes[k] = at.slope;
    }
    const double length = newton_step(loss, theta, means, slopes, step);
    if (!(length < infinity)) return false;
    for (Index k = 0; k < n; ++k) changes[k] = dot(loss.rows[k], step);
    axpy(theta,
         share_of_step(SlopeAlong(link, loss, theta, step, predictors, changes), length * length),
         step);
    if (length <= tolerance) return true;
  }
  return false;
}

}  // namespace ensample::ENSAMPLE_LEVEL
