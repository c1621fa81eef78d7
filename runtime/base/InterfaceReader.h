//===- InterfaceReader.h - Type-checked access to JSON members ----------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_INTERFACEREADER_H
#define UPDRAFT_RUNTIME_BASE_INTERFACEREADER_H

#include "runtime/base/RuleInterface.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

namespace updraft::runtime {

/// Reads members of JSON that may be damaged, and remembers the first error. After an error,
/// results are unspecified.
class InterfaceReader {
public:
  using Json = nlohmann::ordered_json;

  bool failed() const { return !problem.empty(); }
  const std::string &message() const { return problem; }
  void fail(std::string text) {
    if (problem.empty())
      problem = std::move(text);
  }

  const Json *member(const Json &object, const char *key);
  std::string text(const Json &object, const char *key);
  std::string name(const Json &object, const char *key); // not empty
  upd_dtype dtype(const Json &object, const char *key);
  /// Accepts block-quantised types too.
  upd_dtype stateDType(const Json &object, const char *key);
  double number(const Json &object, const char *key);
  /// Accepts values up to `limit`.
  uint32_t count(const Json &object, const char *key, uint32_t limit);
  /// False if the member is missing and not required.
  bool flag(const Json &object, const char *key, bool required);
  const Json &array(const Json &object, const char *key);
  /// The index of the member's text in `words`; 0 if the member is missing and not required.
  size_t word(const Json &object, const char *key, std::span<const char *const> words,
              bool required);

  Extent extent(const Json &object, bool required);

private:
  std::string problem;
};

/// Reads one of the `plans` of `rule`, with the streams of its param, grad and states.
PlanInterface readPlan(InterfaceReader &reader, const InterfaceReader::Json &json,
                       const RuleInterface &rule);

/// Checks the requirements on all plans of a rule together.
void checkPlans(InterfaceReader &reader, const RuleInterface &rule);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_INTERFACEREADER_H
