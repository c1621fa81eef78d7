//===- updraft/Compiler.h - Compiling rules -----------------------------------------*- C++ -*-===//
// These functions need libupdraft: libupdraft-runtime has no compiler.

#ifndef UPDRAFT_COMPILER_H
#define UPDRAFT_COMPILER_H

#include "updraft-c/compiler.h"
#include "updraft/Rule.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace updraft {
inline namespace v1 {

/// upd_compile_options says what each member means. Members without a value have its default.
struct CompileOptions {
  struct Setting {
    std::string name;
    std::string value; // as written in the language
  };
  struct Storage {
    std::string name;
    std::string type; // as written in the language
  };
  std::optional<std::string> rule = {};
  std::vector<Setting> settings = {};
  std::vector<Storage> storage = {};
  std::optional<std::string> numerics = {};
  std::optional<std::string> cacheDir = {};
  const upd_source_map *origins = nullptr;
  upd_tensors tensors = UPD_ALL_TENSORS;
  std::optional<std::string> target = {};
  std::vector<std::string> probes = {};
};

namespace detail {
/// The options for the C API. They point into the CompileOptions.
struct OptionsForC {
  explicit OptionsForC(const CompileOptions &from) {
    settings.reserve(from.settings.size());
    storage.reserve(from.storage.size());
    for (const CompileOptions::Setting &setting : from.settings)
      settings.push_back({setting.name.c_str(), setting.value.c_str()});
    for (const CompileOptions::Storage &type : from.storage)
      storage.push_back({type.name.c_str(), type.type.c_str()});
    probes.reserve(from.probes.size());
    for (const std::string &probe : from.probes)
      probes.push_back(probe.c_str());
    options.probes = probes.data();
    options.probe_count = probes.size();
    options.struct_size = sizeof(options);
    options.rule = textOf(from.rule);
    options.settings = settings.data();
    options.setting_count = settings.size();
    options.storage = storage.data();
    options.storage_count = storage.size();
    options.numerics = textOf(from.numerics);
    options.cache_dir = textOf(from.cacheDir);
    options.origins = from.origins;
    options.tensors = from.tensors;
    options.target = textOf(from.target);
  }
  OptionsForC(const OptionsForC &) = delete;

  static const char *textOf(const std::optional<std::string> &text) {
    return text ? text->c_str() : nullptr;
  }

  std::vector<upd_setting> settings;
  std::vector<upd_storage> storage;
  std::vector<const char *> probes;
  upd_compile_options options{};
};
} // namespace detail

/// Compiles a rule of `source`. Messages call it `filename`, and imports are searched for in its
/// folder.
inline Result<Rule> compile(std::string_view source, const CompileOptions &options = {},
                            const std::string &filename = "<rule>") {
  const detail::OptionsForC c(options);
  upd_rule *rule = nullptr;
  if (const upd_status status =
          upd_compile(source.data(), source.size(), filename.c_str(), &c.options, &rule))
    return Error::last(status);
  return Rule(rule);
}

/// Compiles a rule of a file.
inline Result<Rule> compileFile(const std::string &path, const CompileOptions &options = {}) {
  const detail::OptionsForC c(options);
  upd_rule *rule = nullptr;
  if (const upd_status status = upd_compile_file(path.c_str(), &c.options, &rule))
    return Error::last(status);
  return Rule(rule);
}

/// One stage of the compilation as text. upd_emit lists the stages.
inline Result<std::string> emit(std::string_view source, const std::string &stage,
                                const CompileOptions &options = {},
                                const std::string &filename = "<rule>") {
  const detail::OptionsForC c(options);
  char *text = nullptr;
  if (const upd_status status = upd_emit(source.data(), source.size(), filename.c_str(), &c.options,
                                         stage.c_str(), &text))
    return Error::last(status);
  std::string result = text;
  upd_string_release(text);
  return result;
}

} // namespace v1
} // namespace updraft

#endif // UPDRAFT_COMPILER_H
