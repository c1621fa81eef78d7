//===- ZeroSigns.cpp - Choices between 1 and -0 on GPUs ---------------------------------------===//

#include "ZeroSigns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

/// Whether a value is a constant, or a vector of constants, with an element -0.
static bool hasNegativeZero(Value *value) {
  auto *constant = dyn_cast<Constant>(value);
  if (!constant)
    return false;
  auto *vector = dyn_cast<FixedVectorType>(constant->getType());
  if (!vector)
    return PatternMatch::match(constant, PatternMatch::m_NegZeroFP());
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Constant *element = constant->getAggregateElement(i);
    if (element && PatternMatch::match(element, PatternMatch::m_NegZeroFP()))
      return true;
  }
  return false;
}

static void selectBits(SelectInst *select) {
  IRBuilder<> builder(select);
  Type *type = select->getType();
  Type *bits = type->getWithNewType(builder.getIntNTy(type->getScalarSizeInBits()));
  Value *chosen = builder.CreateSelect(select->getCondition(),
                                       builder.CreateBitCast(select->getTrueValue(), bits),
                                       builder.CreateBitCast(select->getFalseValue(), bits));
  select->replaceAllUsesWith(builder.CreateBitCast(chosen, type));
  select->eraseFromParent();
}

void updraft::keepZeroSigns(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function)))
      if (auto *select = dyn_cast<SelectInst>(&instruction))
        if (select->getType()->isFPOrFPVectorTy() &&
            (hasNegativeZero(select->getTrueValue()) || hasNegativeZero(select->getFalseValue())))
          selectBits(select);
}
