//===- Language.cpp - Names of the language, in Python ----------------------------------------===//

#include "Language.h"

#include "Status.h"
#include "updraft-c/compiler.h"
#include "updraft-c/language.h"

#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <utility>
#include <vector>

namespace nb = nanobind;

void updraft::python::bindLanguage(nb::module_ &module) {
  module.def("functions", [] {
    nb::list result;
    for (size_t i = 0, count = upd_function_count(); i < count; ++i)
      result.append(nb::make_tuple(upd_function_name(i), upd_function_arity(i)));
    return result;
  });
  module.def("transforms", [] {
    nb::list result;
    for (size_t i = 0, count = upd_transform_count(); i < count; ++i)
      result.append(upd_transform_name(i));
    return result;
  });
  module.def("storage_types", [] {
    nb::list result;
    for (size_t i = 0, count = upd_storage_type_count(); i < count; ++i)
      result.append(upd_storage_type_name(i));
    return result;
  });
  module.def(
      "format",
      [](nb::bytes source, const std::string &filename) {
        char *text = nullptr;
        check(upd_format(source.c_str(), source.size(), filename.c_str(), &text));
        std::unique_ptr<char, decltype(&upd_string_release)> owned(text, upd_string_release);
        return nb::bytes(owned.get());
      },
      nb::arg("source"), nb::arg("filename"));
  module.def(
      "report_add_run",
      [](const std::string &document, const std::vector<std::pair<std::string, nb::bytes>> &given) {
        std::vector<upd_run_file> files;
        for (const auto &[name, text] : given)
          files.push_back({name.c_str(), text.c_str(), text.size()});
        char *result = nullptr;
        check(upd_report_add_run(document.c_str(), files.data(), files.size(), &result));
        std::unique_ptr<char, decltype(&upd_string_release)> owned(result, upd_string_release);
        return nb::bytes(owned.get());
      },
      nb::arg("document"), nb::arg("files"));
  module.def(
      "report_page",
      [](const std::string &document, const std::optional<std::string> &other) {
        char *page = nullptr;
        check(upd_report_page(document.c_str(), other ? other->c_str() : nullptr, &page));
        std::unique_ptr<char, decltype(&upd_string_release)> owned(page, upd_string_release);
        return nb::str(owned.get());
      },
      nb::arg("document"), nb::arg("other") = nb::none());
}
