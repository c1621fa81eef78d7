//===- SecondHalf.cpp - Compiles half of a rule in another thread -----------------------------===//

#include "SecondHalf.h"

#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace updraft;

llvm::Expected<std::unique_ptr<SecondHalf>>
SecondHalf::start(mlir::ModuleOp module, const CodeGenerator &translator,
                  std::unique_ptr<CodeGenerator> &generator) {
  auto half = std::make_unique<SecondHalf>();
  {
    // Runs concurrently with translation. `generate` reports errors.
    std::optional<SideTask> preparation;
    if (!generator)
      preparation.emplace(
          [&] { llvm::consumeError(CodeGenerator::makeReady(generator, translator.target())); });
    auto translated = translator.translate(module, half->context);
    if (!translated)
      return translated.takeError();
    half->llvmModule = std::move(*translated);
  }
  half->task.emplace([half = half.get(), &target = translator.target(), &generator] {
    half->object.emplace(half->generate(target, generator));
  });
  return half;
}

llvm::Expected<llvm::SmallVector<char, 0>>
SecondHalf::generate(const CPUTarget &target, std::unique_ptr<CodeGenerator> &generator) {
  if (llvm::Error error = CodeGenerator::makeReady(generator, target))
    return error;
  generator->optimize(*llvmModule);
  return generator->emitObject(*llvmModule);
}

llvm::Expected<llvm::SmallVector<char, 0>> SecondHalf::take() {
  task->join();
  auto result = std::move(*object);
  object.reset();
  return result;
}

SecondHalf::~SecondHalf() {
  task.reset();
  if (object && !*object)
    llvm::consumeError(object->takeError());
}

llvm::Expected<std::string> updraft::archiveOf(llvm::ArrayRef<char> first,
                                               llvm::ArrayRef<char> second) {
  auto member = [](llvm::ArrayRef<char> bytes, const char *name) {
    return llvm::NewArchiveMember(
        llvm::MemoryBufferRef(llvm::StringRef(bytes.data(), bytes.size()), name));
  };
  std::vector<llvm::NewArchiveMember> members;
  members.push_back(member(first, "0.o"));
  members.push_back(member(second, "1.o"));
  auto buffer = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NoSymtab,
                                           llvm::object::Archive::K_GNU, /*Deterministic=*/true,
                                           /*Thin=*/false);
  if (!buffer)
    return buffer.takeError();
  return (*buffer)->getBuffer().str();
}
