// The Python module ensample._core.
#define ENSAMPLE_IMPORTS_NUMPY
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

namespace ensample {
namespace {

std::vector<std::string> levels() {
  std::vector<std::string> names;
  for (const auto* level : usable_kernels()) names.emplace_back(level->level);
  return names;
}

void use_level(const std::string& name) {
  for (const auto* level : usable_kernels())
    if (name == level->level) {
      kernels = level;
      return;
    }
  PyErr_Format(PyExc_ValueError, "argument `level`: expected one of levels(), got '%s'",
               name.c_str());
  throw nb::python_error();
}

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

}  // namespace
}  // namespace ensample

NB_MODULE(_core, module) {
  using namespace ensample;
  import_numpy();
  module.doc() =
      "Compiled kernels of ensample. Arrays are float64 and C-contiguous; shapes are checked, "
      "nothing is copied.";
  module.def("levels", &levels,
             "Return the instruction-set levels that this build has and this machine can run.");
  module.def("level", [] { return std::string(kernels->level); }, "Return the level in use.");
  module.def("use_level", &use_level, nb::arg("level"),
             "Use the kernels of another level; all levels give the same bits.");
  bind_linear(module);
  bind_models(module);
  bind_simulation(module);
}
