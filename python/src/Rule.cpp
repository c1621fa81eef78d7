//===- Rule.cpp - A compiled rule, in Python --------------------------------------------------===//

#include "Rule.h"

#include "InterpreterExit.h"
#include "Status.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace updraft::python;

CompileOptions::CompileOptions(std::optional<std::string> rule,
                               std::vector<std::pair<std::string, std::string>> settings,
                               std::vector<std::pair<std::string, std::string>> storage,
                               std::optional<std::string> numerics,
                               std::optional<std::string> cacheDir, upd_tensors tensors,
                               std::optional<std::string> target, std::optional<Origins> origins,
                               std::vector<std::string> probes)
    : rule(std::move(rule)), settings(std::move(settings)), storage(std::move(storage)),
      numerics(std::move(numerics)), cacheDir(std::move(cacheDir)), tensors(tensors),
      target(std::move(target)), origins(std::move(origins)), probes(std::move(probes)) {}

const upd_compile_options &CompileOptions::get() {
  settingPointers.clear();
  for (const auto &[name, value] : settings)
    settingPointers.push_back({name.c_str(), value.c_str()});
  storagePointers.clear();
  for (const auto &[name, type] : storage)
    storagePointers.push_back({name.c_str(), type.c_str()});

  probePointers.clear();
  for (const std::string &probe : probes)
    probePointers.push_back(probe.c_str());

  options.struct_size = sizeof(options);
  options.probes = probePointers.data();
  options.probe_count = probePointers.size();
  options.rule = rule ? rule->c_str() : nullptr;
  options.settings = settingPointers.data();
  options.setting_count = settingPointers.size();
  options.storage = storagePointers.data();
  options.storage_count = storagePointers.size();
  options.numerics = numerics ? numerics->c_str() : nullptr;
  options.cache_dir = cacheDir ? cacheDir->c_str() : nullptr;
  options.tensors = tensors;
  options.target = target ? target->c_str() : nullptr;
  options.origins = origins ? &map : nullptr;
  if (!origins)
    return options;
  filePointers.clear();
  for (const auto &[path, text] : origins->files)
    filePointers.push_back({path.c_str(), text.data(), text.size()});
  spans.clear();
  for (const auto &[begin, end, file, originBegin, originEnd, isCall] : origins->spans)
    spans.push_back({begin, end, file, originBegin, originEnd, isCall});
  map = {filePointers.data(), filePointers.size(), spans.data(), spans.size()};
  return options;
}

Rule::Rule(std::string sourceText, std::string sourceName, CompileOptions compileOptions)
    : source(std::move(sourceText)), filename(std::move(sourceName)),
      options(std::move(compileOptions)) {
  upd_rule *rule = nullptr;
  upd_status status;
  {
    WithoutGIL withoutGIL;
    status = upd_compile(source.data(), source.size(), filename.c_str(), &options.get(), &rule);
  }
  check(status);
  handle.reset(rule);
}

std::string Rule::emit(const std::string &stage) {
  // Uses a copy of the options, so that several threads can print the same rule.
  CompileOptions mine = options;
  char *text = nullptr;
  upd_status status;
  {
    WithoutGIL withoutGIL;
    status =
        upd_emit(source.data(), source.size(), filename.c_str(), &mine.get(), stage.c_str(), &text);
  }
  check(status);
  std::unique_ptr<char, decltype(&upd_string_release)> owned(text, upd_string_release);
  return owned.get();
}

nb::bytes Rule::report(const std::optional<std::string> &alsoFor) {
  CompileOptions mine = options;
  char *document = nullptr;
  upd_status status;
  {
    WithoutGIL withoutGIL;
    status = upd_report(source.data(), source.size(), filename.c_str(), &mine.get(),
                        alsoFor ? alsoFor->c_str() : nullptr, &document);
  }
  check(status);
  std::unique_ptr<char, decltype(&upd_string_release)> owned(document, upd_string_release);
  return nb::bytes(owned.get());
}

void Rule::checkHypers(const std::vector<std::pair<std::string, double>> &values) const {
  std::vector<upd_hyper> hypers;
  hypers.reserve(values.size());
  for (const auto &[name, value] : values)
    hypers.push_back({name.c_str(), value});
  check(upd_rule_check_hypers(get(), hypers.data(), hypers.size()));
}

nb::dict Rule::hypers() const {
  nb::dict result;
  for (size_t i = 0, count = upd_rule_hyper_count(get()); i < count; ++i)
    result[upd_rule_hyper_name(get(), i)] = upd_rule_hyper_default(get(), i);
  return result;
}

nb::list Rule::decidingHypers() const {
  nb::list result;
  for (size_t i = 0, count = upd_rule_hyper_count(get()); i < count; ++i)
    if (upd_rule_hyper_decides_flag(get(), i))
      result.append(upd_rule_hyper_name(get(), i));
  return result;
}

nb::dict Rule::statics() const {
  nb::dict result;
  for (size_t i = 0, count = upd_rule_static_count(get()); i < count; ++i)
    result[upd_rule_static_name(get(), i)] = upd_rule_static_value(get(), i);
  return result;
}

static const char *extentName(upd_extent extent) {
  switch (extent) {
  case UPD_EXTENT_GROUP:
    return "group";
  case UPD_EXTENT_TENSOR:
    return "tensor";
  case UPD_EXTENT_BATCH:
    return "batch";
  case UPD_EXTENT_ROW:
    return "row";
  case UPD_EXTENT_COLUMN:
    return "column";
  case UPD_EXTENT_ELEMENT:
    return "element";
  case UPD_EXTENT_ROWS_BY_ROWS:
    return "rows_by_rows";
  case UPD_EXTENT_COLUMNS_BY_COLUMNS:
    return "columns_by_columns";
  case UPD_EXTENT_CHOSEN_BY_COLUMNS: // no state is over these
  case UPD_EXTENT_ROWS_BY_CHOSEN:
  case UPD_EXTENT_CHOSEN_BY_CHOSEN:
    break;
  }
  return "unknown";
}

nb::dict Rule::stateExtents() const {
  nb::dict result;
  for (size_t i = 0, count = upd_rule_state_count(get()); i < count; ++i)
    result[upd_rule_state_name(get(), i)] = extentName(upd_rule_state_extent(get(), i));
  return result;
}

nb::dict Rule::stateTensors() const {
  nb::dict result;
  for (size_t i = 0, count = upd_rule_state_count(get()); i < count; ++i)
    result[upd_rule_state_name(get(), i)] = static_cast<int>(upd_rule_state_tensors(get(), i));
  return result;
}

nb::dict Rule::states() const {
  nb::dict result;
  for (size_t i = 0, count = upd_rule_state_count(get()); i < count; ++i)
    result[upd_rule_state_name(get(), i)] = dtypeName(upd_rule_state_dtype(get(), i));
  return result;
}

nb::list Rule::probes() const {
  nb::list result, bounds;
  for (size_t i = 0, count = upd_rule_probe_count(get()); i < count; ++i) {
    const double end = upd_rule_probe_end(get(), i);
    if (std::isfinite(end)) {
      bounds.append(end);
      continue;
    }
    result.append(nb::make_tuple(upd_rule_probe_name(get(), i), nb::tuple(bounds)));
    bounds = nb::list();
  }
  return result;
}

const char *Rule::origin() const {
  switch (upd_rule_origin(get())) {
  case UPD_COMPILED:
    return "compiled";
  case UPD_FROM_MEMORY:
    return "memory";
  case UPD_FROM_DISK:
    return "disk";
  case UPD_FROM_PACKAGE:
    return "package";
  case UPD_LINKED:
    return "linked";
  }
  return "unknown";
}

const char *updraft::python::dtypeName(upd_dtype dtype) {
  switch (dtype) {
#define UPD_DTYPE(constant, name, bytes)                                                           \
  case constant:                                                                                   \
    return name;
#include "updraft-c/dtypes.def"
  }
  return "unknown";
}

static std::string bytesOf(const nb::bytes &bytes) { return {bytes.c_str(), bytes.size()}; }

void updraft::python::bindRule(nb::module_ &module) {
  nb::class_<Rule>(module, "Rule")
      .def(
          "__init__",
          [](Rule *self, nb::bytes source, std::string filename, std::optional<std::string> rule,
             std::vector<std::pair<std::string, std::string>> settings,
             std::vector<std::pair<std::string, std::string>> storage,
             std::optional<std::string> numerics, std::optional<std::string> cacheDir, int tensors,
             std::optional<std::string> target, std::vector<std::pair<nb::bytes, nb::bytes>> files,
             std::vector<Origins::Span> spans, std::vector<std::string> probes) {
            std::optional<Origins> origins;
            if (!spans.empty())
              origins.emplace().spans = std::move(spans);
            for (const auto &[path, text] : files)
              if (origins)
                origins->files.emplace_back(bytesOf(path), bytesOf(text));
            new (self) Rule(bytesOf(source), std::move(filename),
                            CompileOptions(std::move(rule), std::move(settings), std::move(storage),
                                           std::move(numerics), std::move(cacheDir),
                                           static_cast<upd_tensors>(tensors), std::move(target),
                                           std::move(origins), std::move(probes)));
          },
          nb::arg("source"), nb::arg("filename"), nb::arg("rule").none(), nb::arg("settings"),
          nb::arg("storage"), nb::arg("numerics").none(), nb::arg("cache_dir").none(),
          nb::arg("tensors"), nb::arg("target").none(), nb::arg("origin_files") = nb::list(),
          nb::arg("origin_spans") = nb::list(), nb::arg("probes") = nb::list())
      .def_prop_ro("name", [](const Rule &rule) { return upd_rule_name(rule.get()); })
      .def_prop_ro("origin", &Rule::origin)
      .def_prop_ro("target", [](const Rule &rule) { return upd_rule_target(rule.get()); })
      .def_prop_ro("compute_dtype",
                   [](const Rule &rule) { return dtypeName(upd_rule_compute_dtype(rule.get())); })
      .def_prop_ro("numerics", [](const Rule &rule) { return upd_rule_numerics(rule.get()); })
      .def_prop_ro("depends_on",
                   [](const Rule &rule) { return extentName(upd_rule_depends_on(rule.get())); })
      .def_prop_ro("uses_rows",
                   [](const Rule &rule) { return upd_rule_uses_rows(rule.get()) != 0; })
      .def_prop_ro("statics", &Rule::statics)
      .def_prop_ro("address",
                   [](const Rule &rule) { return reinterpret_cast<uintptr_t>(rule.get()); })
      .def_prop_ro("hypers", &Rule::hypers)
      .def_prop_ro("deciding_hypers", &Rule::decidingHypers)
      .def_prop_ro("states", &Rule::states)
      .def_prop_ro("state_extents", &Rule::stateExtents)
      .def_prop_ro("state_tensors", &Rule::stateTensors)
      .def_prop_ro("probes", &Rule::probes)
      .def_prop_ro("param_dtype",
                   [](const Rule &rule) { return dtypeName(upd_rule_param_dtype(rule.get())); })
      .def_prop_ro("grad_dtype",
                   [](const Rule &rule) { return dtypeName(upd_rule_grad_dtype(rule.get())); })
      .def("__reduce__",
           [](const Rule &) -> nb::object {
             throw nb::type_error(
                 "a compiled rule is not pickled or copied; pickle its definition, "
                 "such as `updraft.load` returns, or its text, and compile that");
           })
      .def("check_hypers", &Rule::checkHypers, nb::arg("hypers"))
      .def("emit", &Rule::emit, nb::arg("stage"))
      .def("report", &Rule::report, nb::arg("also_for") = nb::none());
}
