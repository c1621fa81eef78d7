//===- PlanToObject.cpp - Compiles a plan in a file -------------------------------------------===//
// Runs code generation in tests without a rule: reads a module of plans, and writes the result of
// one of the target's stages.

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "updraft/Target/CodeGenerator.h"
#include "updraft/Target/Pipelines.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include <CLI/CLI.hpp>

using namespace updraft;

namespace {

struct Arguments {
  std::string input, target = "host", emit = "obj", output = "-";
};

llvm::Error run(const Arguments &arguments, llvm::raw_ostream &out) {
  llvm::Expected<CPUTarget> target = CPUTarget::named(arguments.target);
  if (!target)
    return target.takeError();
  auto generator = CodeGenerator::create(*target);
  if (!generator)
    return generator.takeError();

  mlir::DialectRegistry registry;
  registerTargetDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(arguments.input, &context);
  if (!module)
    return llvm::createStringError("the plan cannot be read");
  mlir::PassManager passes(&context);
  buildLoopsPipeline(passes, *target);
  if (arguments.emit != "loops")
    buildLLVMDialectPipeline(passes);
  if (failed(passes.run(*module)))
    return llvm::createStringError("the plan cannot be lowered");
  if (arguments.emit == "loops" || arguments.emit == "llvm-dialect") {
    module->print(out);
    return llvm::Error::success();
  }

  llvm::LLVMContext llvmContext;
  auto translated = (*generator)->translate(*module, llvmContext);
  if (!translated)
    return translated.takeError();
  (*generator)->optimize(**translated);
  if (arguments.emit == "llvm") {
    (*translated)->print(out, nullptr);
    return llvm::Error::success();
  }
  if (arguments.emit == "asm") {
    auto assembly = (*generator)->emitAssembly(**translated);
    if (!assembly)
      return assembly.takeError();
    out << *assembly;
    return llvm::Error::success();
  }
  auto object = (*generator)->emitObject(**translated);
  if (!object)
    return object.takeError();
  out.write(object->data(), object->size());
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("From an updraft.plan to machine code, for tests");
  Arguments arguments;
  app.add_option("input", arguments.input, "a file of plans")->required();
  app.add_option("--target", arguments.target, "a CPU's name");
  app.add_option("--emit", arguments.emit, "the stage to write")
      ->check(CLI::IsMember({"loops", "llvm-dialect", "llvm", "asm", "obj"}));
  app.add_option("-o", arguments.output, "the file to write, - for standard output");
  CLI11_PARSE(app, argc, argv);

  std::error_code error;
  llvm::raw_fd_ostream out(arguments.output, error);
  if (error) {
    llvm::errs() << "error: " << arguments.output << ": " << error.message() << '\n';
    return 1;
  }
  if (llvm::Error failure = run(arguments, out)) {
    llvm::errs() << "error: " << llvm::toString(std::move(failure)) << '\n';
    return 1;
  }
  return 0;
}
