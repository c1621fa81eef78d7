//===- CodeGeneratorTest.cpp - One code generator for many modules ----------------------------===//

#include "updraft/Target/CodeGenerator.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace updraft;

namespace {

// A loop with a constant, which is placed into a separate section.
const char *const loopText = R"(
  llvm.func @scale(%data: !llvm.ptr, %count: i64) {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %factor = llvm.mlir.constant(dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>) : vector<4xf32>
    llvm.br ^bb1(%zero : i64)
  ^bb1(%i: i64):
    %address = llvm.getelementptr %data[%i] : (!llvm.ptr, i64) -> !llvm.ptr, vector<4xf32>
    %value = llvm.load %address : !llvm.ptr -> vector<4xf32>
    %scaled = llvm.fmul %value, %factor : vector<4xf32>
    llvm.store %scaled, %address : vector<4xf32>, !llvm.ptr
    %next = llvm.add %i, %one : i64
    %more = llvm.icmp "slt" %next, %count : i64
    llvm.cond_br %more, ^bb1(%next : i64), ^bb2
  ^bb2:
    llvm.return
  })";

// Another signature, and a call of the C library.
const char *const callText = R"(
  llvm.func @cbrt(f64) -> f64
  llvm.func @root(%x: f64) -> f64 attributes {passthrough = ["noinline", "optnone"]} {
    %root = llvm.call @cbrt(%x) : (f64) -> f64
    llvm.return %root : f64
  })";

// The same sum in an optimized function and in one that isn't.
const char *const sumText = R"(
  llvm.func @optimized(%x: i64) -> i64 {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %sum = llvm.add %x, %zero : i64
    llvm.return %sum : i64
  }
  llvm.func @left(%x: i64) -> i64 attributes {passthrough = ["noinline", "optnone"]} {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %sum = llvm.add %x, %zero : i64
    llvm.return %sum : i64
  })";

class CodeGeneratorTest : public testing::TestWithParam<const char *> {
protected:
  CodeGeneratorTest() : context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED) {}

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerTargetDialects(registry);
    return registry;
  }

  std::unique_ptr<CodeGenerator> makeGenerator() {
    return llvm::cantFail(CodeGenerator::create(llvm::cantFail(CPUTarget::named(GetParam()))));
  }

  std::string objectOf(CodeGenerator &generator, const char *text, bool lineTables = false) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (lineTables) {
      mlir::PassManager passes(&context);
      passes.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
      EXPECT_TRUE(succeeded(passes.run(*module)));
    }
    llvm::LLVMContext llvmContext;
    auto translated = llvm::cantFail(generator.translate(*module, llvmContext));
    generator.optimize(*translated);
    auto bytes = llvm::cantFail(generator.emitObject(*translated));
    return std::string(bytes.begin(), bytes.end());
  }

  mlir::MLIRContext context;
};

} // namespace

TEST_P(CodeGeneratorTest, AnObjectDoesNotDependOnEarlierOnes) {
  auto alone = [&](const char *text, bool lineTables = false) {
    return objectOf(*makeGenerator(), text, lineTables);
  };
  std::string loop = alone(loopText), call = alone(callText), lines = alone(loopText, true);
  EXPECT_NE(loop, lines);
  std::unique_ptr<CodeGenerator> generator = makeGenerator();
  EXPECT_EQ(objectOf(*generator, loopText), loop);
  EXPECT_EQ(objectOf(*generator, callText), call);
  EXPECT_EQ(objectOf(*generator, loopText, true), lines);
  EXPECT_EQ(objectOf(*generator, callText), call);
  EXPECT_EQ(objectOf(*generator, loopText), loop);
}

TEST_P(CodeGeneratorTest, LeavesFunctionsThatAreNotToBeOptimized) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(sumText, &context);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<CodeGenerator> generator = makeGenerator();
  auto translated = llvm::cantFail(generator->translate(*module, llvmContext));
  generator->optimize(*translated);
  EXPECT_EQ(translated->getFunction("optimized")->getInstructionCount(), 1u);
  EXPECT_EQ(translated->getFunction("left")->getInstructionCount(), 2u);
}

TEST_P(CodeGeneratorTest, RefusesInstructionsOutsideOfFunctions) {
  for (const char *text : {"llvm.fence seq_cst", "nvvm.wgmma.fence.aligned"}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    std::string said;
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) { said += diagnostic.str(); });
    llvm::LLVMContext llvmContext;
    auto translated = makeGenerator()->translate(*module, llvmContext);
    EXPECT_EQ(llvm::toString(translated.takeError()), "a module cannot be translated to LLVM IR");
    EXPECT_EQ(said, "'" + module->getBody()->front().getName().getStringRef().str() +
                        "' op cannot be translated to LLVM IR outside of a function; move it "
                        "into one");
  }
}

TEST_P(CodeGeneratorTest, ReturnsErrorsOfTheBackEnd) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(R"(
  llvm.func @assembly() -> i64 {
    %value = llvm.inline_asm "nop", "={nosuch}" : () -> i64
    llvm.return %value : i64
  })",
                                                        &context);
  ASSERT_TRUE(module);
  std::unique_ptr<CodeGenerator> generator = makeGenerator();
  llvm::LLVMContext llvmContext;
  auto translated = llvm::cantFail(generator->translate(*module, llvmContext));
  auto object = generator->emitObject(*translated);
  EXPECT_EQ(llvm::toString(object.takeError()),
            "LLVM cannot generate code: couldn't allocate output register for constraint "
            "'{nosuch}'");
  EXPECT_EQ(objectOf(*generator, loopText), objectOf(*makeGenerator(), loopText));
}

INSTANTIATE_TEST_SUITE_P(NamedTargets, CodeGeneratorTest,
                         testing::Values("x86-64-v3", "x86-64-v4", "aarch64"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });
