//===- ObjectLoader.cpp - Machine code in this process ----------------------------------------===//
// Uses a bare JITLink layer. The code generator or the cache supplies finished objects, so LLJIT's
// compiling layers are not needed, and a cached rule loads without a TargetMachine.

#include "updraft/Engine/ObjectLoader.h"

#include "runtime/base/Imports.h"
#include "runtime/emulator/EmulatedDevice.h"
#include "runtime/emulator/Emulator.h"
#include "updraft/Driver/ForkDelay.h"
#include "updraft/Driver/StatusError.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TaskDispatch.h"
#include "llvm/Object/Archive.h"

#include <atomic>
#include <new>

using namespace updraft;
using namespace llvm::orc;

struct ObjectLoader::Linker {
  explicit Linker(std::unique_ptr<ExecutorProcessControl> process)
      : session(std::move(process)), layer(session) {
    // Failed look-ups are returned as errors; nothing goes to stderr.
    session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  }
  ~Linker() { llvm::consumeError(session.endSession()); }

  ExecutionSession session;
  ObjectLinkingLayer layer;
  std::atomic<uint64_t> loaded = 0;
  bool isAbandoned = false;
};

namespace {
/// Returns the symbols that compiled code may call: the imports, and the emulator.
SymbolMap callableSymbols(ExecutionSession &session) {
  SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[session.intern(name)] = {ExecutorAddr::fromPtr(function),
                                     llvm::JITSymbolFlags::Exported |
                                         llvm::JITSymbolFlags::Callable};
  };
  for (const runtime::Import &import : runtime::imports())
    if (import.address)
      add(import.name, import.address);
  add("updraft_emulator_thread", &updraft_emulator_thread);
  add("updraft_emulator_block", &updraft_emulator_block);
  add("updraft_emulator_blocks", &updraft_emulator_blocks);
  add("updraft_emulator_exchange", &updraft_emulator_exchange);
  add("updraft_emulator_check", &updraft_emulator_check);
  add("updraft_emulator_prologue", &updraft_emulator_prologue);
  add("updraft_emulator_sweep", &updraft_emulator_sweep);
  return symbols;
}

std::shared_ptr<gpu::Device> openEmulator() { return std::make_shared<emulator::EmulatedDevice>(); }

/// Adds an object, or each object of an archive.
llvm::Error addObjects(ObjectLinkingLayer &layer, JITDylib &library, llvm::StringRef bytes,
                       const std::string &name) {
  if (llvm::identify_magic(bytes) != llvm::file_magic::archive)
    return layer.add(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, name));
  auto archive = llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, name));
  if (!archive)
    return archive.takeError();
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : (*archive)->children(error)) {
    auto object = child.getBuffer();
    if (!object)
      return llvm::joinErrors(std::move(error), object.takeError());
    // The buffer's name identifies a graph.
    auto copy = llvm::MemoryBuffer::getMemBufferCopy(
        *object, name + "." + std::to_string(child.getChildOffset()));
    if (llvm::Error failure = layer.add(library, std::move(copy)))
      return llvm::joinErrors(std::move(error), std::move(failure));
  }
  return error;
}

/// A JITDylib that is removed with the last user of its code.
template <typename Linker> struct LoadedCode {
  LoadedCode(std::shared_ptr<Linker> linker, JITDylib &library)
      : linker(std::move(linker)), library(library) {}
  ~LoadedCode() {
    if (linker->isAbandoned) {
      static_cast<void>(new (std::nothrow) auto(std::move(linker)));
      return;
    }
    ForkDelay delay;
    llvm::consumeError(linker->session.removeJITDylib(library));
  }

  std::shared_ptr<Linker> linker;
  JITDylib &library;
};
} // namespace

ObjectLoader::ObjectLoader(std::shared_ptr<Linker> linker) : linker(std::move(linker)) {}
ObjectLoader::~ObjectLoader() = default;

void ObjectLoader::abandon() { linker->isAbandoned = true; }

llvm::Expected<std::unique_ptr<ObjectLoader>> ObjectLoader::create() {
  auto process =
      SelfExecutorProcessControl::Create(nullptr, std::make_unique<InPlaceTaskDispatcher>());
  if (!process)
    return process.takeError();
  return std::unique_ptr<ObjectLoader>(
      new ObjectLoader(std::make_shared<Linker>(std::move(*process))));
}

llvm::Expected<std::shared_ptr<const runtime::Kernels>>
ObjectLoader::load(const CompiledRule &rule) {
  ForkDelay delay;
  auto kernels = std::make_shared<runtime::Kernels>();
  runtime::Status parsed = runtime::RuleInterface::read(rule.descriptor, kernels->interface);
  if (!parsed.ok())
    return makeError(UPD_INTERNAL_ERROR, parsed.message());

  ExecutionSession &session = linker->session;
  const std::string &name = kernels->interface.name;
  JITDylib &library =
      session.createBareJITDylib(name + "." + std::to_string(linker->loaded.fetch_add(1)));
  auto code = std::make_shared<LoadedCode<Linker>>(linker, library);
  if (llvm::Error error = library.define(absoluteSymbols(callableSymbols(session))))
    return error;
  if (llvm::Error error = addObjects(linker->layer, library, rule.object, name))
    return error;

  auto resolve = [&](const llvm::Twine &symbolName, auto &function) -> llvm::Error {
    auto symbol = session.lookup({&library}, session.intern(symbolName.str()));
    if (!symbol)
      return symbol.takeError();
    function = symbol->getAddress().toPtr<std::remove_reference_t<decltype(function)>>();
    return llvm::Error::success();
  };
  /// Resolves `count` functions whose names end in their index.
  auto resolveAll = [&](const llvm::Twine &start, size_t count, auto &functions) -> llvm::Error {
    functions.resize(count);
    for (size_t i = 0; i < count; ++i)
      if (llvm::Error error = resolve(start + llvm::Twine(i), functions[i]))
        return error;
    return llvm::Error::success();
  };
  auto resolveKernels = [&](const std::string &start, size_t count) -> llvm::Error {
    for (size_t i = 0; i < count; ++i) {
      const std::string kernel = start + std::to_string(i);
      if (llvm::Error error = resolve(kernel + "_kernel", kernels->gpu.emulated[kernel]))
        return error;
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = resolve(name + "_initial", kernels->initial))
    return error;
  if (llvm::Error error = resolve(name + "_validate", kernels->validate))
    return error;
  const bool isEmulated = llvm::StringRef(kernels->interface.gpu).starts_with("emulator");
  if (!kernels->interface.gpu.empty() && !isEmulated) {
    const char *ptx = nullptr;
    if (llvm::Error error = resolve(name + "_ptx", ptx))
      return error;
    kernels->gpu.ptx = ptx;
  }
  for (const runtime::PlanInterface &plan : kernels->interface.plans) {
    if (!kernels->interface.gpu.empty()) {
      upd_prologue_function &prologue = kernels->hostPrologues.emplace_back();
      if (plan.hasHostConditions())
        if (llvm::Error error = resolve(plan.prefix + "_prologue0", prologue))
          return error;
    }
    if (!kernels->gpu.ptx.empty())
      continue;
    runtime::PlanFunctions &functions = kernels->plans.emplace_back();
    if (llvm::Error error =
            resolveAll(plan.prefix + "_prologue", plan.prologues, functions.prologues))
      return error;
    if (llvm::Error error =
            resolveAll(plan.prefix + "_sweep", plan.sweeps.size(), functions.sweeps))
      return error;
    if (!isEmulated)
      continue;
    kernels->gpu.openEmulator = openEmulator;
    if (llvm::Error error = resolveKernels(plan.prefix + "_prologue", plan.prologues))
      return error;
    if (llvm::Error error = resolveKernels(plan.prefix + "_sweep", plan.sweeps.size()))
      return error;
  }
  if (kernels->interface.multiplies() && isEmulated) {
    const bool isSingle = kernels->interface.compute == UPD_F32;
    kernels->product = isSingle ? updraft_emulator_multiply_f32 : updraft_emulator_multiply_f64;
    kernels->bf16Product = kernels->product;
    kernels->mirror = isSingle ? updraft_emulator_mirror_f32 : updraft_emulator_mirror_f64;
  } else if (kernels->interface.multiplies() && kernels->gpu.ptx.empty()) {
    if (llvm::Error error = resolve(name + "_product", kernels->product))
      return error;
    if (llvm::Error error = resolve(name + "_mirror", kernels->mirror))
      return error;
    if (kernels->interface.hasBF16Products())
      if (llvm::Error error = resolve(name + "_bf16_product", kernels->bf16Product))
        return error;
  }
  kernels->descriptor = rule.descriptor;
  kernels->code = std::move(code);
  return kernels;
}
