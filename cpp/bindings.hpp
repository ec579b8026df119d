// Shared by all bindings: NumPy arrays as views, named tuples, and how kernels become
// Python functions.
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
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels.hpp"
#include "shapes.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace ensample {

namespace nb = nanobind;

// --- Arrays --------------------------------------------------------------------------------------

/// NumPy's letter for the kind of a type: float, signed or unsigned integer.
template <class T>
constexpr char kind_of = std::is_floating_point_v<T> ? 'f'
                         : std::is_signed_v<T>       ? 'i'
                                                     : 'u';

/// Borrow a C-contiguous NumPy array of N dimensions whose items are exactly T, for one call;
/// writable unless T is const. Return false for another dtype, layout or number of dimensions:
/// nothing is copied.
template <class T, int N>
bool borrow_array(PyObject* object, T*& data, Index (&shape)[N]) {
  using Item = std::remove_const_t<T>;
  if (!PyArray_Check(object)) return false;
  auto* array = reinterpret_cast<PyArrayObject*>(object);
  const PyArray_Descr* dtype = PyArray_DESCR(array);
  if (PyArray_NDIM(array) != N || dtype->kind != kind_of<Item>) return false;
  if (PyArray_ITEMSIZE(array) != sizeof(Item)) return false;
  if (!(std::is_const_v<T> ? PyArray_ISCARRAY_RO(array) : PyArray_ISCARRAY(array))) return false;
  data = static_cast<T*>(PyArray_DATA(array));
  for (int i = 0; i < N; ++i) shape[i] = Index(PyArray_DIM(array, i));
  return true;
}

template <class T>
bool load_view(PyObject* object, std::span<T>& view) {
  T* data;
  Index shape[1];
  if (!borrow_array(object, data, shape)) return false;
  view = {data, shape[0]};
  return true;
}

template <class T>
bool load_view(PyObject* object, View<T>& view) {
  Index shape[2];
  if (!borrow_array(object, view.data, shape)) return false;
  view.rows = shape[0], view.columns = shape[1];
  return true;
}

template <class T>
bool load_view(PyObject* object, MatrixStack<T>& view) {
  Index shape[3];
  if (!borrow_array(object, view.data, shape)) return false;
  view.count = shape[0], view.rows = shape[1], view.columns = shape[2];
  return true;
}

/// Borrow the bit generator of a numpy.random.Generator; return false for anything else.
inline bool load_generator(nb::handle value, Generator& generator) {
  const nb::object bit_generator = nb::getattr(value, "bit_generator", nb::none());
  const nb::object capsule = nb::getattr(bit_generator, "capsule", nb::none());
  if (!PyCapsule_IsValid(capsule.ptr(), "BitGenerator")) return false;
  generator.bits = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
  return true;
}

// --- Named tuples --------------------------------------------------------------------------------

/// Raise TypeError "argument `name`: expected <expected>", whatever error there was.
[[noreturn]] inline void raise_type_error(const char* name, const char* expected) {
  PyErr_Clear();
  PyErr_Format(PyExc_TypeError, "argument `%s`: expected %s", name, expected);
  throw nb::python_error();
}

/// Fields of a named tuple, by name, and the values of such a field. Its arrays outlive the call:
/// the caller holds the tuple.
class Fields {
 public:
  Fields(nb::object tuple, Symbols& symbols) : Fields(std::move(tuple), "", {}, symbols) {}
  Fields(nb::object value, const char* name, const Shape& shape, Symbols& symbols)
      : value(std::move(value)), name(name), shape(shape), symbols(symbols) {}

  Fields operator[](const char* field) const { return (*this)(field, {}); }
  /// A field whose shape, or bounds, are checked.
  Fields operator()(const char* field, const Shape& shape) const {
    PyObject* found = PyObject_GetAttrString(value.ptr(), field);
    if (found == nullptr) raise_type_error(field, "a field of a named tuple");
    return Fields(nb::steal(found), field, shape, symbols);
  }
  nb::handle object() const { return value; }

  operator double() const { return scalar<double>("a number"); }
  operator Int() const { return checked(scalar<Int>("an integer")); }
  operator bool() const { return scalar<bool>("a boolean"); }
  /// An empty generator for None.
  operator Generator() const {
    Generator generator{nullptr};
    if (!value.is_none() && !load_generator(value, generator))
      raise_type_error(name, "a numpy.random.Generator or None");
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
  Shape shape;
  Symbols& symbols;

  template <class T>
  T checked(T found) const {
    symbols.require(found, name, shape);
    return found;
  }
  template <class Array>
  Array view(const char* expected) const {
    Array result;
    require(load_view(value.ptr(), result), name, expected);
    return checked(result);
  }
  template <class T>
  T scalar(const char* expected) const {
    T result;
    if (!nb::try_cast(value, result)) raise_type_error(name, expected);
    return result;
  }
};

inline bool is_link(Int code) { return code == Int(Link::identity) || code == Int(Link::logistic); }

// --- Calls ---------------------------------------------------------------------------------------

/// Default floating-point mode: a library built with fast-math may have set the processor to flush
/// small numbers to zero.
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
  static constexpr unsigned flags = 0x3f, usual = 0x1f80;  // exceptions that occurred; all masked
  unsigned saved;
#endif
};

/// Call a function, or a kernel of the level in use, without the GIL and in default floating-point
/// mode.
template <class Function, class... Arguments>
auto run(Function function, Arguments&&... arguments) {
  const nb::gil_scoped_release release;
  const DefaultFloatingPoint mode;
  if constexpr (std::is_member_pointer_v<Function>)
    return (kernels->*function)(std::forward<Arguments>(arguments)...);
  else
    return function(std::forward<Arguments>(arguments)...);
}

/// An argument of a Python function: its name and its shape.
struct Parameter {
  const char* name;
  Shape shape;

  consteval Parameter(const char* name, const Shape& shape = {}) : name(name), shape(shape) {}
};

/// Check all arguments of a call against their shapes.
template <Index N, class... Arguments>
Symbols checked(const std::array<Parameter, N>& parameters, const Arguments&... arguments) {
  Symbols symbols;
  const Parameter* next = parameters.data();
  ((symbols.read(next->name, next->shape, arguments), ++next), ...);
  next = parameters.data();
  ((symbols.check(next->name, next->shape, arguments), ++next), ...);
  return symbols;
}

template <class T>
constexpr bool may_be_none = std::is_same_v<T, ScaleLearning> || std::is_same_v<T, Link>;
template <class T>
constexpr bool may_be_none<std::optional<T>> = true;

template <class T>
auto named(const char* name) {
  if constexpr (may_be_none<std::remove_cvref_t<T>>)
    return nb::arg(name) = nb::none();
  else
    return nb::arg(name);
}

/// A new NumPy array, and a view of it.
template <class View_>
std::pair<nb::object, View_> new_array(const Sizes& sizes) {
  npy_intp shape[3];
  for (Index i = 0; i < sizes.count; ++i) shape[i] = static_cast<npy_intp>(sizes.values[i]);
  constexpr int type = std::is_same_v<View_, Ints> ? NPY_INT64 : NPY_DOUBLE;
  PyObject* array = PyArray_SimpleNew(static_cast<int>(sizes.count), shape, type);
  if (array == nullptr) throw nb::python_error();
  View_ view;
  load_view(array, view);
  return {nb::steal(array), view};
}

/// The result and the arguments of a function, or of a kernel in the table.
template <class Function>
struct Signature;
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Result = R;
  using Arguments = std::tuple<A...>;
};
template <class R, class... A>
struct Signature<R (*Kernels::*)(A...)> : Signature<R (*)(A...)> {};

template <class Function, Index N, Index... I>
void define(nb::module_& module, const char* name, Function function, const Parameter (&given)[N],
            const Shape& result, std::index_sequence<I...>) {
  using Arguments = typename Signature<Function>::Arguments;
  using Last = std::tuple_element_t<std::tuple_size_v<Arguments> - 1, Arguments>;
  const auto call = [function, parameters = std::to_array(given),
                     result](std::tuple_element_t<I, Arguments>... arguments) {
    const Symbols symbols = checked(parameters, arguments...);
    (void)result;  // not used where no array is returned
    if constexpr (std::tuple_size_v<Arguments> == N) {
      return run(function, arguments...);
    } else {
      const auto [array, view] = new_array<Last>(symbols.of(result));
      bool is_written = true;
      if constexpr (std::is_same_v<typename Signature<Function>::Result, bool>)
        is_written = run(function, arguments..., view);
      else
        run(function, arguments..., view);
      return is_written ? array : nb::object(nb::none());
    }
  };
  module.def(name, call, named<std::tuple_element_t<I, Arguments>>(given[I].name)...);
}

/// Make a Python function that checks its arguments and then calls a function or a kernel.
template <class Function, Index N>
void bind(nb::module_& module, const char* name, Function function,
          const Parameter (&parameters)[N]) {
  define(module, name, function, parameters, {}, std::make_index_sequence<N>());
}

/// The same of one that writes an array, its last argument. Python's function returns that array,
/// or None where false is returned.
template <class Function, Index N>
void bind(nb::module_& module, const char* name, Function function,
          const Parameter (&parameters)[N], const Shape& result) {
  define(module, name, function, parameters, result, std::make_index_sequence<N>());
}

void bind_linear(nb::module_& module);
void bind_models(nb::module_& module);
void bind_simulation(nb::module_& module);

}  // namespace ensample

namespace nanobind::detail {

/// Arguments that are views of NumPy arrays; anything that `borrow_array` refuses is a TypeError.
template <class View_>
struct view_caster {
  NB_TYPE_CASTER(View_, const_name("numpy.ndarray"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    return ensample::load_view(object.ptr(), value);
  }
};
template <class T>
struct type_caster<std::span<T>> : view_caster<std::span<T>> {};
template <class T>
struct type_caster<ensample::View<T>> : view_caster<ensample::View<T>> {};
template <class T>
struct type_caster<ensample::MatrixStack<T>> : view_caster<ensample::MatrixStack<T>> {};

template <>
struct type_caster<ensample::Generator> {
  NB_TYPE_CASTER(ensample::Generator, const_name("numpy.random.Generator"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    return ensample::load_generator(object, value);
  }
};

/// The code of a link; None is the identity.
template <>
struct type_caster<ensample::Link> {
  NB_TYPE_CASTER(ensample::Link, const_name("int | None"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    ensample::Int code = ensample::Int(ensample::Link::identity);
    if (!object.is_none() && !(try_cast(object, code) && ensample::is_link(code))) return false;
    value = static_cast<ensample::Link>(code);
    return true;
  }
};

/// A tuple of `scales` or None, `strength`, `sizes_given` and `intercept`; None where nothing is
/// learned.
template <>
struct type_caster<ensample::ScaleLearning> {
  NB_TYPE_CASTER(ensample::ScaleLearning, const_name("tuple | None"))
  bool from_python(handle object, std::uint8_t, cleanup_list*) noexcept {
    value = {};
    if (object.is_none()) return true;
    if (!PyTuple_Check(object.ptr()) || PyTuple_Size(object.ptr()) != 4) return false;
    const auto item = [&](Py_ssize_t i) { return handle(PyTuple_GetItem(object.ptr(), i)); };
    if (!item(0).is_none() && !ensample::load_view(item(0).ptr(), value.scales)) return false;
    return try_cast(item(1), value.strength) && try_cast(item(2), value.sizes_given) &&
           try_cast(item(3), value.intercept);
  }
};

}  // namespace nanobind::detail
