//===- TargetMachine.cpp - LLVM's view of a target --------------------------------------------===//

#include "TargetMachine.h"

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

#include <mutex>

namespace updraft {

// Loops already have their final form, so strength reduction finds nothing, and its analysis takes
// an eighth of the compile time. LLVM has no other switch for it.
static void disableLoopStrengthReduction() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto found = options.find("disable-lsr"); found != options.end())
    found->second->addOccurrence(/*pos=*/0, "disable-lsr", "true");
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
makeTargetMachine(llvm::StringRef name, llvm::StringRef triple, llvm::StringRef cpu,
                  llvm::StringRef features, std::optional<llvm::CodeModel::Model> model) {
  static std::once_flag once;
  std::call_once(once, disableLoopStrengthReduction);
  llvm::Triple parsed(triple);
  auto failure = [&](const llvm::Twine &reason) {
    return llvm::createStringError(
        llvm::formatv("cannot make code for target `{0}`: {1}", name, reason.str()).str());
  };
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target)
    return failure(error);
  llvm::TargetOptions options;
  // Only `fma` in a rule may contract.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      parsed, cpu, features, options, llvm::Reloc::PIC_, model, llvm::CodeGenOptLevel::Default));
  if (!machine)
    return failure("LLVM refuses the triple `" + triple + "`");
  return machine;
}

} // namespace updraft
