//===- LinkRecord.cpp - The one symbol of an object that is linked ----------------------------===//

#include "LinkRecord.h"

#include "updraft-c/linked_rule.h"
#include "updraft/Driver/FunctionNames.h"
#include "updraft/Driver/LinkNames.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"

using namespace llvm;
using namespace updraft;

std::vector<std::string> updraft::functionsOf(const runtime::RuleInterface &rule) {
  std::vector<std::string> names{rule.name + "_initial", rule.name + "_validate"};
  for (const runtime::PlanInterface &plan : rule.plans)
    for (const runtime::StageInterface &stage : plan.sequence)
      if (stage.isSweep() || stage.isPrologue())
        names.push_back(plan.prefix + (stage.isSweep() ? "_sweep" : "_prologue") +
                        std::to_string(stage.index));
  if (rule.multiplies()) {
    names.push_back(rule.name + "_product");
    names.push_back(rule.name + "_mirror");
  }
  if (rule.hasBF16Products())
    names.push_back(rule.name + "_bf16_product");
  return names;
}

/// Adds a constant that only this object sees.
static Constant *addLocal(Module &module, Constant *value) {
  return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                            GlobalValue::PrivateLinkage, value);
}

void updraft::addLinkRecord(Module &module, StringRef name, StringRef target,
                            StringRef descriptor) {
  for (GlobalValue &value : module.global_values())
    if (!value.isDeclaration())
      value.setLinkage(GlobalValue::InternalLinkage);

  // The compiler itself wrote the descriptor.
  runtime::RuleInterface rule;
  [[maybe_unused]] const runtime::Status status =
      runtime::RuleInterface::read(std::string_view(descriptor), rule);
  assert(status.ok());
  LLVMContext &context = module.getContext();
  std::vector<Constant *> functions;
  for (const std::string &function : functionsOf(rule))
    functions.push_back(module.getFunction(function));
  Type *pointer = PointerType::getUnqual(context);
  auto size = [&](uint64_t value) -> Constant * {
    return ConstantInt::get(Type::getInt64Ty(context), value);
  };
  // The members of upd_linked_rule. A new member must be written here, too.
  static_assert(sizeof(upd_linked_rule) == 40);
  Constant *record = ConstantStruct::getAnon(
      {size(sizeof(upd_linked_rule)),
       addLocal(module, ConstantDataArray::getString(context, target)),
       module.getNamedGlobal(rule.name + "_descriptor"),
       addLocal(module, ConstantArray::get(ArrayType::get(pointer, functions.size()), functions)),
       size(functions.size())});
  auto *variable =
      new GlobalVariable(module, record->getType(), /*isConstant=*/true,
                         GlobalValue::ExternalLinkage, record, linkSymbol(name, target));
  variable->setVisibility(GlobalValue::HiddenVisibility);
  variable->setAlignment(Align(8));
}
