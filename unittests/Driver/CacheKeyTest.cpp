//===- CacheKeyTest.cpp - All inputs that affect the code change the key ----------------------===//

#include "updraft/Driver/CacheKey.h"

#include <gtest/gtest.h>

using namespace updraft;

namespace {
constexpr const char *text = "rule R(lr = 1e-3) { update(param, grad, step) { next param = "
                             "param - lr * grad } }\n";

std::string keyOf(const CompileRequest &request) {
  DiagnosticEngine diagnostics;
  auto program = parseProgram(request.source, "r.upd", diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  return program ? cacheKey(*program, request) : "";
}

CompileRequest base() {
  CompileRequest request;
  request.source = text;
  request.target = CPUTarget::host();
  return request;
}

TEST(CacheKey, IsStable) {
  EXPECT_EQ(keyOf(base()), keyOf(base()));
  EXPECT_EQ(keyOf(base()).size(), 64u);
}

TEST(CacheKey, TellsRequestsApart) {
  std::vector<CompileRequest> requests(9, base());
  requests[1].source += "// a comment\n";
  requests[2].rule.settings = {{"lr", "1e-2"}};
  requests[3].rule.storage = {{"param", StorageType::BF16}};
  requests[4].rule.storage = {{"grad", StorageType::BF16}};
  requests[5].rule.storage = {{"param", StorageType::F16}};
  requests[6].rule.numerics = "torch";
  requests[7].rule.numerics = "fast";
  requests[8].target = llvm::cantFail(CPUTarget::named("aarch64"));
  for (size_t i = 0; i < requests.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      EXPECT_NE(keyOf(requests[i]), keyOf(requests[j])) << i << " and " << j;
}

TEST(CacheKey, IgnoresOrderAndOverriddenSettings) {
  CompileRequest a = base(), b = base();
  a.rule.settings = {{"lr", "1"}, {"x", "2"}};
  b.rule.settings = {{"x", "2"}, {"lr", "5"}, {"lr", "1"}};
  EXPECT_EQ(keyOf(a), keyOf(b));
}
} // namespace
