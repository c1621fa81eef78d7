//===- Command.cpp - The command that makes a report ------------------------------------------===//

#include "Command.h"

#include "updraft/Driver/CompileRequest.h"

using namespace updraft;

namespace {

constexpr llvm::StringLiteral output = " -o report.html";

std::string quoted(llvm::StringRef word) {
  if (!word.empty() && word.find_first_of(" \t\n'\"\\$`*?[]{}()<>|&;#~!") == llvm::StringRef::npos)
    return word.str();
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

} // namespace

std::string updraft::nameToSave(const CompileRequest &rule) {
  llvm::StringRef name = rule.filename;
  if (!name.consume_front("<") || !name.consume_back(">"))
    return "";
  return name.str() + ".upd";
}

std::string updraft::commandOf(const ReportRequest &request) {
  const CompileRequest &rule = request.rule;
  const std::string saved = nameToSave(rule);
  std::string text = "updraftc report " + quoted(saved.empty() ? rule.filename : saved);
  auto add = [&](llvm::StringRef option, llvm::StringRef value) {
    text += " " + option.str() + "=" + quoted(value);
  };
  if (!rule.rule.rule.empty())
    add("--rule", rule.rule.rule);
  for (const auto &[name, value] : rule.rule.settings)
    text += " --set " + quoted(name + "=" + value);
  for (const auto &[name, type] : rule.rule.storage)
    text += " --storage " + quoted(name + "=" + storageTypeName(type).str());
  for (const std::string &probe : rule.rule.probes)
    text += " --probe " + quoted(probe);
  if (rule.rule.numerics != "ieee")
    add("--numerics", rule.rule.numerics);
  add("--target", rule.gpu ? rule.gpu->name : rule.target.name);
  if (request.alsoFor)
    add("--also-for", request.alsoFor->name);
  return text + output.str();
}

std::string updraft::withRunFiles(llvm::StringRef command, llvm::ArrayRef<RunFile> files) {
  std::string names;
  for (const RunFile &file : files)
    names += (names.empty() ? "" : ",") + file.name;
  command.consume_back(output);
  return (command.substr(0, command.find(" --run=")) + " --run=" + quoted(names) + output).str();
}
