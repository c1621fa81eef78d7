//===- RuleFunctions.cpp - Reductions, sizes and random numbers -------------------------------===//

#include "RuleFunctions.h"

using namespace updraft;

namespace {
constexpr auto reduce = RuleFunctionKind::Reduce;
constexpr auto size = RuleFunctionKind::Size;

constexpr RuleFunction applied(llvm::StringLiteral name, unsigned arity, MatrixFunction function) {
  return {name, arity, RuleFunctionKind::Apply, Extent::element, ReductionKind::sum, function};
}

constexpr RuleFunction product(llvm::StringLiteral name, ProductKind kind) {
  return {
      name, 2, RuleFunctionKind::Product, Extent::element, ReductionKind::sum, MatrixFunction::qr,
      kind};
}

constexpr RuleFunction table[] = {
    {"batch_count", 1, RuleFunctionKind::Count, Extent::batch},
    {"batch_dot", 2, reduce, Extent::batch},
    {"batch_max", 1, reduce, Extent::batch, ReductionKind::max},
    {"batch_sum", 1, reduce, Extent::batch},
    applied("cholesky", 1, MatrixFunction::cholesky),
    product("bf16_product", {false, OperandFormat::bf16}),
    {"column_dot", 2, reduce, Extent::column},
    {"column_max", 1, reduce, Extent::column, ReductionKind::max},
    {"column_sum", 1, reduce, Extent::column},
    // The number of elements in a row is the number of columns.
    {"columns", 0, size, Extent::row},
    {"columns", 1, RuleFunctionKind::SizeOf, Extent::row},
    {"count", 1, RuleFunctionKind::Count, Extent::tensor},
    {"diagonal", 1, RuleFunctionKind::Diagonal, Extent::element},
    {"dot", 2, reduce, Extent::tensor},
    applied("eigenvalues", 1, MatrixFunction::eigenvalues),
    applied("eigenvectors", 1, MatrixFunction::eigenvectors),
    product("f16_product", {false, OperandFormat::f16}),
    applied("gather_columns", 2, MatrixFunction::gather_columns),
    applied("gather_rows", 2, MatrixFunction::gather_rows),
    {"group_dot", 2, reduce, Extent::group},
    {"group_max", 1, reduce, Extent::group, ReductionKind::max},
    {"group_size", 0, size, Extent::group},
    {"group_sum", 1, reduce, Extent::group},
    {"histogram", 2, RuleFunctionKind::Histogram, Extent::tensor},
    {"identity", 1, RuleFunctionKind::Identity, Extent::element},
    {"largest", 2, RuleFunctionKind::Largest, Extent::element, ReductionKind::sum,
     MatrixFunction::largest},
    {"max", 1, reduce, Extent::tensor, ReductionKind::max},
    applied("qr", 1, MatrixFunction::qr),
    {"random", 0, RuleFunctionKind::Random, Extent::element},
    {"row_dot", 2, reduce, Extent::row},
    {"row_max", 1, reduce, Extent::row, ReductionKind::max},
    {"row_sum", 1, reduce, Extent::row},
    {"rows", 0, size, Extent::column},
    {"rows", 1, RuleFunctionKind::SizeOf, Extent::column},
    {"scale_columns", 2, RuleFunctionKind::ScaleColumns, Extent::element},
    applied("scatter_columns", 2, MatrixFunction::scatter_columns),
    applied("scatter_rows", 2, MatrixFunction::scatter_rows),
    {"size", 0, size, Extent::tensor},
    applied("solve_lower", 2, MatrixFunction::solve_lower),
    applied("solve_upper", 2, MatrixFunction::solve_upper),
    applied("sort_columns", 2, MatrixFunction::sort_columns),
    applied("sort_rows", 2, MatrixFunction::sort_rows),
    {"sum", 1, reduce, Extent::tensor},
    product("symmetric_product", {true, std::nullopt}),
    {"transpose", 1, RuleFunctionKind::Transpose, Extent::element},
};
} // namespace

llvm::ArrayRef<RuleFunction> updraft::ruleFunctions() { return table; }

const RuleFunction *updraft::findRuleFunction(llvm::StringRef name, size_t arguments) {
  const RuleFunction *found = nullptr;
  for (const RuleFunction &function : table) {
    if (function.name != name)
      continue;
    if (!found || function.arity == arguments)
      found = &function;
  }
  return found;
}
