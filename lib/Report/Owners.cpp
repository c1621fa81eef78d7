//===- Owners.cpp - The statements that lines of a rule belong to -----------------------------===//

#include "Owners.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace updraft;

llvm::StringRef updraft::nameOf(OwnerKind kind) {
  static constexpr llvm::StringRef names[] = {"import",  "function", "rule",   "hyper", "static",
                                              "require", "state",    "update", "let",   "next",
                                              "skip",    "hold",     "repeat", "stage"};
  return names[static_cast<size_t>(kind)];
}

namespace {
class Collector {
public:
  std::vector<std::pair<const SourceFile *, Owner>> owners;

  void collect(const ParsedFile &file) {
    for (const ImportDeclaration &declaration : file.imports)
      add(OwnerKind::Import, declaration.path->text, declaration.path->range);
    for (const Function &function : file.functions)
      collect(function);
    for (const auto *rules : {&file.transforms, &file.rules})
      for (const Rule &rule : *rules)
        collect(rule);
  }

private:
  void add(OwnerKind kind, llvm::StringRef name, SourceRange range, bool isConditional = false) {
    if (!range.file)
      return;
    range = range.origin();
    if (!range.file)
      return;
    const unsigned first = range.file->position(range.begin).line;
    const unsigned last = range.file->position(std::max(range.begin + 1, range.end) - 1).line;
    owners.push_back({range.file, {kind, name.str(), first, last, isConditional}});
  }

  void collect(const Function &function) {
    add(OwnerKind::Function, function.name.text, function.name.range.to(function.result->range));
    collect(function.lets);
  }

  void collect(llvm::ArrayRef<Let> lets) {
    for (const Let &let : lets)
      if (let.repeat)
        collect(*let.repeat);
      else
        add(OwnerKind::Let, let.name.text, let.name.range.to(let.value->range));
  }

  void collect(const Repeat &repeat) {
    add(OwnerKind::Repeat, "repeat", repeat.range.to(repeat.list->range));
    for (const Let &variable : repeat.variables)
      add(OwnerKind::Let, variable.name.text, variable.name.range.to(variable.value->range));
    collect(repeat.lets);
    for (const Let &next : repeat.nexts)
      add(OwnerKind::Let, next.name.text, next.name.range.to(next.value->range));
  }

  void collect(const Rule &rule) {
    add(OwnerKind::Rule, rule.name.text, rule.name.range);
    for (const StageCall &stage : rule.chain)
      add(OwnerKind::Stage, stage.name.text,
          stage.arguments.empty() ? stage.name.range
                                  : stage.name.range.to(stage.arguments.back().value->range));
    for (const Parameter &parameter : rule.parameters)
      add(parameter.isStatic ? OwnerKind::Static : OwnerKind::Hyper, parameter.name.text,
          parameter.name.range.to(parameter.initial->range));
    for (const Requirement &requirement : rule.requirements)
      add(OwnerKind::Requirement, requirement.message->text,
          requirement.condition->range.to(requirement.message->range));
    for (const State &state : rule.states)
      add(OwnerKind::State, state.name.text,
          state.name.range.to((state.when ? state.when : state.initial)->range), state.when);
    for (const std::optional<Update> *update : {&rule.update, &rule.finish})
      if (*update)
        collect(**update);
  }

  void collect(const Update &update) {
    SourceRange head = update.range;
    if (!update.inputs.empty())
      head = head.to(update.inputs.back().range);
    add(OwnerKind::Update, head.file ? update.range.text() : "", head);
    for (const Statement &statement : update.statements) {
      if (statement.kind == StatementKind::Repeat) {
        collect(*statement.repeat);
        continue;
      }
      static constexpr OwnerKind kinds[] = {OwnerKind::Let, OwnerKind::Next, OwnerKind::Skip,
                                            OwnerKind::Hold};
      const Expr *end = statement.when ? statement.when : statement.value;
      add(kinds[static_cast<size_t>(statement.kind)], statement.name.text,
          statement.name.range.to(end->range), statement.when);
    }
  }
};
} // namespace

std::vector<std::pair<const SourceFile *, Owner>> updraft::ownersIn(const ParsedFile &file) {
  Collector collector;
  collector.collect(file);
  return std::move(collector.owners);
}

std::vector<const ParsedFile *> updraft::allFiles(const Program &program) {
  llvm::SetVector<const ParsedFile *> files;
  for (const auto &file : program.parsed)
    files.insert(file.get());
  // Maps of names have no order; a report has.
  std::vector<const ParsedFile *> library;
  for (const auto &file : program.parsed) {
    for (const auto &entry : file->visible)
      library.push_back(entry.getValue()->file);
    for (const auto &entry : file->stages)
      library.push_back(entry.getValue()->file);
  }
  llvm::erase(library, nullptr);
  llvm::sort(library, [](const ParsedFile *left, const ParsedFile *right) {
    return left->source->path() < right->source->path();
  });
  files.insert(library.begin(), library.end());
  return {files.begin(), files.end()};
}
