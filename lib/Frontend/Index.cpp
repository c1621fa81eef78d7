//===- Index.cpp - The meaning of the names in a file -----------------------------------------===//

#include "updraft/Frontend/Index.h"

#include "Builtins.h"
#include "RuleFunctions.h"
#include "StaticList.h"

#include "llvm/ADT/StringExtras.h"

using namespace updraft;
using llvm::StringRef;

// Finds the last place that starts at or before the offset and reaches it. A place includes its
// end, because an editor's cursor is after the word that was just typed.
template <typename Map>
static typename Map::const_iterator lastBefore(const Map &map, const SourceFile &file,
                                               uint32_t offset) {
  auto after = map.upper_bound({&file, offset});
  if (after == map.begin())
    return map.end();
  --after;
  return after->first.first == &file ? after : map.end();
}

void Index::addUse(SourceRange use, SourceRange declared) {
  if (use.file && declared.file)
    uses.try_emplace({use.file, use.begin}, Use{use, declared});
}

void Index::addType(SourceRange place, StringRef type, bool generic) {
  if (!place.file)
    return;
  Types &known = types[{place.file, place.begin}];
  known.end = place.end;
  if (!generic)
    known.names.insert(type);
  else // the call determines whether the number is a tensor
    known.generic = type == "a scalar" ? "a number" : type;
}

const Index::Use *Index::useAt(const SourceFile &file, uint32_t offset) const {
  auto found = lastBefore(uses, file, offset);
  return found != uses.end() && offset <= found->second.range.end ? &found->second : nullptr;
}

std::string Index::typeAt(SourceRange place) const {
  auto found = types.find({place.file, place.begin});
  if (found == types.end())
    return "";
  std::vector<StringRef> names(found->second.names.begin(), found->second.names.end());
  return names.empty() ? found->second.generic.str() : llvm::join(names, " or ");
}

SourceRange Index::typedPlaceAt(const SourceFile &file, uint32_t offset) const {
  auto found = lastBefore(types, file, offset);
  if (found == types.end() || offset > found->second.end)
    return {};
  return {&file, found->first.second, found->second.end};
}

std::vector<BuiltinFunction> updraft::builtinFunctions() {
  std::vector<BuiltinFunction> functions;
  for (const Builtin &builtin : builtins())
    functions.push_back({builtin.name, builtin.arity});
  for (const RuleFunction &function : ruleFunctions())
    functions.push_back({function.name, function.arity});
  for (StringRef name : listFunctionNames)
    functions.push_back({name, 2});
  return functions;
}
