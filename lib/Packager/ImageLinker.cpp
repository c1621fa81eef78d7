//===- ImageLinker.cpp - From an object file to code that needs no linker ---------------------===//
// Runs JITLink with memory that pretends to be at a fixed address. Calls of imports go through
// JITLink's table of pointers (the GOT), because the pretended addresses of imports are out of the
// range of direct calls. The loader fills that table.

#include "ImageLinker.h"

#include "runtime/base/Imports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/aarch64.h"
#include "llvm/ExecutionEngine/JITLink/x86_64.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::jitlink;
using namespace updraft;

namespace {

constexpr uint64_t imageAddress = uint64_t(1) << 32;
constexpr uint64_t importAddress = uint64_t(1) << 46;
constexpr uint64_t importDistance = 16;

/// Places the executable blocks of a graph at the start of `code`, and the others on later pages.
class ImageMemory : public JITLinkMemoryManager {
public:
  explicit ImageMemory(LinkedImage &image) : image(image) {}

  void allocate(const JITLinkDylib *, LinkGraph &graph, OnAllocatedFunction onAllocated) override {
    BasicLayout layout(graph);
    uint64_t end = 0;
    auto place = [&](bool executable) -> Error {
      for (auto &[group, segment] : layout.segments()) {
        if (((group.getMemProt() & orc::MemProt::Exec) != orc::MemProt::None) != executable)
          continue;
        if ((group.getMemProt() & orc::MemProt::Write) != orc::MemProt::None)
          return createStringError("the object has writable data");
        end = alignTo(end, segment.Alignment);
        segment.Addr = orc::ExecutorAddr(imageAddress + end);
        end += segment.ContentSize + segment.ZeroFillSize;
      }
      return Error::success();
    };
    Error error = place(/*executable=*/true);
    end = alignTo(end, UPD_PACKAGE_PAGE);
    image.executable = uint32_t(end);
    if (!error)
      error = place(/*executable=*/false);
    if (error)
      return onAllocated(std::move(error));
    image.code.assign(end, '\0');
    for (auto &[group, segment] : layout.segments())
      segment.WorkingMem = image.code.data() + (segment.Addr.getValue() - imageAddress);
    if (Error failure = layout.apply())
      return onAllocated(std::move(failure));
    onAllocated(std::make_unique<Allocation>());
  }
  void deallocate(std::vector<FinalizedAlloc> allocations,
                  OnDeallocatedFunction onDeallocated) override {
    for (FinalizedAlloc &allocation : allocations)
      allocation.release();
    onDeallocated(Error::success());
  }

private:
  /// Nothing to do: the memory is the image's.
  struct Allocation : InFlightAlloc {
    void abandon(OnAbandonedFunction onAbandoned) override { onAbandoned(Error::success()); }
    void finalize(OnFinalizedFunction onFinalized) override {
      onFinalized(FinalizedAlloc(orc::ExecutorAddr(imageAddress)));
    }
  };

  LinkedImage &image;
};

class ImageContext : public JITLinkContext {
public:
  ImageContext(ArrayRef<std::string> functions, LinkedImage &image, Error &failure)
      : JITLinkContext(nullptr), functions(functions), image(image), failure(failure),
        memory(image) {
    for (auto [number, import] : enumerate(runtime::imports()))
      imports[import.name] = uint32_t(number);
  }

  JITLinkMemoryManager &getMemoryManager() override { return memory; }
  void notifyFailed(Error error) override {
    failure = joinErrors(std::move(failure), std::move(error));
  }
  Error notifyResolved(LinkGraph &) override { return Error::success(); }
  void notifyFinalized(JITLinkMemoryManager::FinalizedAlloc allocation) override {
    allocation.release();
  }

  void lookup(const LookupMap &symbols,
              std::unique_ptr<JITLinkAsyncLookupContinuation> continuation) override {
    AsyncLookupResult result;
    for (const auto &[name, flags] : symbols) {
      auto import = imports.find(*name);
      if (import == imports.end())
        return continuation->run(
            createStringError("the code calls `" + *name + "`, which packages can't import"));
      result[name] = {orc::ExecutorAddr(importAddress + importDistance * import->second),
                      JITSymbolFlags::Exported};
    }
    continuation->run(std::move(result));
  }

  LinkGraphPassFunction getMarkLivePass(const Triple &) const override {
    return [this](LinkGraph &graph) { return keepFunctions(graph); };
  }
  Error modifyPassConfig(LinkGraph &, PassConfiguration &passes) override {
    passes.PostFixupPasses.push_back([this](LinkGraph &graph) {
      if (Error error = readFunctions(graph))
        return error;
      return readImports(graph);
    });
    return Error::success();
  }

private:
  Error keepFunctions(LinkGraph &graph) const {
    for (Symbol *symbol : graph.defined_symbols())
      symbol->setLive(symbol->hasName() && is_contained(functions, *symbol->getName()));
    return Error::success();
  }

  Error readFunctions(LinkGraph &graph) {
    StringMap<uint32_t> offsets;
    for (Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName())
        offsets[*symbol->getName()] = uint32_t(symbol->getAddress().getValue() - imageAddress);
    for (const std::string &function : functions) {
      auto found = offsets.find(function);
      if (found == offsets.end())
        return createStringError("the object has no function `" + function + "`");
      image.functions.push_back(found->second);
    }
    return Error::success();
  }

  /// Lists the places of absolute addresses, and removes these addresses.
  Error readImports(LinkGraph &graph) {
    const Edge::Kind pointer = graph.getTargetTriple().isAArch64() ? Edge::Kind(aarch64::Pointer64)
                                                                   : Edge::Kind(x86_64::Pointer64);
    for (Block *block : graph.blocks())
      for (Edge &edge : block->edges()) {
        if (edge.getKind() != pointer)
          continue;
        const uint64_t offset = block->getFixupAddress(edge).getValue() - imageAddress;
        if (edge.getTarget().isDefined())
          return createStringError("the object contains an absolute address");
        image.imports.push_back({uint32_t(offset), imports.lookup(*edge.getTarget().getName())});
        std::fill_n(image.code.begin() + offset, 8, '\0');
      }
    // The graph's order depends on addresses in this process.
    sort(image.imports, [](const auto &a, const auto &b) { return a.offset < b.offset; });
    return Error::success();
  }

  ArrayRef<std::string> functions;
  LinkedImage &image;
  Error &failure;
  ImageMemory memory;
  StringMap<uint32_t> imports;
};

} // namespace

Expected<LinkedImage> updraft::linkImage(StringRef object, ArrayRef<std::string> functions) {
  auto symbols = std::make_shared<orc::SymbolStringPool>();
  auto graph = createLinkGraphFromObject(MemoryBufferRef(object, "rule"), symbols);
  if (!graph)
    return graph.takeError();
  LinkedImage image;
  Error failure = Error::success();
  {
    ErrorAsOutParameter mayFail(&failure);
    link(std::move(*graph), std::make_unique<ImageContext>(functions, image, failure));
  }
  if (failure)
    return std::move(failure);
  return image;
}
