//===- CompilerTest.cpp - One object of a small rule, two of a large one ----------------------===//

#include "updraft/Driver/Compiler.h"

#include "runtime/base/RuleInterface.h"
#include "updraft/Driver/ForkDelay.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sys/stat.h>
#include <thread>

using namespace updraft;
using testing::HasSubstr;

namespace {

CompileRequest requestOf(const std::string &file) {
  CompileRequest request;
  request.filename = UPDRAFT_RULES_DIR "/" + file;
  request.source = llvm::cantFail(readRuleFile(request.filename));
  request.target = llvm::cantFail(CPUTarget::named("x86-64-v3"));
  return request;
}

std::string compile(const CompileRequest &request) {
  Compiler compiler;
  auto program = llvm::cantFail(compiler.parse(request));
  return llvm::cantFail(compiler.compile(*program, request)).object;
}

/// Adds the global symbols that an object defines to `symbols`.
void countDefinitions(llvm::MemoryBufferRef bytes, std::map<std::string, int> &symbols) {
  auto object = llvm::cantFail(llvm::object::ObjectFile::createObjectFile(bytes));
  for (const llvm::object::SymbolRef &symbol : object->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Global) &&
        !(flags & llvm::object::SymbolRef::SF_Undefined))
      ++symbols[llvm::cantFail(symbol.getName()).str()];
  }
}

TEST(Compiler, MakesOneObjectOfASmallRule) {
  EXPECT_EQ(llvm::identify_magic(compile(requestOf("sgd.upd"))), llvm::file_magic::elf_relocatable);
}

TEST(Compiler, MakesAnArchiveOfTwoObjectsOfALargeRule) {
  std::string bytes = compile(requestOf("adafactor.upd"));
  ASSERT_EQ(llvm::identify_magic(bytes), llvm::file_magic::archive);
  auto archive =
      llvm::cantFail(llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, "archive")));
  std::map<std::string, int> definitions;
  size_t objects = 0;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child : archive->children(error)) {
    std::map<std::string, int> inObject;
    std::string copy = llvm::cantFail(child.getBuffer()).str(); // aligned
    countDefinitions(llvm::MemoryBufferRef(copy, "object"), inObject);
    EXPECT_GE(inObject.size(), 2u);
    for (const auto &[name, count] : inObject)
      definitions[name] += count;
    ++objects;
  }
  EXPECT_FALSE(static_cast<bool>(error));
  EXPECT_EQ(objects, 2u);
  for (const char *name : {"Adafactor_descriptor", "Adafactor_initial", "Adafactor_validate",
                           "Adafactor_prologue0", "Adafactor_sweep1", "Adafactor_matrix_prologue1",
                           "Adafactor_matrix_sweep0", "Adafactor_matrix_sweep4"})
    EXPECT_EQ(definitions[name], 1) << name;
  for (const auto &[name, count] : definitions)
    EXPECT_EQ(count, 1) << name;
}

TEST(Compiler, MakesTheSameBytesEachTime) {
  CompileRequest request = requestOf("adafactor.upd");
  EXPECT_EQ(compile(request), compile(request));
}

runtime::RuleInterface interfaceOf(CompileRequest request,
                                   std::vector<std::pair<std::string, std::string>> settings) {
  request.rule.settings = std::move(settings);
  Compiler compiler;
  auto program = llvm::cantFail(compiler.parse(request));
  runtime::RuleInterface result;
  const runtime::Status status = runtime::RuleInterface::read(
      llvm::cantFail(compiler.compile(*program, request)).descriptor, result);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

TEST(Compiler, SaysWhichFlagsFollowFromHyperparameters) {
  CompileRequest sgd = requestOf("sgd.upd");
  for (const char *momentum : {"0", "0.9"}) {
    const runtime::RuleInterface interface = interfaceOf(sgd, {{"momentum", momentum}});
    ASSERT_EQ(interface.derived.size(), 1u);
    EXPECT_EQ(interface.derived[0].flag, "buffered");
    ASSERT_EQ(interface.derived[0].hypers.size(), 1u);
    EXPECT_EQ(interface.hypers[interface.derived[0].hypers[0]].name, "momentum");
    EXPECT_THAT(interface.messages[interface.derived[0].message], HasSubstr("`buffered`"));
  }
  EXPECT_TRUE(interfaceOf(sgd, {{"buffered", "true"}}).derived.empty());
}

TEST(Compiler, ReportsDependenciesOfAnUpdate) {
  CompileRequest request = requestOf("sgd.upd");
  auto interfaceWith = [&](const std::string &factor) {
    request.source = "rule R(lr = 1) { update(param, grad) { next param = param - lr * grad * " +
                     factor + " } }\n";
    return interfaceOf(request, {});
  };
  EXPECT_EQ(interfaceWith("2").dependsOn, runtime::Extent::Element);
  for (const char *factor : {"size()", "sum(grad)", "(if matrix then rows() else 1)"})
    EXPECT_EQ(interfaceWith(factor).dependsOn, runtime::Extent::Tensor) << factor;
  for (const char *factor : {"group_size()", "group_sum(grad)", "size() * group_size()"})
    EXPECT_EQ(interfaceWith(factor).dependsOn, runtime::Extent::Group) << factor;
}

// A requirement that always holds is removed, which changes the numbers of later ones.
TEST(Compiler, CountsTheRequirementsThatAreLeft) {
  CompileRequest request = requestOf("sgd.upd");
  request.source =
      "rule R(a = 1, b = 2, static always = a >= a || b < 0, static big = a + b > 2) {\n"
      "  update(param, grad) { next param = if big && always then grad else param }\n"
      "}\n";
  const runtime::RuleInterface interface = interfaceOf(request, {});
  ASSERT_EQ(interface.derived.size(), 2u);
  const runtime::DerivedInterface &big = interface.derived[1];
  EXPECT_EQ(big.flag, "big");
  EXPECT_EQ(big.hypers, (std::vector<uint32_t>{0, 1}));
  EXPECT_THAT(interface.messages[big.message], HasSubstr("`big`"));
}

// A later rule may be the first one that needs a variable with lazy initialization.
TEST(Compiler, DelaysForksNotOnlyWhenItFirstCompiles) {
  CompileRequest request = requestOf("sgd.upd");
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("updraft-dump", folder));
  request.inspection.dumpFolder = folder.str().str();
  compile(request);
  // A compilation writes its first dumps into pipes, and blocks at each until the test opens it.
  const std::string first = (folder + "/01-import.mlir").str();
  const std::string second = (folder + "/02-updraft-separate-probes.mlir").str();
  for (const std::string &pipe : {first, second}) {
    ASSERT_FALSE(llvm::sys::fs::remove(pipe, /*IgnoreNonExisting=*/false));
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  }
  std::thread compiling([&] { compile(request); });
  const std::ifstream begun(first);
  EXPECT_FALSE(ForkDelay::holdOff());
  ForkDelay::resume();
  const std::ifstream goesOn(second);
  compiling.join();
  EXPECT_TRUE(ForkDelay::holdOff());
  ForkDelay::resume();
  llvm::sys::fs::remove_directories(folder);
}

// With line tables, the code must be in one object, where debuggers find it.
TEST(Compiler, MakesOneObjectWithLineTables) {
  CompileRequest request = requestOf("adafactor.upd");
  request.inspection.lineTables = true;
  EXPECT_EQ(llvm::identify_magic(compile(request)), llvm::file_magic::elf_relocatable);
}

} // namespace
