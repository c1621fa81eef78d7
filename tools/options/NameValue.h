//===- NameValue.h - Options of the form name=value ---------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_NAMEVALUE_H
#define UPDRAFT_TOOLS_OPTIONS_NAMEVALUE_H

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace updraft {

/// Takes one argument at a time, because the next argument may be the file.
inline void addNameValues(CLI::App &app, const std::string &flag, std::vector<std::string> &values,
                          const std::string &help, const std::string &form) {
  app.add_option(flag, values, help)->type_name(form)->delimiter(',')->allow_extra_args(false);
}

inline void addStorage(CLI::App &app, std::vector<std::string> &storage) {
  addNameValues(app, "--storage", storage,
                "name=TYPE: how param, grad, a state, or every state is stored: f32, f64, bf16 or\n"
                "f16; all but grad also as bf16_stochastic or bf16_corrected; a state also as\n"
                "q8_linear or q8_companded",
                "NAME=TYPE");
}

/// Empty if the text doesn't have this form.
inline std::optional<std::pair<std::string, std::string>> splitNameValue(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos || equals + 1 == text.size())
    return std::nullopt;
  return std::pair(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
}

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_NAMEVALUE_H
