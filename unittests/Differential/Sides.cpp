//===- Sides.cpp - The compiled and the interpreted rule of a case ----------------------------===//

#include "Sides.h"

#include "CAPI/Handles.h"
#include "updraft-c/compiler.h"
#include "updraft/Engine/Session.h"
#include "updraft/Frontend/Frontend.h"

using namespace updraft;
using namespace updraft::differential;
using reference::StorageFormat;
using testing::AssertionFailure;
using testing::AssertionSuccess;

StorageFormat updraft::differential::formatOf(upd_dtype dtype) {
  switch (dtype) {
  case UPD_F32:
    return StorageFormat::F32;
  case UPD_F64:
    return StorageFormat::F64;
  case UPD_BF16:
    return StorageFormat::BF16;
  case UPD_F16:
    return StorageFormat::F16;
  }
  return StorageFormat::F32;
}

upd_dtype updraft::differential::dtypeOf(StorageFormat format) {
  switch (format) {
  case StorageFormat::F32:
    return UPD_F32;
  case StorageFormat::F64:
    return UPD_F64;
  case StorageFormat::BF16:
    return UPD_BF16;
  case StorageFormat::F16:
    return UPD_F16;
  }
  return UPD_F32;
}

/// The C API knows this machine only.
static llvm::Expected<RuleHandle> compileForTarget(const RuleCase &ruleCase) {
  llvm::Expected<CPUTarget> target = CPUTarget::named(ruleCase.target);
  if (!target)
    return target.takeError();
  CompileRequest request;
  request.source = ruleCase.source;
  request.filename = ruleCase.filename;
  request.rule = {ruleCase.rule, ruleCase.settings, ruleCase.storage};
  request.target = std::move(*target);
  llvm::Expected<Session::Loaded> loaded = Session::get().load(request, DiskCache());
  if (!loaded)
    return loaded.takeError();
  return RuleHandle(new upd_rule{std::move(loaded->kernels), UPD_COMPILED});
}

llvm::Expected<RuleHandle> updraft::differential::compile(const RuleCase &ruleCase) {
  if (ruleCase.target != "host")
    return compileForTarget(ruleCase);
  std::vector<upd_setting> settings;
  for (const auto &[name, value] : ruleCase.settings)
    settings.push_back({name.c_str(), value.c_str()});
  std::vector<upd_storage> storage;
  for (const auto &[name, dtype] : ruleCase.storage)
    storage.push_back({name.c_str(), dtype});
  upd_compile_options options = {};
  options.struct_size = sizeof(options);
  options.rule = ruleCase.rule.empty() ? nullptr : ruleCase.rule.c_str();
  options.settings = settings.data();
  options.setting_count = settings.size();
  options.storage = storage.data();
  options.storage_count = storage.size();
  options.cache_dir = "";
  upd_rule *rule = nullptr;
  if (upd_compile(ruleCase.source.data(), ruleCase.source.size(), ruleCase.filename.c_str(),
                  &options, &rule) != UPD_OK)
    return llvm::createStringError(llvm::Twine("compiling: ") + upd_last_error());
  return RuleHandle(rule);
}

llvm::Expected<reference::Interpreter>
updraft::differential::interpret(const RuleCase &ruleCase, reference::Precision precision) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine diagnostics;
  auto program = parseProgram(ruleCase.source, ruleCase.filename, diagnostics);
  if (!program)
    return llvm::createStringError("parsing: " + diagnostics.render());
  auto imported = importRule(context, *program,
                             {ruleCase.rule, ruleCase.settings, ruleCase.storage}, diagnostics);
  if (!imported)
    return llvm::createStringError("importing: " + diagnostics.render());
  return reference::Interpreter::create(*imported->module->getOps<RuleOp>().begin(), precision);
}

testing::AssertionResult
updraft::differential::interfacesAgree(const upd_rule &rule,
                                       const reference::Interpreter &interpreter) {
  const auto &names = interpreter.hyperNames();
  if (upd_rule_hyper_count(&rule) != names.size())
    return AssertionFailure() << "compiled: " << upd_rule_hyper_count(&rule)
                              << " hyperparameters, interpreted: " << names.size();
  for (size_t i = 0; i < names.size(); ++i)
    if (upd_rule_hyper_name(&rule, i) != names[i] ||
        upd_rule_hyper_default(&rule, i) != interpreter.hyperDefaults()[i])
      return AssertionFailure() << "hyperparameter " << i << ": compiled "
                                << upd_rule_hyper_name(&rule, i) << " = "
                                << upd_rule_hyper_default(&rule, i) << ", interpreted " << names[i]
                                << " = " << interpreter.hyperDefaults()[i];

  const auto &streams = interpreter.streams();
  if (formatOf(upd_rule_param_dtype(&rule)) != streams[0].format ||
      formatOf(upd_rule_grad_dtype(&rule)) != streams[1].format)
    return AssertionFailure() << "the types of param or grad differ";
  if (upd_rule_state_count(&rule) != interpreter.stateCount())
    return AssertionFailure() << "compiled: " << upd_rule_state_count(&rule)
                              << " states, interpreted: " << interpreter.stateCount();
  for (size_t i = 0; i < interpreter.stateCount(); ++i)
    if (upd_rule_state_name(&rule, i) != streams[i + 2].name ||
        formatOf(upd_rule_state_dtype(&rule, i)) != streams[i + 2].format)
      return AssertionFailure() << "state " << i << " is compiled as "
                                << upd_rule_state_name(&rule, i) << ", interpreted as "
                                << streams[i + 2].name << ", or their types differ";
  return AssertionSuccess();
}
