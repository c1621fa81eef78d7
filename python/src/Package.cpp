//===- Package.cpp - A package, in Python -----------------------------------------------------===//

#include "Package.h"

#include "Status.h"
#include "updraft-c/package.h"

#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>

namespace nb = nanobind;
using namespace updraft::python;

namespace {
/// Opens a package to check it and to read its texts. Rules are compiled from its bytes.
class Package {
public:
  Package(const nb::bytes &content, const std::string &filename,
          const std::optional<std::string> &requiredKey)
      : handle(nullptr, upd_package_release) {
    upd_package_options options{};
    options.struct_size = sizeof(options);
    options.name = filename.c_str();
    options.required_key = requiredKey ? requiredKey->c_str() : nullptr;
    upd_package *opened = nullptr;
    check(upd_package_open_buffer(content.c_str(), content.size(), &options, &opened));
    handle.reset(opened);
  }

  std::string info() const { return upd_package_info(handle.get()); }

  nb::bytes source() const {
    const char *text = upd_package_source(handle.get(), 0);
    return nb::bytes(text ? text : "");
  }

private:
  std::unique_ptr<upd_package, decltype(&upd_package_release)> handle;
};
} // namespace

void updraft::python::bindPackage(nb::module_ &module) {
  nb::class_<Package>(module, "Package")
      .def(nb::init<const nb::bytes &, const std::string &, const std::optional<std::string> &>(),
           nb::arg("content"), nb::arg("filename"), nb::arg("required_key").none() = nb::none())
      .def_prop_ro("info", &Package::info)
      .def_prop_ro("source", &Package::source);
}
