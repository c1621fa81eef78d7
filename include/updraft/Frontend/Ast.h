//===- Ast.h - The syntax tree ------------------------------------------------------*- C++ -*-===//
// Plain nodes that the parser creates. Expressions are allocated in their file's arena and never
// change; names and strings refer to the file's text.

#ifndef UPDRAFT_FRONTEND_AST_H
#define UPDRAFT_FRONTEND_AST_H

#include "updraft/Frontend/StorageType.h"
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
  MatrixProduct,
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

enum class ExprKind : uint8_t { Number, Bool, String, Name, Unary, Binary, If, Call, Tuple, List };

struct Expr {
  ExprKind kind;
  UnaryOperator unary{};
  BinaryOperator binary{};
  bool boolean = false;
  uint32_t depth = 1; ///< of the tree below, including this node
  double number = 0;
  SourceRange range{};
  SourceRange focus{};    ///< the operator or the called name, else equal to `range`
  llvm::StringRef text{}; ///< a name, the called function, or a string between its quotes
  /// Condition, then, else for If; arguments for Call; elements for Tuple and List.
  llvm::ArrayRef<const Expr *> operands{};
};

/// The value of a string expression: its escapes replaced.
std::string stringValue(const Expr &expr);

struct Repeat;

/// `let name = value`, or a `repeat`, whose variables are known after it.
struct Let {
  Identifier name;
  const Expr *value;
  const Repeat *repeat = nullptr; ///< then `name` and `value` are empty
};

/// `repeat name = value, … for (name, …) in list { let …  next name = value }`.
struct Repeat {
  SourceRange range;             ///< of the keyword
  std::vector<Let> variables;    ///< with their values before the first element of the list
  std::vector<Identifier> items; ///< the parts of an element, or the element itself
  bool isTuple = false;          ///< whether `items` are in parentheses
  const Expr *list = nullptr;
  std::vector<Let> lets;
  std::vector<Let> nexts; ///< the values after an element
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

/// A hyperparameter, or a static flag, of a rule or a transform.
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
  /// One of `overNames()`; empty for a state with the parameter's shape.
  std::optional<Identifier> over;
  const Expr *initial;
  std::optional<StorageType> storage;
  const Expr *when; ///< or null
};

enum class StatementKind : uint8_t { Let, Next, Probe, Skip, Hold, Repeat };

/// `let name = value`, `next name = value when condition`, `probe name = value`, `skip when value`,
/// `hold when value`, or a `repeat`.
struct Statement {
  StatementKind kind;
  Identifier name;      ///< the keyword of `skip`, `hold` and `repeat`
  const Expr *value;    ///< null for `repeat`
  const Expr *when;     ///< or null
  const Repeat *repeat; ///< or null
};

/// `update (inputs) { statements }`, or `finish`.
struct Update {
  SourceRange range; ///< of the keyword
  std::vector<Identifier> inputs;
  std::vector<Statement> statements;
};

/// `name(argument, name = argument)` in a chain.
struct StageCall {
  struct Argument {
    std::optional<Identifier> name;
    const Expr *value;
  };
  Identifier name;
  std::vector<Argument> arguments;
};

/// A rule, a transform, or a chain of these.
struct Rule {
  Identifier name;
  bool isTransform = false;
  std::vector<StageCall> chain; ///< of `rule name = stage |> stage`; the other members are empty
  std::vector<Parameter> parameters;
  std::vector<Requirement> requirements;
  std::vector<State> states;
  std::optional<Update> update;
  std::optional<Update> finish; ///< of a transform: applies after the rule

  /// Whether this is a transform that follows the rule and sees its result.
  bool isAfter() const;
  /// Whether this may hold the stages after it, which then have their own step count.
  bool holds() const;
  const ParsedFile *file = nullptr;
};

struct ImportDeclaration {
  const Expr *path; ///< a String
};

/// The declarations of one file. Each vector is in the order of the text.
struct ParsedFile {
  std::shared_ptr<const SourceFile> source;
  std::vector<ImportDeclaration> imports;
  std::deque<Function> functions;
  std::deque<Repeat> repeats; ///< of all functions and updates
  std::deque<Rule> rules;
  std::deque<Rule> transforms;
  /// The functions that calls in this file can name: its own, the imported ones and the library's.
  llvm::StringMap<const Function *> visible;
  /// The rules and transforms that chains in this file can name.
  llvm::StringMap<const Rule *> stages;
  /// The second one of a name that two imported files declare, or an imported file and the library.
  /// Then no chain can use the name.
  llvm::StringMap<const Rule *> repeatedStages;
  llvm::BumpPtrAllocator arena;
};

} // namespace updraft

#endif // UPDRAFT_FRONTEND_AST_H
