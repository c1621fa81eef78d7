//===- AstPrinter.cpp - The syntax tree as text -----------------------------------------------===//
// Prints one node per line, with children indented by two, in the order of the source.

#include "updraft/Frontend/Frontend.h"
#include "updraft/Frontend/Parser.h"

#include <fmt/format.h>

using namespace updraft;
using llvm::StringRef;

namespace {
class AstPrinter {
public:
  AstPrinter(llvm::raw_ostream &os, bool locations, std::vector<SourceRange> *ranges)
      : os(os), locations(locations), ranges(ranges) {}

  void print(const ParsedFile &file) {
    for (const ImportDeclaration &declaration : file.imports) {
      line(0) << "import \"" << declaration.path->text << '"';
      end(declaration.path->range);
    }
    for (const Function &function : file.functions)
      print(function);
    for (const Rule &transform : file.transforms)
      print(transform);
    for (const Rule &rule : file.rules)
      print(rule);
  }

private:
  llvm::raw_ostream &line(unsigned level) { return os.indent(2 * level); }

  // Ends a line with its location: "  @28:21".
  void end(SourceRange range) {
    if (ranges)
      ranges->push_back(range);
    if (locations && range.file) {
      LineColumn at = range.file->position(range.begin);
      os << "  @" << at.line << ':' << at.column;
    }
    os << '\n';
  }

  void print(const Function &function) {
    line(0) << "function " << function.name.text;
    end(function.name.range);
    for (const Identifier &parameter : function.parameters) {
      line(1) << "parameter " << parameter.text;
      end(parameter.range);
    }
    print(function.lets, 1);
    line(1) << "return";
    end({});
    print(*function.result, 2);
  }

  void print(llvm::ArrayRef<Let> lets, unsigned level) {
    for (const Let &let : lets)
      if (let.repeat)
        print(*let.repeat, level);
      else
        print("let", let.name, let.value, nullptr, level);
  }

  void print(const Repeat &repeat, unsigned level) {
    line(level) << "repeat";
    for (const Identifier &item : repeat.items)
      os << ' ' << item.text;
    end(repeat.range);
    for (const Let &variable : repeat.variables)
      print("variable", variable.name, variable.value, nullptr, level + 1);
    line(level + 1) << "in";
    end({});
    print(*repeat.list, level + 2);
    print(repeat.lets, level + 1);
    for (const Let &next : repeat.nexts)
      print("next", next.name, next.value, nullptr, level + 1);
  }

  void print(StringRef what, const Identifier &name, const Expr *value, const Expr *when = nullptr,
             unsigned level = 1) {
    line(level) << what << ' ' << name.text;
    end(name.range);
    print(*value, level + 1);
    printWhen(when);
  }

  void printWhen(const Expr *when) {
    if (!when)
      return;
    line(2) << "when";
    end({});
    print(*when, 3);
  }

  void print(const Rule &rule) {
    line(0) << (rule.isTransform ? "transform " : "rule ") << rule.name.text;
    end(rule.name.range);
    for (const StageCall &stage : rule.chain)
      print(stage);
    for (const Parameter &parameter : rule.parameters)
      print(parameter.isStatic ? "static" : "hyper", parameter.name, parameter.initial);
    for (const Requirement &requirement : rule.requirements) {
      line(1) << "require \"" << requirement.message->text << '"';
      end(requirement.message->range);
      print(*requirement.condition, 2);
    }
    for (const State &state : rule.states) {
      line(1) << "state " << state.name.text;
      if (state.over)
        os << " over " << state.over->text;
      if (state.storage)
        os << " stored " << storageTypeName(*state.storage);
      end(state.name.range);
      print(*state.initial, 2);
      printWhen(state.when);
    }
    if (rule.update)
      print("update", *rule.update);
    if (rule.finish)
      print("finish", *rule.finish);
  }

  void print(const StageCall &stage) {
    line(1) << "stage " << stage.name.text;
    end(stage.name.range);
    for (const StageCall::Argument &argument : stage.arguments) {
      line(2) << "argument";
      if (argument.name)
        os << ' ' << argument.name->text;
      end(argument.value->range);
      print(*argument.value, 3);
    }
  }

  void print(StringRef keyword, const Update &update) {
    line(1) << keyword;
    for (const Identifier &input : update.inputs)
      os << ' ' << input.text;
    end(update.range);
    for (const Statement &statement : update.statements) {
      if (statement.kind == StatementKind::Let || statement.kind == StatementKind::Next ||
          statement.kind == StatementKind::Probe) {
        print(statement.kind == StatementKind::Next  ? "next"
              : statement.kind == StatementKind::Let ? "let"
                                                     : "probe",
              statement.name, statement.value, statement.when);
        continue;
      }
      if (statement.kind == StatementKind::Repeat) {
        print(*statement.repeat, 1);
        continue;
      }
      line(1) << statement.name.text;
      end(statement.name.range);
      print(*statement.value, 2);
    }
  }

  void print(const Expr &expr, unsigned level) {
    line(level);
    switch (expr.kind) {
    case ExprKind::Number:
      os << "number " << fmt::format("{}", expr.number);
      break;
    case ExprKind::Bool:
      os << "bool " << (expr.boolean ? "true" : "false");
      break;
    case ExprKind::String:
      os << "string \"" << expr.text << '"';
      break;
    case ExprKind::Name:
      os << "name " << expr.text;
      break;
    case ExprKind::Unary:
      os << "unary " << spelling(expr.unary);
      break;
    case ExprKind::Binary:
      os << "binary " << spelling(expr.binary);
      break;
    case ExprKind::If:
      os << "if";
      break;
    case ExprKind::Call:
      os << "call " << expr.text;
      break;
    case ExprKind::Tuple:
      os << "tuple";
      break;
    case ExprKind::List:
      os << "list";
      break;
    }
    end(expr.focus);
    for (const Expr *operand : expr.operands)
      print(*operand, level + 1);
  }

  llvm::raw_ostream &os;
  bool locations;
  std::vector<SourceRange> *ranges;
};
} // namespace

void updraft::printAst(const Program &program, llvm::raw_ostream &os, bool locations,
                       std::vector<SourceRange> *ranges) {
  AstPrinter(os, locations, ranges).print(program.main());
}
