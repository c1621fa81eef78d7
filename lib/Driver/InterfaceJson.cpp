//===- InterfaceJson.cpp - The interface of a plan as JSON ------------------------------------===//

#include "InterfaceJson.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace updraft;
using nlohmann::ordered_json;

static std::string typeName(Type type) {
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

static ordered_json indicesOf(ValueRange streams, const llvm::DenseMap<Value, unsigned> &indices) {
  ordered_json result = ordered_json::array();
  for (Value stream : streams)
    result.push_back(indices.lookup(stream));
  return result;
}

std::string
updraft::interfaceJson(PlanOp plan, llvm::StringRef numerics,
                       const std::vector<std::pair<std::string, std::string>> &statics) {
  ordered_json json{{"format", 2},
                    {"name", plan.getSymName().str()},
                    {"compute", typeName(plan.getCompute())},
                    {"numerics", numerics.str()}};
  json["statics"] = ordered_json::object();
  for (const auto &[name, value] : statics)
    json["statics"][name] = value;

  auto hypers = ordered_json::array(), states = ordered_json::array();
  auto messages = ordered_json::array(), sequence = ordered_json::array();
  sequence.push_back({{"prologue", 0}});
  llvm::DenseMap<Value, unsigned> streams;
  unsigned rowScalars = 1; // the skip flag
  for (Operation &op : plan.getBody().front()) {
    if (auto hyper = dyn_cast<HyperOp>(op)) {
      ordered_json value = hyper.getDefaultValue().convertToDouble();
      if (hyper.getDefaultValue().isInfinity()) // which JSON does not have
        value = hyper.getDefaultValue().isNegative() ? "-inf" : "inf";
      hypers.push_back({{"name", hyper.getName().str()}, {"default", std::move(value)}});
    } else if (auto stream = dyn_cast<StreamOp>(op)) {
      unsigned index = streams.size();
      streams[stream.getResult()] = index;
      std::string dtype = typeName(stream.getType().getStorage());
      if (index < 2)
        json[index == 0 ? "param" : "grad"] = dtype;
      else
        states.push_back({{"name", stream.getName().str()}, {"dtype", dtype}});
    } else if (auto validate = dyn_cast<ValidateOp>(op)) {
      for (auto message : validate.getMessages().getAsRange<StringAttr>())
        messages.push_back(message.getValue().str());
    } else if (auto prologue = dyn_cast<PrologueOp>(op)) {
      rowScalars += prologue.getNumResults();
    } else if (auto pass = dyn_cast<PassOp>(op)) {
      sequence.push_back({{"pass", sequence.size() - 1},
                          {"over", "element"},
                          {"loop", "flat"},
                          {"reads", indicesOf(pass.getReads(), streams)},
                          {"writes", indicesOf(pass.getWrites(), streams)},
                          {"makes", ordered_json::array()},
                          {"reductions", ordered_json::array()}});
    }
  }
  json["states"] = std::move(states);
  json["hypers"] = std::move(hypers);
  json["messages"] = std::move(messages);
  json["plans"] = ordered_json::array({{{"for", "any"},
                                        {"prefix", plan.getSymName().str()},
                                        {"row_scalars", rowScalars},
                                        {"rows_by", "step"},
                                        {"random", false},
                                        {"prologues", 1},
                                        {"temporaries", ordered_json::array()},
                                        {"sequence", std::move(sequence)}}});
  return json.dump(-1, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace);
}
