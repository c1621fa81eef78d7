//===- StaticList.cpp - Lists of numbers that are known at import -----------------------------===//

#include "StaticList.h"

#include "llvm/ADT/StringSwitch.h"

#include <fmt/format.h>

#include <algorithm>

using namespace updraft;

std::optional<ListFunction> updraft::findListFunction(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<ListFunction>>(name)
      .Case("cycled", ListFunction::Cycled)
      .Case("extended", ListFunction::Extended)
      .Default(std::nullopt);
}

StaticList updraft::applyListFunction(ListFunction function, const StaticList &list, size_t count) {
  StaticList result{list.width, {}};
  for (size_t i = 0; i < count; ++i) {
    size_t from = function == ListFunction::Cycled ? i % list.size() : std::min(i, list.size() - 1);
    llvm::ArrayRef<double> element = list.element(from);
    result.numbers.insert(result.numbers.end(), element.begin(), element.end());
  }
  return result;
}

std::string updraft::listText(const StaticList &list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    std::string parts = fmt::format("{}", fmt::join(list.element(i), ", "));
    text += (i == 0 ? "" : ", ") + (list.width == 1 ? parts : "(" + parts + ")");
  }
  return text + "]";
}
