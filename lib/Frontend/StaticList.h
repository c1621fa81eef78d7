//===- StaticList.h - Lists of numbers that are known at import ---------------------*- C++ -*-===//

#ifndef UPDRAFT_LIB_FRONTEND_STATICLIST_H
#define UPDRAFT_LIB_FRONTEND_STATICLIST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace updraft {

/// The longest list that a function of lists may give.
constexpr unsigned maxListLength = 1000;

/// A list of numbers, or of tuples of as many numbers each.
struct StaticList {
  unsigned width = 1; ///< the parts of an element
  std::vector<double> numbers;

  size_t size() const { return numbers.size() / width; }
  llvm::ArrayRef<double> element(size_t index) const {
    return llvm::ArrayRef(numbers).slice(index * width, width);
  }
};

/// The functions of a list and a number: they give a list of as many elements.
enum class ListFunction : uint8_t {
  Cycled,   ///< starts again after the last element
  Extended, ///< repeats the last element
};

constexpr llvm::StringLiteral listFunctionNames[] = {"cycled", "extended"};

/// Returns the function of lists that has this name, or std::nullopt.
std::optional<ListFunction> findListFunction(llvm::StringRef name);

/// `count` must be from 1 to `maxListLength`.
StaticList applyListFunction(ListFunction function, const StaticList &list, size_t count);

/// "[(3.4445, -4.775, 2.0315)]": the list as the language writes it.
std::string listText(const StaticList &list);

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_STATICLIST_H
