//===- InterfaceReader.cpp - Type-checked access to JSON members ------------------------------===//

#include "runtime/base/InterfaceReader.h"

#include "runtime/base/DType.h"

#include <cmath>
#include <fmt/format.h>

using namespace updraft::runtime;
using Json = InterfaceReader::Json;

const Json *InterfaceReader::member(const Json &object, const char *key) {
  if (!object.is_object()) {
    fail("an object was expected");
    return nullptr;
  }
  auto found = object.find(key);
  if (found == object.end()) {
    fail(fmt::format("`{}` is missing", key));
    return nullptr;
  }
  return &*found;
}

std::string InterfaceReader::text(const Json &object, const char *key) {
  const Json *value = member(object, key);
  if (value && value->is_string())
    return value->get<std::string>();
  fail(fmt::format("`{}` is not a string", key));
  return {};
}

std::string InterfaceReader::name(const Json &object, const char *key) {
  std::string result = text(object, key);
  if (result.empty())
    fail(fmt::format("`{}` is empty", key));
  return result;
}

upd_dtype InterfaceReader::dtype(const Json &object, const char *key) {
  const upd_dtype dtype = stateDType(object, key);
  if (!isBlocked(dtype))
    return dtype;
  fail(fmt::format("`{}` is `{}`, which is for states", key, nameOf(dtype)));
  return UPD_F32;
}

upd_dtype InterfaceReader::stateDType(const Json &object, const char *key) {
  const std::string name = text(object, key);
  if (auto parsed = parseDType(name))
    return *parsed;
  fail(fmt::format("`{}` is not a storage type: `{}`", key, name));
  return UPD_F32;
}

double InterfaceReader::number(const Json &object, const char *key) {
  const Json *value = member(object, key);
  if (value && value->is_number())
    return value->get<double>();
  // JSON doesn't have infinities.
  if (value && (*value == "inf" || *value == "-inf"))
    return *value == "inf" ? INFINITY : -INFINITY;
  fail(fmt::format("`{}` is not a number", key));
  return 0;
}

uint32_t InterfaceReader::count(const Json &object, const char *key, uint32_t limit) {
  const Json *value = member(object, key);
  if (!value || !value->is_number_unsigned()) {
    fail(fmt::format("`{}` is not a count", key));
    return 0;
  }
  const auto result = value->get<uint64_t>();
  if (result > limit)
    fail(fmt::format("`{}` is {}, more than {}", key, result, limit));
  return static_cast<uint32_t>(result);
}

bool InterfaceReader::flag(const Json &object, const char *key, bool required) {
  if (!required && object.is_object() && !object.contains(key))
    return false;
  const Json *value = member(object, key);
  if (value && value->is_boolean())
    return value->get<bool>();
  fail(fmt::format("`{}` is neither true nor false", key));
  return false;
}

const Json &InterfaceReader::array(const Json &object, const char *key) {
  static const Json empty = Json::array();
  const Json *value = member(object, key);
  if (value && value->is_array())
    return *value;
  fail(fmt::format("`{}` is not an array", key));
  return empty;
}

size_t InterfaceReader::word(const Json &object, const char *key,
                             std::span<const char *const> words, bool required) {
  if (!required && object.is_object() && !object.contains(key))
    return 0;
  const std::string found = text(object, key);
  for (size_t i = 0; i < words.size(); ++i)
    if (found == words[i])
      return i;
  std::string list;
  for (size_t i = 0; i < words.size(); ++i)
    list += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  fail(fmt::format("`{}` is `{}`, not {}", key, found, list));
  return 0;
}

Extent InterfaceReader::extent(const Json &object, bool required) {
  static constexpr const char *words[] = {"element", "row", "column", "batch", "tensor", "group"};
  static constexpr Extent extents[] = {Extent::Element, Extent::Row,    Extent::Column,
                                       Extent::Batch,   Extent::Tensor, Extent::Group};
  return extents[word(object, "over", words, required)];
}
