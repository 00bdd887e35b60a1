// SPDX-License-Identifier: Apache-2.0
// The Python face of configuration: what the simulator makes of a machine's description, which keys it has, and its
// errors as data.
#include "exanet/bindings/configuration.hpp"

#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

// Raises the Python class `type` with the error's problems as an attribute.
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ConfigError& error) {
    nb::list problems;
    for (const ConfigProblem& problem : error.problems()) problems.append(nb::make_tuple(problem.path, problem.text));
    nb::object made = nb::handle(static_cast<PyObject*>(type))(error.what());
    made.attr("problems") = problems;
    PyErr_SetObject(static_cast<PyObject*>(type), made.ptr());
  }
}

}  // namespace

void bind_configuration(nb::module_& m) {
  PyObject* type = PyErr_NewException("exanet._core.ConfigError", PyExc_ValueError,
                                      nullptr);  // lives as long as the module's translator
  m.attr("ConfigError") = nb::handle(type);
  nb::register_exception_translator(&translate, type);
  m.def("configuration", [](const nb::dict& machine) { return ConfigWriter::write(machine_of(machine)); }, "machine"_a);
  m.def("configuration_keys", [] { return ConfigLister::list<MachineConfig>(); });
}

}  // namespace exanet
