// What all files of bindings share: NumPy arrays as views, generators, Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "dispatch.hpp"
#include "random.hpp"
#include "views.hpp"

namespace ensample {

namespace nb = nanobind;
using namespace nb::literals;

/// C-contiguous NumPy arrays. Arguments are declared `.noconvert()`: another dtype or layout is a TypeError, never a copy.
template <class T>
using Array1 = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<T> span_of(const Array1<T>& array) {
  return {array.data(), array.shape(0)};
}

template <class T>
View<T> view_of(const Array2<T>& array) {
  return {array.data(), array.shape(0), array.shape(1)};
}

/// Raise ValueError "argument `name`: expected <expected>" unless a condition holds. Shapes are checked before a kernel runs.
inline void require(bool condition, const char* name, const char* expected) {
  if (condition) return;
  PyErr_Format(PyExc_ValueError, "argument `%s`: expected %s", name, expected);
  throw nb::python_error();
}

/// The bit generator of a numpy.random.Generator, which must outlive the result; None gives an empty generator.
inline Generator generator_of(nb::handle rng) {
  if (rng.is_none()) return {nullptr};
  const nb::object capsule = nb::getattr(nb::getattr(rng, "bit_generator"), "capsule");
  auto* bits = static_cast<bitgen_t*>(PyCapsule_GetPointer(capsule.ptr(), "BitGenerator"));
  if (bits == nullptr) throw nb::python_error();
  return {bits};
}

/// Return true if Ctrl-C was pressed (the Python exception is then set). Called without the GIL, between blocks of work.
inline bool is_interrupted() {
  nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;
}

void bind_glm(nb::module_& module);
void bind_linear(nb::module_& module);
void bind_networks(nb::module_& module);
void bind_search(nb::module_& module);
void bind_simulation(nb::module_& module);

}  // namespace ensample
