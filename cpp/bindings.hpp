// What all files of bindings share: NumPy arrays as views, named tuples, generators, checks, and how kernels are called.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ensample_numpy_api
#ifndef ENSAMPLE_IMPORTS_NUMPY  // bindings.cpp does
#define NO_IMPORT_ARRAY
#endif

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <numpy/arrayobject.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "kernels.hpp"
#include "random.hpp"
#include "views.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ensample {

namespace nb = nanobind;
using namespace nb::literals;

/// NumPy's letter for the kind of a type: float, signed or unsigned integer, boolean.
template <class T>
constexpr char kind_of = std::is_same_v<T, bool> ? 'b' : std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';

/// Borrow a C-contiguous NumPy array of N dimensions whose items are exactly T, for one call; writable unless T is const.
/// Return false for another dtype, layout or number of dimensions: nothing is copied.
template <class T, int N>
bool borrow_array(PyObject* object, T*& data, std::size_t (&shape)[N]) {
  using Item = std::remove_const_t<T>;
  if (!PyArray_Check(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  if (PyArray_NDIM(array) != N || PyArray_DESCR(array)->kind != kind_of<Item> || PyArray_ITEMSIZE(array) != sizeof(Item) ||
      !(std::is_const_v<T> ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array)))
    return false;
  data = static_cast<T*>(PyArray_DATA(array));
  for (int i = 0; i < N; ++i) shape[i] = static_cast<std::size_t>(PyArray_DIM(array, i));
  return true;
}

template <class T>
bool load_view(PyObject* object, std::span<T>& view) {
  T* data;
  std::size_t shape[1];
  if (!borrow_array(object, data, shape)) return false;
  view = {data, shape[0]};
  return true;
}

template <class T>
bool load_view(PyObject* object, View<T>& view) {
  std::size_t shape[2];
  if (!borrow_array(object, view.data, shape)) return false;
  view.rows = shape[0], view.columns = shape[1];
  return true;
}

template <class T>
bool load_view(PyObject* object, MatrixStack<T>& view) {
  std::size_t shape[3];
  if (!borrow_array(object, view.data, shape)) return false;
  view.count = shape[0], view.rows = shape[1], view.columns = shape[2];
  return true;
}

/// Raise ValueError "argument `name`: expected <expected>" unless a condition holds. Shapes are checked before a kernel runs.
inline void require(bool condition, const char* name, const char* expected) {
  if (condition) return;
  PyErr_Format(PyExc_ValueError, "argument `%s`: expected %s", name, expected);
  throw nb::python_error();
}

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

/// Borrow the bit generator of a numpy.random.Generator; return false for anything else.
inline bool load_generator(nb::handle value, Generator& generator) {
  const nb::object bit_generator = nb::getattr(value, "bit_generator", nb::none());
  const nb::object capsule = nb::getattr(bit_generator, "capsule", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "BitGenerator")) return false;
  generator.bits = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
  return true;
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
  /// An empty generator for None.
  operator Generator() const {
    Generator generator{nullptr};
    if (!is_none() && !load_generator(value, generator)) raise_type_error(name, "a numpy.random.Generator or None");
    return generator;
  }
  template <class T>
  operator std::span<T>() const {
    return view<std::span<T>>("a C-contiguous array of 1 dimension and its own dtype");
  }
  template <class T>
  operator View<T>() const {
    return view<View<T>>("a C-contiguous array of 2 dimensions and its own dtype");
  }

 private:
  nb::object value;
  const char* name;

  template <class Array>
  Array view(const char* expected) const {
    Array result;
    require(load_view(value.ptr(), result), name, expected);
    return result;
  }

  template <class T>
  T scalar(const char* expected) const {
    T result;
    if (!nb::try_cast(value, result)) raise_type_error(name, expected);
    return result;
  }
};

/// Default floating-point mode: a library built with fast-math may have set the processor to flush small numbers to zero.
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

/// Call a kernel without the GIL, in default floating-point mode.
template <class Kernel, class... Arguments>
auto run(Kernel kernel, Arguments&&... arguments) {
  const nb::gil_scoped_release release;
  const DefaultFloatingPoint mode;
  return kernel(std::forward<Arguments>(arguments)...);
}

/// Run a kernel and return the array that it writes, its last argument; None if it returns false.
template <class T, int N, class Kernel, class... Arguments>
nb::object run_into_new(const npy_intp (&shape)[N], Kernel kernel, Arguments&&... arguments) {
  constexpr int type = std::is_floating_point_v<T> ? NPY_DOUBLE : NPY_INT64;
  const nb::object array = nb::steal(PyArray_SimpleNew(N, shape, type));
  if (!array.is_valid()) throw nb::python_error();
  std::conditional_t<N == 1, std::span<T>, View<T>> view;
  load_view(array.ptr(), view);
  if constexpr (std::is_same_v<decltype(run(kernel, arguments..., view)), bool>) {
    if (!run(kernel, std::forward<Arguments>(arguments)..., view)) return nb::none();
  } else {
    run(kernel, std::forward<Arguments>(arguments)..., view);
  }
  return array;
}

template <class T = double, class... Arguments>
nb::object new_vector(std::size_t size, Arguments&&... arguments) {
  return run_into_new<T>({static_cast<npy_intp>(size)}, std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
nb::object new_matrix(std::size_t rows, std::size_t columns, Arguments&&... arguments) {
  return run_into_new<double>({static_cast<npy_intp>(rows), static_cast<npy_intp>(columns)}, std::forward<Arguments>(arguments)...);
}

// Checks of arguments that several groups have.

inline void require_square(ConstMatrix matrix, std::size_t d, const char* name) {
  require(matrix.rows == d && matrix.columns == d, name, "[d, d]");
}

/// Require features of arms by coordinate.
inline void require_arms(ConstMatrix by_coordinate, std::size_t d) {
  require(by_coordinate.rows == d && by_coordinate.columns > 0, "by_coordinate", "features of arms, [d, K]");
}

/// Require the number of an arm, or -1 where `least` is that: none.
inline void require_arm(std::int64_t arm, std::size_t arms, std::int64_t least) {
  require(arm >= least && arm < static_cast<std::int64_t>(arms), "arm", least < 0 ? "-1 or the number of an arm" : "the number of an arm");
}

/// Require a count of pulls that one more can be added to; arm -1 is none.
inline void require_count(ConstInts pulls, std::int64_t arm) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  require(arm < 0 || (pulls[static_cast<std::size_t>(arm)] >= 0 && pulls[static_cast<std::size_t>(arm)] < most), "pulls",
          "counts from 0 to 2^62");
}

/// Return the dimension d of a ridge regression's state (ridge_state.hpp).
inline std::size_t dim_of_state(ConstMatrix state) {
  const std::size_t d = state.columns, rest = state.rows - 3 * d;
  require(d > 0 && state.rows > 3 * d && (rest == 9 || rest == 11), "state", "a ridge regression, [3d + 9, d] or [3d + 11, d]");
  return d;
}

inline bool fades(ConstMatrix state) { return state.rows == 3 * state.columns + 11; }

/// Return how scales are learned, from a tuple (`scales` or None, `strength`, `sizes_given`, `intercept`): not at all for None.
inline ScaleLearning learning_of(const std::optional<nb::tuple>& learning, std::size_t d) {
  if (!learning) return {};
  require(learning->size() == 4, "learning", "None or a tuple of 4");
  const auto item = [&](std::size_t i, const char* name) { return Fields(nb::object((*learning)[i]), name); };
  const Fields scales = item(0, "scales");
  const Matrix known = scales.is_none() ? Matrix{} : static_cast<Matrix>(scales);
  require(scales.is_none() || (known.rows == 6 && known.columns == d), "scales", "None or [6, d]");
  return {known, item(1, "strength"), item(2, "sizes_given"), item(3, "intercept")};
}

/// Return a link that the core knows, by its code; the identity for None.
inline Link link_of(std::optional<std::int64_t> code) {
  require(!code || *code == static_cast<std::int64_t>(Link::logistic) || *code == static_cast<std::int64_t>(Link::identity), "link",
          "None or the code of a link that the core knows");
  return code ? static_cast<Link>(*code) : Link::identity;
}

/// Return an observation: features [d] and a reward; with an `origin` [1] the state has a constant feature more.
inline Observation observation_of(ConstVector x, double y, std::optional<Vector> origin, std::size_t d,
                                  std::optional<std::int64_t> link = {}) {
  require(!origin || origin->size() == 1, "origin", "None or an array of 1 number");
  require(x.size() + (origin ? 1 : 0) == d, "x", "one number for each feature of the state");
  require(!origin || !link, "link", "None where there is an origin");
  return {x, y, origin.value_or(Vector{}), link_of(link)};
}

void bind_glm(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_networks(nb::module_& module);
void bind_recipes(nb::module_& module);
void bind_search(nb::module_& module);
void bind_simulation(nb::module_& module);

}  // namespace ensample

namespace nanobind::detail {

/// Arguments that are views of NumPy arrays; anything that `borrow_array` refuses is a TypeError.
template <class View_>
struct view_caster {
  NB_TYPE_CASTER(View_, const_name("numpy.ndarray"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept { return ensample::load_view(object.ptr(), value); }
};

template <>
struct type_caster<ensample::Generator> {
  NB_TYPE_CASTER(ensample::Generator, const_name("numpy.random.Generator"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept { return ensample::load_generator(object, value); }
};
template <class T>
struct type_caster<std::span<T>> : view_caster<std::span<T>> {};
template <class T>
struct type_caster<ensample::View<T>> : view_caster<ensample::View<T>> {};
template <class T>
struct type_caster<ensample::MatrixStack<T>> : view_caster<ensample::MatrixStack<T>> {};

}  // namespace nanobind::detail
