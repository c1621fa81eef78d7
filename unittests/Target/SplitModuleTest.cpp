//===- SplitModuleTest.cpp - Halves of a module that link together ----------------------------===//

#include "updraft/Target/SplitModule.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "updraft/Target/Pipelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace updraft;
using namespace mlir;

namespace {

// Two functions of two operations each, which call an internal one.
const char *const callersText = R"(
  llvm.func internal @shared(%x: f64) -> f64 {
    llvm.return %x : f64
  }
  llvm.func @first(%x: f64) -> f64 {
    %0 = llvm.call @shared(%x) : (f64) -> f64
    llvm.return %0 : f64
  }
  llvm.func @second(%x: f64) -> f64 {
    %0 = llvm.call @shared(%x) : (f64) -> f64
    llvm.return %0 : f64
  })";

class SplitModuleTest : public testing::Test {
protected:
  SplitModuleTest() {
    DialectRegistry registry;
    registerTargetDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  OwningOpRef<ModuleOp> parse(const char *text) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    return module;
  }

  /// The names of functions with a body, or without.
  static std::vector<std::string> names(ModuleOp module, bool isDefined) {
    std::vector<std::string> result;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      if (function.isExternal() != isDefined)
        result.push_back(function.getName().str());
    return result;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(SplitModuleTest, CalledFunctionsStayAndAreDeclaredInTheOther) {
  auto module = parse(callersText);
  auto part = splitModule(*module, 1);
  ASSERT_TRUE(part);
  EXPECT_THAT(names(*module, true), ElementsAre("shared", "second"));
  EXPECT_THAT(names(*part, true), ElementsAre("first"));
  EXPECT_THAT(names(*module, false), IsEmpty());
  EXPECT_THAT(names(*part, false), ElementsAre("shared"));
  for (ModuleOp half : {*module, *part}) {
    EXPECT_TRUE(succeeded(verify(half)));
    auto shared = half.lookupSymbol<LLVM::LLVMFuncOp>("shared");
    EXPECT_EQ(shared.getLinkage(), LLVM::Linkage::External);
    EXPECT_EQ(shared.getVisibility_(), LLVM::Visibility::Hidden);
  }
}

TEST_F(SplitModuleTest, LongFunctionsAreSharedOut) {
  auto module = parse(R"(
  llvm.func @short(%x: f64) -> f64 {
    llvm.return %x : f64
  }
  llvm.func @long(%x: f64) -> f64 {
    %0 = llvm.fadd %x, %x : f64
    %1 = llvm.fadd %0, %x : f64
    %2 = llvm.fadd %1, %x : f64
    llvm.return %2 : f64
  }
  llvm.func @middle(%x: f64) -> f64 {
    %0 = llvm.fadd %x, %x : f64
    llvm.return %0 : f64
  })");
  auto part = splitModule(*module, 1);
  ASSERT_TRUE(part);
  EXPECT_THAT(names(*module, true), ElementsAre("long"));
  EXPECT_THAT(names(*part, true), ElementsAre("middle", "short"));
}

TEST_F(SplitModuleTest, FunctionsThatAreNotOptimizedCountHalf) {
  auto module = parse(R"(
  llvm.func @left(%x: f64) -> f64 attributes {passthrough = ["noinline", "optnone"]} {
    %0 = llvm.fadd %x, %x : f64
    %1 = llvm.fadd %0, %x : f64
    llvm.return %1 : f64
  }
  llvm.func @optimized(%x: f64) -> f64 {
    %0 = llvm.fadd %x, %x : f64
    llvm.return %0 : f64
  })");
  auto part = splitModule(*module, 1);
  ASSERT_TRUE(part);
  EXPECT_THAT(names(*module, true), ElementsAre("optimized"));
  EXPECT_THAT(names(*part, true), ElementsAre("left"));
}

TEST_F(SplitModuleTest, SmallModulesStayWhole) {
  auto module = parse(callersText);
  EXPECT_FALSE(splitModule(*module, 100));
  EXPECT_THAT(names(*module, true), ElementsAre("shared", "first", "second"));
  EXPECT_EQ(module->lookupSymbol<LLVM::LLVMFuncOp>("shared").getLinkage(), LLVM::Linkage::Internal);
}

TEST_F(SplitModuleTest, ModulesWithGlobalsStayWhole) {
  auto module = parse(R"(
  llvm.mlir.global external constant @k(1.0 : f64) : f64
  llvm.func @one(%x: f64) -> f64 {
    llvm.return %x : f64
  }
  llvm.func @two(%x: f64) -> f64 {
    llvm.return %x : f64
  })");
  EXPECT_FALSE(splitModule(*module, 1));
}

} // namespace
