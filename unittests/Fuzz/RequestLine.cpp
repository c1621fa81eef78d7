//===- RequestLine.cpp - Compile requests in the text itself ----------------------------------===//

#include "RequestLine.h"

#include "updraft/Frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

CompileRequest updraft::fuzz::requestOf(StringRef text) {
  CompileRequest request;
  request.source = text.str();
  // Prevents imports from the fuzzer's working directory.
  request.filename = "/nowhere/rule.upd";
  request.target = llvm::cantFail(CPUTarget::named("x86-64-v3"));
  StringRef line = text.take_until([](char c) { return c == '\n'; });
  if (!line.consume_front(requestStart))
    return request;
  llvm::SmallVector<StringRef> words;
  line.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i];
    if (word == "--set" && i + 1 < words.size()) {
      auto [name, value] = words[++i].split('=');
      request.rule.settings.emplace_back(name.str(), value.str());
    } else if (word == "--storage" && i + 1 < words.size()) {
      auto [name, value] = words[++i].split('=');
      if (std::optional<StorageType> dtype = parseStorageType(value))
        request.rule.storage.emplace_back(name.str(), *dtype);
    } else if (word.consume_front("--rule=")) {
      request.rule.rule = word.str();
    } else if (word.consume_front("--numerics=")) {
      request.rule.numerics = word.str();
    } else if (word.consume_front("--target=")) {
      if (llvm::Expected<CPUTarget> target = CPUTarget::named(word))
        request.target = std::move(*target);
      else
        llvm::consumeError(target.takeError());
    }
  }
  return request;
}
