//===- Checker.h - Names and types --------------------------------------------------*- C++ -*-===//
// Finds every error in a file that does not depend on the values of its static flags. Functions are
// polymorphic: each is checked once on its own, and once for each combination of argument types in
// its calls.

#ifndef UPDRAFT_LIB_FRONTEND_CHECKER_H
#define UPDRAFT_LIB_FRONTEND_CHECKER_H

#include "Builtins.h"
#include "RuleFunctions.h"
#include "Type.h"

#include "updraft/Frontend/Ast.h"
#include "updraft/Frontend/Index.h"
#include "updraft/Frontend/Limits.h"
#include "updraft/Support/Diagnostics.h"

#include "llvm/Support/StringSaver.h"

#include <map>
#include <set>
#include <tuple>

namespace updraft {

class Checker {
public:
  /// If `index` is given, it receives the names and types that are found.
  explicit Checker(DiagnosticEngine &diagnostics, Index *index = nullptr)
      : diagnostics(diagnostics), index(index) {}

  void check(const ParsedFile &file);

  /// Returns the type of an expression that may not use names.
  Type checkConstant(const Expr &expr, const ParsedFile &file);

  /// Checks a probe that may use these names.
  void checkProbe(const Identifier &name, const Expr &value, const ParsedFile &file,
                  llvm::ArrayRef<std::pair<llvm::StringRef, Type>> known);

private:
  struct Binding {
    llvm::StringRef name;
    Type type;
    SourceRange declared; ///< without a file for `param`, `grad`, `step` and `first`
  };
  /// The names that an expression may use, and the context for errors about others.
  struct Scope {
    const ParsedFile *file;
    std::vector<Binding> bindings;
    const Update *update = nullptr; ///< while checking it

    const Binding *find(llvm::StringRef name) const;
  };

  /// Where an expression is, which determines whether it may use tensors.
  enum class Context : uint8_t {
    Constant, ///< tensors are not allowed
    Function, ///< a function that is checked on its own: extents are unknown
    Update,
  };

  void checkFunction(const Function &function);
  void checkRule(const Rule &rule);
  void checkParameter(const Rule &rule, const Parameter &parameter, Scope &scope);
  void checkRequirement(const Requirement &requirement, const Scope &scope);
  void checkState(const State &state, const Scope &parameters);
  void checkWhen(const Expr *when, const Scope &statics);
  void checkUpdate(const Rule &rule, const Update &update, const Scope &statics,
                   std::vector<const Statement *> &nexts, std::vector<const Statement *> &probes);
  void checkNext(const Rule &rule, const Update &update, const Statement &statement,
                 const Scope &scope, const Scope &statics, std::vector<const Statement *> &nexts);
  void checkCondition(const Rule &rule, const Update &update, const Statement &statement,
                      const Scope &scope);
  void checkProbe(const Rule &rule, const Update &update, const Statement &statement,
                  const Scope &scope, std::vector<const Statement *> &probes);
  void checkProbe(const Identifier &name, const Expr &value, const Scope &scope);

  Type check(const Expr &expr, const Scope &scope);
  Type checkInner(const Expr &expr, const Scope &scope);
  std::string whereItIsKnown(llvm::StringRef name, const Scope &scope) const;
  /// Whether an unknown name, of a value or a function, is the first of its kind in the rule or
  /// function being checked. Only the first is reported.
  bool isNewlyUnknown(llvm::StringRef name, bool isFunction = false);
  Type checkName(const Expr &expr, const Scope &scope);
  Type checkUnary(const Expr &expr, const Scope &scope);
  Type checkBinary(const Expr &expr, const Scope &scope);
  Type checkPower(const Expr &expr, Type base, Type exponent);
  Type checkIf(const Expr &expr, const Scope &scope);
  Type checkList(const Expr &expr, const Scope &scope);
  Type checkListFunction(const Expr &expr, llvm::ArrayRef<Type> arguments);
  Type checkProduct(const Expr &expr, llvm::StringRef op, Type left, Type right, bool isSymmetric);
  Type checkCall(const Expr &expr, const Scope &scope);
  Type checkRuleFunction(const Expr &expr, const RuleFunction &function,
                         llvm::ArrayRef<Type> arguments);
  Type checkHistogram(const Expr &expr, const RuleFunction &function,
                      llvm::ArrayRef<Type> arguments);
  Type checkBuiltin(const Expr &expr, const Builtin &builtin, llvm::ArrayRef<Type> arguments);
  Type checkFunctionCall(const Expr &expr, const Function &function,
                         const std::vector<Type> &arguments);
  Type checkBody(const Function &function, const std::vector<Type> &arguments);
  bool operandIs(const Expr &operand, Type type, Kind kind, llvm::StringRef op);
  /// Returns the extent of arithmetic on operands of these types, or reports that their shapes
  /// differ.
  Extent joined(const Expr &expr, llvm::StringRef op, llvm::ArrayRef<Type> operands);
  /// Checks `let` and `repeat` statements in order, and adds their names.
  void checkLets(llvm::ArrayRef<Let> lets, Scope &scope);
  void checkRepeat(const Repeat &repeat, Scope &scope);
  /// Reports names that `let` and `repeat` statements declare twice.
  void declareLets(llvm::ArrayRef<Let> lets, Scope &scope);

  /// Adds a binding, or reports that the name is already declared.
  void declare(Scope &scope, const Identifier &name, Type type);
  void reportArgumentCount(const Expr &call, llvm::StringRef count, const Function *function);

  struct Signature {
    const Function *function;
    Context context;
    std::vector<std::tuple<Kind, Extent, unsigned>> arguments;
    auto operator<=>(const Signature &) const = default;
  };

  /// Adds the meaning of a stage's name and of its arguments' names to the index.
  void noteStage(const StageCall &stage, const ParsedFile &file);
  /// Adds a name to a scope.
  void bind(Scope &scope, const Identifier &name, Type type);

  DiagnosticEngine &diagnostics;
  Index *index;
  std::map<Signature, Type> checked;
  std::vector<const Function *> inProgress;
  Context context = Context::Constant;
  unsigned visits = 0;
  unsigned depth = 0;
  /// The calls that are being expanded, and the outermost of them.
  unsigned calls = 0;
  SourceRange outermostCall;
  /// By the function that is being checked; null for a rule.
  std::set<std::tuple<const Function *, bool, llvm::StringRef>> unknownNames;
  /// Whether a limit was reached and reported.
  bool exhausted = false;
  /// Whether a function is being checked on its own.
  bool isGeneric = false;
  llvm::BumpPtrAllocator arena;
  llvm::StringSaver savedNames{arena};
};

} // namespace updraft

#endif // UPDRAFT_LIB_FRONTEND_CHECKER_H
