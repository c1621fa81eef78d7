//===- Sides.cpp - A case's compiled and interpreted rule -------------------------------------===//

#include "Sides.h"

#include "Updraft/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/capi/Handles.h"
#include "updraft-c/compiler.h"
#include "updraft/Engine/Session.h"
#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Numerics.h"

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
  case UPD_I8:
    return StorageFormat::I8;
    break; // not types of memory
  case UPD_Q8_LINEAR:
    return StorageFormat::Q8Linear;
  case UPD_Q8_COMPANDED:
    return StorageFormat::Q8Companded;
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
  case StorageFormat::I8:
    return UPD_I8;
  case StorageFormat::Q8Linear:
    return UPD_Q8_LINEAR;
  case StorageFormat::Q8Companded:
    return UPD_Q8_COMPANDED;
  }
  return UPD_F32;
}

static RuleRequest requestOf(const RuleCase &ruleCase) {
  RuleRequest request{ruleCase.rule, ruleCase.settings, ruleCase.storage, ruleCase.numerics};
  request.probes = ruleCase.probes;
  return request;
}

/// Compiles for any target. The C API takes no other CPU, although this one may run its code.
static llvm::Expected<RuleHandle> compileForTarget(const RuleCase &ruleCase) {
  CompileRequest request;
  if (llvm::Error error = request.setTarget(ruleCase.target))
    return error;
  request.source = ruleCase.source;
  request.filename = ruleCase.filename;
  request.rule = requestOf(ruleCase);
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
  for (const auto &[name, type] : ruleCase.storage)
    storage.push_back({name.c_str(), storageTypeName(type).data()});
  upd_compile_options options = {};
  options.struct_size = sizeof(options);
  options.rule = ruleCase.rule.empty() ? nullptr : ruleCase.rule.c_str();
  options.numerics = ruleCase.numerics.c_str();
  options.settings = settings.data();
  options.setting_count = settings.size();
  options.storage = storage.data();
  options.storage_count = storage.size();
  options.cache_dir = "";
  std::vector<const char *> probes;
  for (const std::string &probe : ruleCase.probes)
    probes.push_back(probe.c_str());
  options.probes = probes.data();
  options.probe_count = probes.size();
  upd_rule *rule = nullptr;
  if (upd_compile(ruleCase.source.data(), ruleCase.source.size(), ruleCase.filename.c_str(),
                  &options, &rule) != UPD_OK)
    return llvm::createStringError(llvm::Twine("compiling: ") + upd_last_error());
  return RuleHandle(rule);
}

static llvm::Expected<ImportedRule> import(const RuleCase &ruleCase) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  DiagnosticEngine diagnostics;
  auto program = parseProgram(ruleCase.source, ruleCase.filename, diagnostics);
  if (!program)
    return llvm::createStringError("parsing: " + diagnostics.render());
  auto imported = importRule(context, *program, requestOf(ruleCase), diagnostics);
  if (!imported)
    return llvm::createStringError("importing: " + diagnostics.render());
  if (ruleCase.numerics == fastNumerics) {
    mlir::PassManager passes(&context);
    passes.addPass(createSimplifyPass());
    passes.addPass(createRelaxPass());
    if (failed(passes.run(*imported->module)))
      return llvm::createStringError("relaxing failed");
  }
  return std::move(*imported);
}

llvm::Expected<reference::Interpreter>
updraft::differential::interpret(const RuleCase &ruleCase, reference::Precision precision) {
  auto imported = import(ruleCase);
  if (!imported)
    return imported.takeError();
  return reference::Interpreter::create(formsIn<RuleOp>(*imported->module)[0], precision);
}

llvm::Expected<std::vector<reference::Interpreter>>
updraft::differential::interpretForms(const RuleCase &ruleCase) {
  auto imported = import(ruleCase);
  if (!imported)
    return imported.takeError();
  std::vector<reference::Interpreter> forms;
  for (RuleOp rule : formsIn<RuleOp>(*imported->module)) {
    auto interpreter = reference::Interpreter::create(rule);
    if (!interpreter)
      return interpreter.takeError();
    forms.push_back(std::move(*interpreter));
  }
  return forms;
}

bool updraft::differential::hasSquareStates(const upd_rule &rule) {
  return llvm::any_of(rule.kernels->interface.states, [](const runtime::StateInterface &state) {
    return runtime::isSquare(state.over);
  });
}

testing::AssertionResult
updraft::differential::interfacesAgree(const upd_rule &rule,
                                       llvm::ArrayRef<reference::Interpreter> interpreters) {
  const reference::Interpreter &interpreter = interpreters.front();
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

  // A rule for vectors and its variant for matrices may have different states.
  std::vector<reference::Stream> states;
  for (const reference::Interpreter &variant : interpreters) {
    const auto &streams = variant.streams();
    if (formatOf(upd_rule_param_dtype(&rule)) != streams[0].format ||
        formatOf(upd_rule_grad_dtype(&rule)) != streams[1].format)
      return AssertionFailure() << "the types of param or grad differ";
    for (const reference::Stream &state : llvm::drop_begin(streams, 2))
      if (llvm::none_of(states, [&](const auto &known) { return known.name == state.name; }))
        states.push_back(state);
  }
  if (upd_rule_state_count(&rule) != states.size())
    return AssertionFailure() << "compiled: " << upd_rule_state_count(&rule)
                              << " states, interpreted: " << states.size();
  for (size_t i = 0; i < states.size(); ++i) {
    const std::string name = upd_rule_state_name(&rule, i);
    auto state = llvm::find_if(states, [&](const auto &known) { return known.name == name; });
    if (state == states.end() || formatOf(upd_rule_state_dtype(&rule, i)) != state->format)
      return AssertionFailure() << "state " << i << " is compiled as " << name
                                << ", interpreted otherwise, or their types differ";
  }
  return AssertionSuccess();
}
