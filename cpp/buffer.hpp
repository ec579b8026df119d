// Owned arrays. Not std::vector: its functions would be compiled for every instruction set under one name, and the linker
// would keep an arbitrary one of them.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "simd.hpp"
#include "views.hpp"

namespace ensample::ENSAMPLE_LEVEL {

enum class Fill { zeros, none };

/// Array that starts at a cache line.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit Buffer(std::size_t size, Fill fill = Fill::zeros) : first(static_cast<T*>(::operator new(size * sizeof(T), line))), count(size) {
    if (fill == Fill::zeros) std::memset(static_cast<void*>(first), 0, size * sizeof(T));
  }
  ~Buffer() { ::operator delete(first, line); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T& operator[](std::size_t i) { return first[i]; }
  const T& operator[](std::size_t i) const { return first[i]; }
  T* data() { return first; }
  T* begin() { return first; }
  T* end() { return first + count; }
  const T* data() const { return first; }
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  std::size_t size() const { return count; }

 private:
  static constexpr std::align_val_t line{64};
  T* first;
  std::size_t count;
};

/// A matrix that owns its items.
class OwnedMatrix : public Matrix {
 public:
  OwnedMatrix(std::size_t rows, std::size_t columns, Fill fill = Fill::zeros)
      : Matrix{nullptr, rows, columns}, buffer(rows * columns, fill) {
    data = buffer.data();
  }

 private:
  Buffer<double> buffer;
};

}  // namespace ensample::ENSAMPLE_LEVEL
