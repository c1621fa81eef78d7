//===- LinkedRule.cpp - updraft-c/linked_rule.h -----------------------------------------------===//

#include "runtime/package/LinkedRule.h"

#include "runtime/capi/Report.h"
#include "runtime/capi/SizedStruct.h"

#include <cstddef>
#include <vector>

using namespace updraft;
using capi::nullArgument;
using runtime::Status;

upd_status upd_rule_link(const upd_linked_rule *const *targets, size_t target_count,
                         upd_rule **rule) {
  return capi::report([&] {
    if (!rule)
      return nullArgument("rule, where the result goes,");
    *rule = nullptr;
    if (!targets || target_count == 0)
      return runtime::invalidArgument("no targets; give at least one upd_linked_rule");
    constexpr size_t firstSize = offsetof(upd_linked_rule, function_count) + sizeof(size_t);
    std::vector<upd_linked_rule> known(target_count);
    for (size_t i = 0; i < target_count; ++i) {
      if (!targets[i])
        return nullArgument("a target");
      if (Status status = capi::readSized(targets[i], firstSize, "upd_linked_rule", known[i]);
          !status.ok())
        return status;
      if (!known[i].target || !known[i].descriptor || !known[i].functions)
        return nullArgument("a member of a target");
    }
    std::shared_ptr<const runtime::Kernels> kernels;
    if (Status status = package::linkRule(known, kernels); !status.ok())
      return status;
    *rule = new upd_rule{std::move(kernels), UPD_LINKED};
    return Status();
  });
}
