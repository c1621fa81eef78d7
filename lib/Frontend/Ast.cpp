//===- Ast.cpp - The syntax tree --------------------------------------------------------------===//

#include "updraft/Frontend/Ast.h"

#include "llvm/ADT/STLExtras.h"

using namespace updraft;
using llvm::StringRef;

StringRef updraft::spelling(UnaryOperator op) { return op == UnaryOperator::Negate ? "-" : "!"; }

StringRef updraft::spelling(BinaryOperator op) {
  switch (op) {
  case BinaryOperator::Add:
    return "+";
  case BinaryOperator::Subtract:
    return "-";
  case BinaryOperator::Multiply:
    return "*";
  case BinaryOperator::Divide:
    return "/";
  case BinaryOperator::MatrixProduct:
    return "@";
  case BinaryOperator::Power:
    return "^";
  case BinaryOperator::Less:
    return "<";
  case BinaryOperator::LessEqual:
    return "<=";
  case BinaryOperator::Greater:
    return ">";
  case BinaryOperator::GreaterEqual:
    return ">=";
  case BinaryOperator::Equal:
    return "==";
  case BinaryOperator::NotEqual:
    return "!=";
  case BinaryOperator::And:
    return "&&";
  case BinaryOperator::Or:
    return "||";
  }
  return "";
}

bool Rule::isAfter() const {
  return isTransform && update && llvm::any_of(update->inputs, [](const Identifier &input) {
           return input.text == "new_param";
         });
}

bool Rule::holds() const {
  return update && llvm::any_of(update->statements, [](const Statement &statement) {
           return statement.kind == StatementKind::Hold;
         });
}

std::string updraft::stringValue(const Expr &expr) {
  std::string value;
  for (size_t i = 0; i < expr.text.size(); ++i) {
    char c = expr.text[i];
    if (c == '\\' && i + 1 < expr.text.size()) {
      c = expr.text[++i];
      c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    value.push_back(c);
  }
  return value;
}
