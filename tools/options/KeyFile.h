//===- KeyFile.h - Options that name a file with a key ------------------------------*- C++ -*-===//

#ifndef UPDRAFT_TOOLS_OPTIONS_KEYFILE_H
#define UPDRAFT_TOOLS_OPTIONS_KEYFILE_H

#include <CLI/CLI.hpp>

#include <string>

namespace updraft {

/// Adds an option for a PEM file. Refuses an empty name, as of an unset variable of a shell:
/// without a key, nothing would be checked or signed.
inline void addKeyFile(CLI::App &app, const std::string &flag, std::string &path,
                       const std::string &help, const char *typeName) {
  const auto isNamed = [](const std::string &name) {
    return std::string(name.empty() ? "name a PEM file" : "");
  };
  app.add_option(flag, path, help)->check(CLI::Validator(isNamed, ""))->type_name(typeName);
}

} // namespace updraft

#endif // UPDRAFT_TOOLS_OPTIONS_KEYFILE_H
