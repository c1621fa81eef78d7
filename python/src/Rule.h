//===- Rule.h - A compiled rule, in Python ------------------------------------------*- C++ -*-===//
// Owns a upd_rule and the input of its compilation, so that its stages can be printed later.
//===---------------------------------------------------------------------------------------===//

#ifndef UPDRAFT_PYTHON_RULE_H
#define UPDRAFT_PYTHON_RULE_H

#include "updraft-c/compiler.h"

#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace updraft::python {

/// The origin of a generated source: files with path and text, and spans as in upd_source_span.
struct Origins {
  using Span = std::tuple<size_t, size_t, size_t, size_t, size_t, bool>;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<Span> spans;
};

/// The options of a compilation, and the memory that upd_compile_options refers to.
class CompileOptions {
public:
  CompileOptions(std::optional<std::string> rule,
                 std::vector<std::pair<std::string, std::string>> settings,
                 std::vector<std::pair<std::string, std::string>> storage,
                 std::optional<std::string> numerics, std::optional<std::string> cacheDir,
                 upd_tensors tensors, std::optional<std::string> target,
                 std::optional<Origins> origins, std::vector<std::string> probes);

  /// Valid until the next call or move.
  const upd_compile_options &get();

private:
  std::optional<std::string> rule;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::pair<std::string, std::string>> storage;
  std::optional<std::string> numerics;
  std::optional<std::string> cacheDir;
  upd_tensors tensors;
  std::optional<std::string> target;
  std::optional<Origins> origins;
  std::vector<std::string> probes;

  std::vector<upd_setting> settingPointers;
  std::vector<upd_storage> storagePointers;
  std::vector<const char *> probePointers;
  std::vector<upd_source_file> filePointers;
  std::vector<upd_source_span> spans;
  upd_source_map map{};
  upd_compile_options options{};
};

class Rule {
public:
  Rule(std::string source, std::string filename, CompileOptions options);

  upd_rule *get() const { return handle.get(); }
  std::string emit(const std::string &stage);
  /// The document of a report, as UTF-8.
  nanobind::bytes report(const std::optional<std::string> &alsoFor);

  /// Raises the error that an optimizer would raise for a group with these values.
  void checkHypers(const std::vector<std::pair<std::string, double>> &values) const;

  nanobind::dict hypers() const;
  /// The hyperparameters that static flags follow from.
  nanobind::list decidingHypers() const;
  nanobind::dict statics() const;
  nanobind::dict states() const;
  nanobind::dict stateExtents() const;
  /// Values of upd_tensors.
  nanobind::dict stateTensors() const;
  nanobind::list probes() const;
  const char *origin() const;

private:
  struct Release {
    void operator()(upd_rule *rule) const { upd_rule_release(rule); }
  };

  std::string source;
  std::string filename;
  CompileOptions options;
  std::unique_ptr<upd_rule, Release> handle;
};

/// For example "f32".
const char *dtypeName(upd_dtype dtype);

void bindRule(nanobind::module_ &module);

} // namespace updraft::python

#endif // UPDRAFT_PYTHON_RULE_H
