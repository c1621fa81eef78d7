//===- Requirements.cpp - Compares requirements of rules --------------------------------------===//

#include "RuleCase.h"
#include "Sides.h"

#include <cmath>
#include <limits>

using namespace updraft;
using namespace updraft::differential;
using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

/// Whether `text` is `message` with any text for each `{name}`.
static bool fits(llvm::StringRef text, llvm::StringRef message) {
  while (true) {
    const size_t open = message.find('{');
    const llvm::StringRef literal = message.take_front(open);
    const size_t found = text.find(literal);
    if (found == llvm::StringRef::npos)
      return false;
    if (open == llvm::StringRef::npos)
      return true;
    text = text.drop_front(found + literal.size());
    message = message.drop_front(std::min(message.find('}', open), message.size() - 1) + 1);
  }
}

AssertionResult updraft::differential::requirementsAgree(const RuleCase &ruleCase) {
  llvm::Expected<reference::Interpreter> interpreter = interpret(ruleCase);
  if (!interpreter)
    return AssertionFailure() << llvm::toString(interpreter.takeError());
  llvm::Expected<RuleHandle> rule = compile(ruleCase);
  if (!rule)
    return AssertionFailure() << llvm::toString(rule.takeError());
  double element = 0; // zeros in any type
  const int64_t count = 1;
  upd_tensor param = {};
  param.data = &element;
  param.shape = &count;
  param.rank = 1;
  param.dtype = upd_rule_param_dtype(rule->get());
  param.device = UPD_CPU;
  upd_group group = {};
  group.params = &param;
  group.param_count = 1;
  upd_optimizer *created = nullptr;
  if (upd_optimizer_create(rule->get(), &group, 1, nullptr, &created) != UPD_OK)
    return AssertionFailure() << upd_last_error();
  OptimizerHandle optimizer(created);

  const double infinity = std::numeric_limits<double>::infinity();
  for (const auto &[index, name] : llvm::enumerate(interpreter->hyperNames())) {
    for (double value : {-infinity, -1.0, -0.0, 0.0, 0.5, 1.0, std::nextafter(1.0, 0.0), 2.0,
                         infinity, double(NAN)}) {
      std::vector<double> hypers = interpreter->hyperDefaults();
      hypers[index] = value;
      const auto broken = interpreter->firstBrokenRequirement(hypers);
      const upd_status status = upd_optimizer_set_hyper(optimizer.get(), 0, name.c_str(), value);
      const bool expectRefusal = broken || std::isnan(value);
      if ((status != UPD_OK) != expectRefusal)
        return AssertionFailure() << describe(ruleCase) << "\n"
                                  << name << " = " << value << " is "
                                  << (expectRefusal ? "accepted" : "refused") << ": "
                                  << (broken ? broken->message : upd_last_error());
      if (broken && !std::isnan(value) && !fits(upd_last_error(), broken->message))
        return AssertionFailure() << describe(ruleCase) << "\n"
                                  << name << " = " << value << " is refused with\n  "
                                  << upd_last_error() << "\nwhere the rule says\n  "
                                  << broken->message;
      // A refused value must not change anything.
      double now;
      if (upd_optimizer_get_hyper(optimizer.get(), 0, name.c_str(), &now) != UPD_OK)
        return AssertionFailure() << upd_last_error();
      const double expected = expectRefusal ? interpreter->hyperDefaults()[index] : value;
      if (now != expected)
        return AssertionFailure() << describe(ruleCase) << "\nafter setting " << name << " to "
                                  << value << " it is " << now << ", not " << expected;
      if (upd_optimizer_set_hyper(optimizer.get(), 0, name.c_str(),
                                  interpreter->hyperDefaults()[index]) != UPD_OK)
        return AssertionFailure() << upd_last_error();
    }
  }
  return AssertionSuccess();
}
