//===- MessageText.h - Numbers and names in messages --------------------------------*- C++ -*-===//

#ifndef UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H
#define UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace updraft::runtime {

/// The shortest text that parses as the same number, like Python's repr: 0.001, 1e-08, -1.0.
std::string numberText(double value);

/// Formats a requirement's message: replaces `{name}` with the value of that name, and `{{` and
/// `}}` with braces. Unknown names are left unchanged.
std::string fillMessage(std::string_view message, const std::vector<std::string> &names,
                        const double *values);

/// The end of a message about an unknown `name`: "; did you mean `lr`?" if one of `known` is
/// similar, else "; there is `lr`, `beta1`", or nothing if there are none or too many to list.
std::string nameHint(std::string_view name, const std::vector<std::string> &known);

} // namespace updraft::runtime

#endif // UPDRAFT_RUNTIME_BASE_MESSAGETEXT_H
