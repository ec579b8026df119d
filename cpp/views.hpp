// Views: they do not own their arrays, most of which are NumPy's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ensample {

using Index = std::size_t;
using Int = std::int64_t;

using Vector = std::span<double>;
using ConstVector = std::span<const double>;
using Ints = std::span<Int>;
using ConstInts = std::span<const Int>;
using Counts = std::span<std::int32_t>;
using Codes = std::span<std::uint8_t>;
using ConstCodes = std::span<const std::uint8_t>;

/// A C-contiguous matrix.
template <class T>
struct View {
  T* data = nullptr;
  Index rows = 0, columns = 0;

  std::span<T> operator[](Index i) const { return {data + i * columns, columns}; }
  T& operator()(Index i, Index k) const { return data[i * columns + k]; }
  std::span<T> items() const { return {data, rows * columns}; }
  View between(Index first, Index last) const {
    return {data + first * columns, last - first, columns};
  }
  operator View<const T>() const { return {data, rows, columns}; }
};

using Matrix = View<double>;
using ConstMatrix = View<const double>;

/// Matrices of one shape, one after the other.
template <class T>
struct MatrixStack {
  T* data = nullptr;
  Index count = 0, rows = 0, columns = 0;

  View<T> operator[](Index i) const { return {data + i * rows * columns, rows, columns}; }
};

/// Canonical links: identity of linear models, logistic of clicks.
enum class Link : Int { identity, logistic };

/// Options by which scales of noise and parameter are learned.
struct ScaleLearning {
  Matrix scales;          // what is learned, as `Scales` reads it [6, d]; no data where nothing is
  double strength = 0.0;  // lam, if it is above 0: then it is given, and not learned
  // True: sizes of features are given; false: learned from the observations
  bool sizes_given = false;
  bool intercept = false;  // whether the last feature is the constant 1
};

}  // namespace ensample
