// Forward and back through many networks, member by member: what one member computes is in the
// caches for its next layer.
#pragma once

#include "math.hpp"
#include "networks/products.hpp"
#include "networks/state.hpp"

namespace ensample::ENSAMPLE_LEVEL {

/// phi'(u) for u <= 0 of a rectifier.
inline double slope_below(Activation activation) {
  return activation == Activation::leaky ? 0.01 : 0.0;
}

/// max(u, slope u), the activation of a rectifier.
struct Rectify {
  double slope;
  template <int N>
  SimdVector<N> operator()(const SimdVector<N>& u, Index) const {
    return larger(u, slope * u);
  }
};

/// An error times the slope of a rectifier, of which only the units tell it.
struct RectifyError {
  const double* units;
  double slope;
  template <int N>
  SimdVector<N> operator()(const SimdVector<N>& error, Index place) const {
    return where_positive(SimdVector<N>::load(units + place), error, slope * error);
  }
};

/// An error times 1 - phi^2, the slope of tanh.
struct TanhError {
  const double* units;
  template <int N>
  SimdVector<N> operator()(const SimdVector<N>& error, Index place) const {
    const auto unit = SimdVector<N>::load(units + place);
    return error - error * (unit * unit);
  }
};

/// Memory that grows with nothing but the shape and the number of rows, cut from the front.
struct Workspace {
  double* next;
  Vector take(Index size) {
    double* begin = next;
    next += (size + 7) / 8 * 8;
    return {begin, size};
  }
  Matrix take(Index rows, Index columns) { return {take(rows * columns).data(), rows, columns}; }
};

/// Hidden units [h, B of one member] by layer, one matrix after the other in `units`.
inline Matrix units_of(const NetworkShape& shape, double* units, Index layer, Index rows) {
  for (Index k = 1; k < layer; ++k) units += rows * shape.width(k);
  return {units, rows, shape.width(layer)};
}

/// Hidden units of the next layer, phi(given W + b).
inline void activate(Matrix units, ConstMatrix given, ConstMatrix weights, ConstVector bias,
                     Activation activation) {
  if (activation != Activation::tanh)
    return multiply(units, given, weights, bias.data(), Rectify{slope_below(activation)});
  multiply(units, given, weights, bias.data());
  for (Index i = 0; i < units.rows * units.columns; ++i) units.data[i] = tanh(units.data[i]);
}

/// One member's hidden units and outputs [B].
inline void forward(const NetworkShape& shape, ConstVector weights, Index member, ConstMatrix rows,
                    double* units, double* outputs) {
  const Index last = shape.layers() - 1;
  ConstMatrix given = rows;
  for (Index k = 0; k < last; ++k) {
    const Matrix reached = units_of(shape, units, k + 1, rows.rows);
    activate(reached, given, shape.matrix(weights, k, member), shape.bias(weights, k, member),
             shape.activation);
    given = reached;
  }
  const ConstVector by{shape.matrix(weights, last, member).data, given.columns};
  const double constant = shape.bias(weights, last, member)[0];
  for (Index b = 0; b < rows.rows; ++b) outputs[b] = dot(given[b], by) + constant;
}

/// Outputs [n, K] of n members from number `first` on; few rows at a time, so that their units stay
/// in the caches.
inline void network_outputs(const NetworkShape& shape, ConstVector weights, Index first,
                            ConstMatrix rows, Matrix outputs) {
  constexpr Index at_once = 64;
  Buffer<double> units(std::min(at_once, rows.rows) * shape.hidden_units(), Fill::none);
  for (Index j = 0; j < outputs.rows; ++j)
    for (Index b = 0; b < rows.rows; b += at_once)
      forward(shape, weights, first + j, rows.between(b, std::min(b + at_once, rows.rows)),
              units.data(), &outputs(j, b));
}

/// Scratch memory of backpropagation.
struct BackwardBuffers {
  double *errors, *others;  // of one layer each, [B, widest]
  double *transposed, *product;

  static Index size(const NetworkShape& shape, Index rows) {
    const Index widest = shape.widest(), most = std::max(widest, shape.dim());
    return 2 * (rows * widest + 8) + widest * std::max(rows, widest) + 8 +
           std::max(widest * most, rows * min_packed_rows) + 8;
  }
  BackwardBuffers(Workspace& space, const NetworkShape& shape, Index rows) {
    const Index widest = shape.widest(), most = std::max(widest, shape.dim());
    errors = space.take(rows * widest).data();
    others = space.take(rows * widest).data();
    transposed = space.take(widest * std::max(rows, widest)).data();
    product = space.take(std::max(widest * most, rows * min_packed_rows)).data();
  }
};

/// Errors before the last hidden layer's activation: slopes of the loss [B] times the last weights.
inline void begin_errors(Matrix errors, ConstVector slopes, ConstVector by, ConstMatrix units,
                         Activation activation) {
  const auto fill = [&](const auto& finish) {
    for (Index b = 0; b < errors.rows; ++b)
      for_each_column_tile<16>(errors.columns, [&]<int N>(Index i) {
        finish(slopes[b] * SimdVector<N>::load(&by[i]), b * errors.columns + i)
            .store(&errors(b, i));
      });
  };
  if (activation == Activation::tanh)
    fill(TanhError{units.data});
  else
    fill(RectifyError{units.data, slope_below(activation)});
}

/// Errors before one layer more: errors W', times the slopes of the activation.
inline void send_errors(Matrix next_errors, ConstMatrix errors, ConstMatrix weights,
                        ConstMatrix units, double* buffer, Activation activation) {
  const Matrix by{buffer, weights.columns, weights.rows};
  transpose(by, weights);
  if (activation == Activation::tanh)
    multiply(next_errors, errors, by, nullptr, TanhError{units.data});
  else
    multiply(next_errors, errors, by, nullptr, RectifyError{units.data, slope_below(activation)});
}

inline void sum_all_rows(Vector total, ConstMatrix rows) {
  for_each_column_tile<32>(total.size(), [&]<int N>(Index start) {
    auto tile = SimdVector<N>::of(0.0);
    for (Index b = 0; b < rows.rows; ++b) tile += SimdVector<N>::load(&rows(b, start));
    tile.store(&total[start]);
  });
}

/// rows' errors, the gradient of the first matrix. Errors have zeros that can be left out; it takes
/// two matrices more.
inline void gradient_of_features(Matrix gradient, ConstMatrix rows, ConstMatrix errors,
                                 const BackwardBuffers& buffers) {
  if (rows.columns < min_packed_rows) {
    const Matrix by_feature{buffers.product, rows.columns, rows.rows};
    transpose(by_feature, rows);
    return multiply(gradient, by_feature, errors);
  }
  const Matrix by_unit{buffers.transposed, errors.columns, errors.rows};
  const Matrix product{buffers.product, errors.columns, rows.columns};
  transpose(by_unit, errors);
  multiply(product, by_unit, rows);
  transpose(gradient, product);
}

/// One member's gradient of a loss whose derivatives by the outputs are `slopes` [B], from the
/// units that `forward` left.
inline void backward(const NetworkShape& shape, ConstVector weights, Index member, ConstMatrix rows,
                     double* units, ConstVector slopes, const BackwardBuffers& buffers,
                     Vector gradient) {
  const Index last = shape.layers() - 1, batch = rows.rows;
  Matrix given = units_of(shape, units, last, batch);
  const Index width = given.columns;
  const ConstVector by{shape.matrix(weights, last, member).data, width};
  double total = 0.0;
  for (const double slope : slopes) total += slope;
  shape.bias(gradient, last, member)[0] = total;
  sum_rows({shape.matrix(gradient, last, member).data, width}, given, slopes);
  Matrix errors{buffers.errors, batch, width};
  double* spare = buffers.others;
  begin_errors(errors, slopes, by, given, shape.activation);
  for (Index layer = last - 1; layer > 0; --layer) {
    given = units_of(shape, units, layer, batch);
    sum_all_rows(shape.bias(gradient, layer, member), errors);
    const Matrix by_unit{buffers.transposed, given.columns, batch};
    transpose(by_unit, given);
    multiply(shape.matrix(gradient, layer, member), by_unit, errors);
    const Matrix next_errors{spare, batch, given.columns};
    send_errors(next_errors, errors, shape.matrix(weights, layer, member), given,
                buffers.transposed, shape.activation);
    spare = errors.data;
    errors = next_errors;
  }
  sum_all_rows(shape.bias(gradient, 0, member), errors);
  gradient_of_features(shape.matrix(gradient, 0, member), rows, errors, buffers);
}

}  // namespace ensample::ENSAMPLE_LEVEL
