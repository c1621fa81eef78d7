//===- FunctionCall.cpp - Functions that clients can call -------------------------------------===//

#include "runtime/torch/rpc/FunctionCall.h"

#include "runtime/torch/rpc/JsonDamage.h"
#include "runtime/torch/rpc/RemoteParameters.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

using namespace updraft::torch_adapter;
using Json = nlohmann::json;

static constexpr const char *nameSpace = "updraft_functions";

static std::vector<std::string> functionNames() {
  std::vector<std::string> names;
  const std::string prefix = std::string(nameSpace) + "::";
  for (const c10::OperatorName &name : c10::Dispatcher::singleton().getAllOpNames())
    if (name.name.starts_with(prefix) && name.overload_name.empty())
      names.push_back("`" + name.name.substr(prefix.size()) + "`");
  std::sort(names.begin(), names.end());
  return names;
}

static c10::OperatorHandle findFunction(const std::string &name) {
  auto found = c10::Dispatcher::singleton().findSchema({std::string(nameSpace) + "::" + name, ""});
  TORCH_CHECK_VALUE(found, "this worker has no function `", name, "`; it has ",
                    fmt::format("{}", fmt::join(functionNames(), ", ")));
  return *found;
}

/// Whether the number fits torch's integers.
static bool isInteger(const Json &json) {
  return json.is_number_unsigned() ? std::in_range<int64_t>(json.get<uint64_t>())
                                   : json.is_number_integer();
}

namespace {
/// Converts the client's JSON to arguments.
class Arguments {
public:
  Arguments(const std::string &function, const std::vector<at::Tensor> &tensors)
      : function(function), tensors(tensors) {}

  c10::Stack of(const c10::FunctionSchema &schema, const Json &positional, const Json &named) {
    const std::vector<c10::Argument> &wanted = schema.arguments();
    size_t places = 0;
    while (places < wanted.size() && !wanted[places].kwarg_only())
      ++places;
    TORCH_CHECK_TYPE(positional.size() <= places, "`", function, "` takes ", places,
                     " positional arguments, and ", positional.size(), " were given");
    c10::Stack stack;
    size_t used = positional.size();
    for (size_t i = 0; i < wanted.size(); ++i) {
      argument = wanted[i].name();
      const bool isNamed = named.contains(argument);
      TORCH_CHECK_TYPE(!isNamed || i >= positional.size(), "`", function,
                       "` got two values for its argument `", argument, "`");
      if (i < positional.size()) {
        stack.push_back(value(positional[i], wanted[i].type()));
      } else if (isNamed) {
        stack.push_back(value(named.at(argument), wanted[i].type()));
        ++used;
      } else {
        TORCH_CHECK_TYPE(wanted[i].default_value(), "`", function, "` needs the argument `",
                         argument, "`");
        stack.push_back(*wanted[i].default_value());
      }
    }
    if (used != positional.size() + named.size())
      for (const auto &[name, ignored] : named.items())
        TORCH_CHECK_TYPE(schema.argumentIndexWithName(name), "`", function, "` has no argument `",
                         name, "`");
    return stack;
  }

private:
  [[noreturn]] void refuse(const c10::Type &type) const {
    TORCH_CHECK_TYPE(false, "the argument `", argument, "` of `", function, "` is ", type.str(),
                     ", and something else was given");
    __builtin_unreachable();
  }

  int64_t integer(const Json &json, const c10::Type &type) const {
    if (!isInteger(json))
      refuse(type);
    return json.get<int64_t>();
  }

  at::Tensor tensor(const Json &json, const c10::Type &type) const {
    if (!json.is_object())
      refuse(type);
    if (auto sent = json.find("tensor"); sent != json.end()) {
      const int64_t place = integer(*sent, type);
      TORCH_CHECK_VALUE(place >= 0 && place < static_cast<int64_t>(tensors.size()),
                        "the argument `", argument, "` of `", function, "` is tensor ", place,
                        " of those that came with the call, which are ", tensors.size());
      return tensors[static_cast<size_t>(place)];
    }
    if (auto rref = json.find("rref"); rref != json.end() && rref->is_array() && rref->size() == 2)
      return ownedTensors({integer(rref->at(0), type)}, {integer(rref->at(1), type)},
                          {fmt::format("the argument `{}` of `{}`", argument, function)})
          .front();
    refuse(type);
  }

  c10::IValue number(const Json &json, const c10::Type &type, bool asFloat) const {
    if (json.is_object() && json.contains("float")) // values that JSON can't represent
      return std::strtod(json.at("float").get<std::string>().c_str(), nullptr);
    if (!json.is_number())
      refuse(type);
    if (isInteger(json) && !asFloat)
      return json.get<int64_t>();
    return json.get<double>();
  }

  c10::IValue value(const Json &json, const c10::TypePtr &type) const {
    switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return tensor(json, *type);
    case c10::TypeKind::OptionalType:
      return json.is_null() ? c10::IValue()
                            : value(json, type->castRaw<c10::OptionalType>()->getElementType());
    case c10::TypeKind::ListType: {
      if (!json.is_array())
        refuse(*type);
      const c10::TypePtr &element = type->castRaw<c10::ListType>()->getElementType();
      c10::impl::GenericList list(element);
      for (const Json &one : json)
        list.push_back(value(one, element));
      return list;
    }
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return integer(json, *type);
    case c10::TypeKind::FloatType:
      return number(json, *type, true);
    case c10::TypeKind::NumberType:
      return number(json, *type, false);
    case c10::TypeKind::BoolType:
      if (!json.is_boolean())
        refuse(*type);
      return json.get<bool>();
    case c10::TypeKind::StringType:
      if (!json.is_string())
        refuse(*type);
      return json.get<std::string>();
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "the argument `", argument, "` of `", function, "` is ",
                                  type->str(), ", which no client can send");
    }
    __builtin_unreachable();
  }

  const std::string &function;
  const std::vector<at::Tensor> &tensors;
  std::string argument; ///< the current argument
};
} // namespace

c10::IValue updraft::torch_adapter::callFunction(const std::string &name,
                                                 const std::string &arguments,
                                                 const std::vector<at::Tensor> &tensors) {
  const c10::OperatorHandle function = findFunction(name);
  c10::Stack stack;
  try {
    const Json json = Json::parse(arguments);
    stack = Arguments(name, tensors).of(function.schema(), json.at("args"), json.at("kwargs"));
  } catch (const nlohmann::json::exception &error) {
    TORCH_CHECK_VALUE(false, "the arguments of `", name, "` are damaged: ", damageOf(error));
  }
  function.callBoxed(&stack);
  if (stack.size() == 1)
    return stack.front();
  return c10::ivalue::Tuple::create(std::move(stack));
}
