//===- SourcePrinter.cpp - The syntax tree as source text -------------------------------------===//
// Prints as few parentheses as possible, and numbers as they were written.

#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Parser.h"

using namespace updraft;
using llvm::StringRef;

namespace {
// The precedence of an expression's outermost operator; larger values bind tighter.
enum Precedence : unsigned { If = 0, Or, And, Comparison, Sum, Product, Prefix, Power, Atom };

unsigned precedence(const Expr &expr) {
  switch (expr.kind) {
  case ExprKind::If:
    return If;
  case ExprKind::Unary:
    return Prefix;
  case ExprKind::Binary:
    break;
  default:
    return Atom;
  }
  switch (expr.binary) {
  case BinaryOperator::Or:
    return Or;
  case BinaryOperator::And:
    return And;
  case BinaryOperator::Add:
  case BinaryOperator::Subtract:
    return Sum;
  case BinaryOperator::Multiply:
  case BinaryOperator::Divide:
  case BinaryOperator::MatrixProduct:
    return Product;
  case BinaryOperator::Power:
    return Power;
  default:
    return Comparison;
  }
}

class SourcePrinter {
public:
  explicit SourcePrinter(llvm::raw_ostream &os) : os(os) {}

  void print(const ParsedFile &file) {
    StringRef separator;
    for (const ImportDeclaration &declaration : file.imports) {
      os << "import \"" << declaration.path->text << "\"\n";
      separator = "\n";
    }
    for (const Function &function : file.functions) {
      os << separator;
      print(function);
      separator = "\n";
    }
    for (const auto *rules : {&file.transforms, &file.rules})
      for (const Rule &rule : *rules) {
        os << separator;
        print(rule);
        separator = "\n";
      }
  }

private:
  void printNames(llvm::ArrayRef<Identifier> names) {
    StringRef separator = "(";
    for (const Identifier &name : names) {
      os << separator << name.text;
      separator = ", ";
    }
    os << (names.empty() ? "()" : ")");
  }

  void print(const Function &function) {
    os << "fn " << function.name.text;
    printNames(function.parameters);
    if (!function.isBlock) {
      os << " = ";
      print(*function.result);
      os << '\n';
      return;
    }
    os << " {\n";
    printLets(function.lets, "  ");
    os << "  return ";
    print(*function.result);
    os << "\n}\n";
  }

  void printLets(llvm::ArrayRef<Let> lets, StringRef indent) {
    for (const Let &let : lets)
      if (let.repeat)
        print(*let.repeat, indent);
      else
        printBinding((indent + "let ").str(), let.name, *let.value, nullptr);
  }

  void print(const Repeat &repeat, StringRef indent) {
    os << indent << "repeat ";
    StringRef separator;
    for (const Let &variable : repeat.variables) {
      os << separator << variable.name.text << " = ";
      print(*variable.value);
      separator = ", ";
    }
    os << " for ";
    if (repeat.isTuple)
      printNames(repeat.items);
    else
      os << repeat.items.front().text;
    os << " in ";
    print(*repeat.list);
    os << " {\n";
    const std::string inner = (indent + "  ").str();
    printLets(repeat.lets, inner);
    for (const Let &next : repeat.nexts)
      printBinding(inner + "next ", next.name, *next.value, nullptr);
    os << indent << "}\n";
  }

  void printBinding(StringRef start, const Identifier &name, const Expr &value, const Expr *when) {
    os << start << name.text << " = ";
    print(value);
    if (when) {
      os << " when ";
      print(*when);
    }
    os << '\n';
  }

  void print(const Rule &rule) {
    if (!rule.chain.empty())
      return printChain(rule);
    os << (rule.isTransform ? "transform " : "rule ") << rule.name.text << '(';
    StringRef separator;
    for (const Parameter &parameter : rule.parameters) {
      os << separator << (parameter.isStatic ? "static " : "") << parameter.name.text << " = ";
      print(*parameter.initial);
      separator = ", ";
    }
    os << ")\n";
    for (const Requirement &requirement : rule.requirements) {
      os << "  require ";
      print(*requirement.condition);
      os << " else \"" << requirement.message->text << "\"\n";
    }
    os << "{\n";
    for (const State &state : rule.states)
      print(state);
    if (!rule.states.empty())
      os << '\n';
    if (rule.update)
      print("update", *rule.update);
    if (rule.finish)
      print("finish", *rule.finish);
    os << "}\n";
  }

  void printChain(const Rule &rule) {
    os << "rule " << rule.name.text << " =";
    StringRef separator = " ";
    for (const StageCall &stage : rule.chain) {
      os << separator << stage.name.text;
      separator = " |> ";
      if (stage.arguments.empty())
        continue;
      StringRef comma = "(";
      for (const StageCall::Argument &argument : stage.arguments) {
        os << comma;
        if (argument.name)
          os << argument.name->text << " = ";
        print(*argument.value);
        comma = ", ";
      }
      os << ')';
    }
    os << '\n';
  }

  void print(StringRef keyword, const Update &update) {
    os << "  " << keyword;
    printNames(update.inputs);
    os << " {\n";
    for (const Statement &statement : update.statements) {
      switch (statement.kind) {
      case StatementKind::Let:
      case StatementKind::Next:
      case StatementKind::Probe:
        printBinding(statement.kind == StatementKind::Next  ? "    next "
                     : statement.kind == StatementKind::Let ? "    let "
                                                            : "    probe ",
                     statement.name, *statement.value, statement.when);
        break;
      case StatementKind::Repeat:
        print(*statement.repeat, "    ");
        break;
      case StatementKind::Skip:
      case StatementKind::Hold:
        os << "    " << statement.name.text << " when ";
        print(*statement.value);
        os << '\n';
        break;
      }
    }
    os << "  }\n";
  }

  void print(const State &state) {
    os << "  state " << state.name.text;
    if (state.over)
      os << " over " << state.over->text;
    os << " = ";
    print(*state.initial);
    if (state.storage)
      os << " : " << storageTypeName(*state.storage);
    if (state.when) {
      os << " when ";
      print(*state.when);
    }
    os << '\n';
  }

  // Adds parentheses if the expression binds less tightly than its context requires.
  void print(const Expr &expr, unsigned least = If) {
    bool isEnclosed = precedence(expr) < least;
    if (isEnclosed)
      os << '(';
    printBare(expr);
    if (isEnclosed)
      os << ')';
  }

  void printBare(const Expr &expr) {
    switch (expr.kind) {
    case ExprKind::Number:
    case ExprKind::Bool:
    case ExprKind::String:
      os << expr.range.text();
      break;
    case ExprKind::Name:
      os << expr.text;
      break;
    case ExprKind::Unary:
      os << spelling(expr.unary);
      print(*expr.operands[0], Prefix);
      break;
    case ExprKind::Binary:
      printBinary(expr);
      break;
    case ExprKind::If:
      os << "if ";
      print(*expr.operands[0]);
      os << " then ";
      print(*expr.operands[1]);
      os << " else ";
      print(*expr.operands[2]);
      break;
    case ExprKind::Call:
      os << expr.text;
      printParts(expr, '(', ')');
      break;
    case ExprKind::Tuple:
      printParts(expr, '(', ')');
      break;
    case ExprKind::List:
      printParts(expr, '[', ']');
      break;
    }
  }

  void printParts(const Expr &expr, char open, char close) {
    os << open;
    for (const Expr *operand : expr.operands) {
      os << (operand == expr.operands.front() ? "" : ", ");
      print(*operand);
    }
    os << close;
  }

  void printBinary(const Expr &expr) {
    unsigned own = precedence(expr);
    // Operators are left-associative except `^`; comparisons don't chain.
    unsigned left = own == Comparison ? own + 1 : own == Power ? unsigned(Atom) : own;
    unsigned right = own == Power ? unsigned(Prefix) : own + 1;
    print(*expr.operands[0], left);
    os << ' ' << spelling(expr.binary) << ' ';
    print(*expr.operands[1], right);
  }

  llvm::raw_ostream &os;
};
} // namespace

void updraft::printSource(const Program &program, llvm::raw_ostream &os) {
  SourcePrinter(os).print(program.main());
}
