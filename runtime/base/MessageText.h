//===- MessageText.h - Numbers and names in messages --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H
#define UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::runtime {

/// The shortest text that reads back as the same number, as Python's repr has it: 0.001, 1e-08,
/// -1.0.
std::string numberText(double value);

/// A requirement's message: `{name}` is replaced by the value of that name, `{{` and `}}` by
/// braces. What is no known name stays as it is.
std::string fillMessage(std::string_view message, const std::vector<std::string> &names,
                        const double *values);

/// How a message about the unknown `name` ends: "; did you mean `lr`?" if one of `known` is close,
/// else "; there is `lr`, `beta1`", or nothing if there are none or too many to list.
std::string nameHint(std::string_view name, const std::vector<std::string> &known);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H
