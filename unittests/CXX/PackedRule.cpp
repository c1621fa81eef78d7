//===- PackedRule.cpp - A package for the tests of the C++ API --------------------------------===//

#include "updraft/Driver/CompileRequest.h"
#include "updraft/Packager/Packager.h"

namespace updraft::test {

const std::string &packedAdamW() {
  static const std::string bytes = [] {
    constexpr const char *file = UPDRAFT_RULES_DIR "/adamw.upd";
    PackRequest request;
    request.rule.filename = file;
    request.rule.source = llvm::cantFail(readRuleFile(file));
    request.targets = {"x86-64-v2", "x86-64-v3", "aarch64"};
    request.variants = {{}, {{"param", StorageType::BF16}}};
    return llvm::cantFail(packRule(request));
  }();
  return bytes;
}

} // namespace updraft::test
