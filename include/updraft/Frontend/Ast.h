//===- Ast.h - The syntax tree ------------------------------------------------------*- C++ -*-===//
// Plain nodes as the parser makes them. Expressions are allocated in their file's arena and never
// change; names and strings refer to the file's text.

#ifndef UPDRAFT_FRONTEND_AST_H
#define UPDRAFT_FRONTEND_AST_H

#include "updraft/Support/SourceFile.h"

#include "updraft-c/types.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace updraft {

struct Identifier {
  llvm::StringRef text;
  SourceRange range{};
};

enum class UnaryOperator : uint8_t { Negate, Not };
enum class BinaryOperator : uint8_t {
  Add,
  Subtract,
  Multiply,
  Divide,
  Power,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
};

/// "+" for BinaryOperator::Add.
llvm::StringRef spelling(BinaryOperator op);
llvm::StringRef spelling(UnaryOperator op);

enum class ExprKind : uint8_t { Number, Bool, String, Name, Unary, Binary, If, Call };

struct Expr {
  ExprKind kind;
  UnaryOperator unary{};
  BinaryOperator binary{};
  bool boolean = false;
  uint32_t depth = 1; ///< of the tree below, this node included
  double number = 0;
  SourceRange range{};
  SourceRange focus{};    ///< the operator or the called name, else the same as `range`
  llvm::StringRef text{}; ///< a name, the called function, or a string between its quotes
  llvm::ArrayRef<const Expr *> operands{}; ///< condition, then, else for If; arguments for Call
};

/// The value of a string expression: its escapes replaced.
std::string stringValue(const Expr &expr);

struct Let {
  Identifier name;
  const Expr *value;
};

struct ParsedFile;

struct Function {
  Identifier name;
  std::vector<Identifier> parameters;
  std::vector<Let> lets; ///< empty for `fn f(x) = expr`
  const Expr *result = nullptr;
  bool isBlock = false;
  const ParsedFile *file = nullptr;
};

/// A hyperparameter, or a static flag.
struct Parameter {
  Identifier name;
  const Expr *initial;
  bool isStatic;
};

struct Requirement {
  const Expr *condition;
  const Expr *message; ///< a String
};

struct State {
  Identifier name;
  const Expr *initial;
  std::optional<upd_dtype> storage;
  const Expr *when; ///< or null
};

/// `let name = value`, or `next name = value when condition`.
struct Statement {
  bool isNext;
  Identifier name;
  const Expr *value;
  const Expr *when; ///< or null
};

struct Rule {
  Identifier name;
  std::vector<Parameter> parameters;
  std::vector<Requirement> requirements;
  std::vector<State> states;
  std::vector<Identifier> inputs; ///< of `update`
  std::vector<Statement> statements;
  bool hasUpdate = false;
  const ParsedFile *file = nullptr;
};

struct ImportDeclaration {
  const Expr *path; ///< a String
};

/// One file's declarations, in order of the text within each kind.
struct ParsedFile {
  std::shared_ptr<const SourceFile> source;
  std::vector<ImportDeclaration> imports;
  std::deque<Function> functions;
  std::deque<Rule> rules;
  /// What a call in this file can refer to: its own functions, the imported ones, the library's.
  llvm::StringMap<const Function *> visible;
  llvm::BumpPtrAllocator arena;
};

} // namespace updraft

#endif // UPDRAFT_FRONTEND_AST_H
