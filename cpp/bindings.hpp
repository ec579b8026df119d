// What all files of bindings share: NumPy arrays as views, named tuples, generators, and the scope in which kernels run.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ensample_numpy_api
#ifndef ENSAMPLE_IMPORTS_NUMPY  // bindings.cpp does
#define NO_IMPORT_ARRAY
#endif

#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <type_traits>

#include "dispatch.hpp"
#include "random.hpp"
#include "views.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ensample {

namespace nb = nanobind;
using namespace nb::literals;

/// A C-contiguous NumPy array of N dimensions whose items are exactly T, borrowed for one call; writable unless T is const.
/// Another dtype, layout or number of dimensions is a TypeError, never a copy.
template <class T, int N>
struct Array {
  T* data = nullptr;
  std::size_t shape[N] = {};

  std::size_t size() const {
    std::size_t product = 1;
    for (const std::size_t length : shape) product *= length;
    return product;
  }
};

template <class T>
using Array1 = Array<T, 1>;
template <class T>
using Array2 = Array<T, 2>;
template <class T>
using Array3 = Array<T, 3>;

template <class T>
std::span<T> span_of(const Array1<T>& array) {
  return {array.data, array.shape[0]};
}

template <class T>
View<T> view_of(const Array2<T>& array) {
  return {array.data, array.shape[0], array.shape[1]};
}

/// NumPy's letter for the kind of a type: float, signed or unsigned integer, boolean.
template <class T>
constexpr char kind_of = std::is_same_v<T, bool> ? 'b' : std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';

template <class T, int N>
bool load_array(PyObject* object, Array<T, N>& view) {
  using Item = std::remove_const_t<T>;
  if (!PyArray_Check(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_NDIM(array) != N || PyArray_DESCR(array)->kind != kind_of<Item> || PyArray_ITEMSIZE(array) != sizeof(Item) ||
      !(std::is_const_v<T> ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array)))
    return false;
  view.data = static_cast<T*>(PyArray_DATA(array));
  for (int i = 0; i < N; ++i) view.shape[i] = static_cast<std::size_t>(PyArray_DIM(array, i));
  return true;
}

/// Raise ValueError "argument `name`: expected <expected>" unless a condition holds. Shapes are checked before a kernel runs.
inline void require(bool condition, const char* name, const char* expected) {
  if (condition) return;
  PyErr_Format(PyExc_ValueError, "argument `%s`: expected %s", name, expected);
  throw nb::python_error();
}

/// Require a count of pulls that one more can be added to; arm -1 is none.
inline void require_count(const Array1<std::int64_t>& pulls, std::int64_t arm) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  require(arm < 0 || (pulls.data[arm] >= 0 && pulls.data[arm] < most), "pulls", "counts from 0 to 2^62");
}

/// A new array, whose items are not set. `object` is what Python gets.
template <class T, int N>
struct NewArray {
  nb::object object;
  Array<T, N> view;

  template <class... Lengths>
  explicit NewArray(Lengths... lengths) {
    static_assert(sizeof...(lengths) == N);
    npy_intp shape[N] = {static_cast<npy_intp>(lengths)...};
    constexpr int type = std::is_floating_point_v<T> ? NPY_DOUBLE : NPY_INT64;
    object = nb::steal(PyArray_SimpleNew(N, shape, type));
    if (!object.is_valid()) throw nb::python_error();
    load_array(object.ptr(), view);
  }
};

/// Raise TypeError "argument `name`: expected <expected>", whatever error there was.
[[noreturn]] inline void raise_type_error(const char* name, const char* expected) {
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "argument `%s`: expected %s", name, expected);
  throw nb::python_error();
}

/// An attribute of an argument; TypeError if there is none.
inline nb::object attribute_of(nb::handle value, const char* attribute, const char* name, const char* expected) {
  PyObject* found = PyObject_GetAttrString(value.ptr(), attribute);
  if (found == nullptr) raise_type_error(name, expected);
  return nb::steal(found);
}

/// Fields of a named tuple, by name. Its arrays outlive the call: the caller holds the tuple.
class Fields {
 public:
  explicit Fields(nb::object tuple, const char* name = "") : value(std::move(tuple)), name(name) {}

  Fields operator[](const char* name) const {
    return Fields(attribute_of(value, name, name, "a field of a named tuple"), name);
  }
  bool is_none() const { return value.is_none(); }
  nb::handle object() const { return value; }

  operator double() const { return scalar<double>("a number"); }
  operator std::int64_t() const { return scalar<std::int64_t>("an integer"); }
  operator bool() const { return scalar<bool>("a boolean"); }
  template <class T>
  operator std::span<T>() const {
    return span_of(array<T, 1>("a C-contiguous array of 1 dimension and its own dtype"));
  }
  template <class T>
  operator View<T>() const {
    return view_of(array<T, 2>("a C-contiguous array of 2 dimensions and its own dtype"));
  }
  template <class T, int N>
  Array<T, N> array(const char* expected) const {
    Array<T, N> view;
    require(load_array(value.ptr(), view), name, expected);
    return view;
  }

 private:
  nb::object value;
  const char* name;

  template <class T>
  T scalar(const char* expected) const {
    T result;
    if (!nb::try_cast(value, result)) raise_type_error(name, expected);
    return result;
  }
};

/// The bit generator of a numpy.random.Generator, which must outlive the result; None gives an empty generator.
inline Generator generator_of(nb::handle rng) {
  if (rng.is_none()) return {nullptr};
  const nb::object bit_generator = nb::getattr(rng, "bit_generator", nb::none());
  const nb::object capsule = nb::getattr(bit_generator, "capsule", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "BitGenerator")) {
    PyErr_SetString(PyExc_TypeError, "argument `rng`: expected a numpy.random.Generator");
    throw nb::python_error();
  }
  return {static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"))};
}

/// Default floating-point mode: a library built with fast-math may have told the processor to flush small numbers to zero.
class DefaultFloatingPoint {
#if defined(__SSE2__)
 public:
  DefaultFloatingPoint() : saved(_mm_getcsr()) {
    if ((saved & ~flags) != usual) _mm_setcsr(usual);
  }
  ~DefaultFloatingPoint() {
    if ((saved & ~flags) != usual) _mm_setcsr(saved);
  }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  static constexpr unsigned flags = 0x3f, usual = 0x1f80;  // exceptions that have occurred; all of them masked
  unsigned saved;
#endif
};

/// The scope in which kernels run: without the GIL, in default floating-point mode.
struct KernelScope {
  nb::gil_scoped_release release;
  DefaultFloatingPoint mode;
};

void bind_glm(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_networks(nb::module_& module);
void bind_recipes(nb::module_& module);
void bind_search(nb::module_& module);
void bind_simulation(nb::module_& module);

}  // namespace ensample

template <class T, int N>
struct nanobind::detail::type_caster<ensample::Array<T, N>> {
  using View = ensample::Array<T, N>;
  NB_TYPE_CASTER(View, const_name("numpy.ndarray"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept { return ensample::load_array(object.ptr(), value); }
};
