//===- Sources.cpp - The lines of a rule and the stages that they reach -----------------------===//
// Every line that is not linked to a stage has a reason.

#include "Sources.h"

#include "Updraft/IR/UpdraftOps.h"

using namespace updraft;
using llvm::json::Array;
using llvm::json::Object;

void PlanRegions::collect(const Recording &recording, mlir::ModuleOp module,
                          llvm::function_ref<uint32_t(mlir::Location)> placeOf) {
  module->walk([&](mlir::Operation *op) {
    auto regionOf = [](mlir::Operation *op) -> std::optional<Region> {
      if (isOfWholeMatrices(op))
        return Region::Matrices;
      mlir::Operation *parent = op->getParentOp();
      if (llvm::isa_and_nonnull<InitialOp>(parent))
        return Region::Initial;
      if (llvm::isa_and_nonnull<ValidateOp>(parent))
        return Region::Validate;
      if (llvm::isa_and_nonnull<PrologueOp>(parent))
        return Region::Prologue;
      if (llvm::isa_and_nonnull<SweepOp>(parent))
        return Region::Sweep;
      if (llvm::isa_and_nonnull<PlanOp>(parent))
        return Region::Declared;
      return std::nullopt;
    };
    if (std::optional<Region> region = regionOf(op))
      for (const SourceLine &line : recording.places[placeOf(op->getLoc())])
        ofLine[line].insert(*region);
  });
}

static unsigned lineCount(const SourceFile &file) {
  llvm::StringRef text = file.text();
  return text.count('\n') + !text.ends_with("\n");
}

Sources::Sources(const Program &program, const CompileRequest &request, const Recording &recording,
                 const PlanRegions &regions, const RuleFacts &facts)
    : recording(recording), regions(regions), facts(facts) {
  for (const RecordedText &text : recording.texts) {
    std::set<SourceLine> &lines = linesOfText.emplace_back();
    for (uint32_t place : text.places)
      lines.insert(recording.places[place].begin(), recording.places[place].end());
  }
  std::set<std::string> used;
  for (const auto &place : recording.places)
    for (const SourceLine &line : place)
      used.insert(line.file);
  // A generated rule is shown as its author wrote it.
  const bool isGenerated = program.main().source->origins();
  if (!isGenerated)
    addSource(*program.main().source, "rule");
  for (const ParsedFile *file : allFiles(program)) {
    for (const auto &[source, owner] : ownersIn(*file)) {
      const bool isLibrary = !llvm::is_contained(program.files(), file->source) && !isGenerated;
      if (used.contains(source->path()) || source == program.main().source.get())
        addSource(*source, isGenerated ? "rule" : isLibrary ? "library" : "import");
    }
    addOwners(*file);
  }
  if (used.contains("<rule>") && !byPath.contains("<rule>")) {
    chain = SourceFile::create("<rule>", request.rule.rule);
    addSource(*chain, "chain");
  }
  for (Source &source : sources) {
    source.first = 1;
    source.last = lineCount(*source.file);
    if (source.kind != "rule" || !isGenerated || source.owners.empty())
      continue;
    source.first = UINT_MAX;
    source.last = 0;
    for (const Owner &owner : source.owners) {
      source.first = std::min(source.first, owner.first);
      source.last = std::max(source.last, owner.last);
    }
  }
}

void Sources::addSource(const SourceFile &file, std::string kind) {
  if (indices.contains(&file) || byPath.contains(file.path()))
    return;
  indices.emplace(&file, sources.size());
  byPath.emplace(file.path(), sources.size());
  sources.push_back({&file, std::move(kind), 1, 0, {}});
}

void Sources::addOwners(const ParsedFile &file) {
  for (auto &[source, owner] : ownersIn(file))
    if (auto index = byPath.find(source->path()); index != byPath.end())
      sources[index->second].owners.push_back(owner);
}

// The innermost owner is the one with the fewest lines.
const Owner *Sources::ownerOf(const Source &source, unsigned line) const {
  const Owner *found = nullptr;
  for (const Owner &owner : source.owners)
    if (owner.first <= line && line <= owner.last &&
        (!found || owner.last - owner.first <= found->last - found->first))
      found = &owner;
  return found;
}

bool Sources::isUsed(const Source &source, unsigned first, unsigned last) const {
  for (auto [text, lines] : llvm::zip_equal(recording.texts, linesOfText))
    for (unsigned line = first; text.stage != Stage::Ast && line <= last; ++line)
      if (lines.contains({source.file->path(), line}))
        return true;
  return false;
}

std::string Sources::reasonWithoutOperations(const Source &source, unsigned line) const {
  llvm::StringRef text = source.file->line(line).trim();
  if (text.empty())
    return "an empty line";
  if (text.starts_with("//") || (source.kind == "rule" && text.starts_with("#")))
    return "a comment";
  const Owner *owner = ownerOf(source, line);
  if (!owner)
    return "punctuation of a declaration";
  // A rule ends before the next rule or function.
  const Owner *head = nullptr;
  unsigned last = source.last;
  for (const Owner &each : source.owners) {
    if (each.kind != OwnerKind::Rule && each.kind != OwnerKind::Function)
      continue;
    if (each.first > line)
      last = std::min(last, each.first - 1);
    else if (!head || each.first > head->first)
      head = &each;
  }
  if (head && head->kind == OwnerKind::Rule && !isUsed(source, head->first, last))
    return "rule `" + head->name + "` is not part of what is compiled";
  // A function of another rule, or one that only its siblings call.
  for (const Owner &around : source.owners)
    if ((around.kind == OwnerKind::Function || around.kind == OwnerKind::Rule) &&
        around.first <= line && line <= around.last && source.kind == "library" &&
        !isUsed(source, around.first, around.last))
      return "`" + around.name + "` is not called by this rule";
  if (owner->first < line)
    return "continues line " + std::to_string(owner->first) + ": no operation of its own";
  switch (owner->kind) {
  case OwnerKind::Import:
    return "an import: the lines of the other file have the operations";
  case OwnerKind::Function:
    return "the head of a function: its body has the operations";
  case OwnerKind::Static:
    for (const auto &[name, value] : facts.statics)
      if (name == owner->name)
        return "a static argument: `" + value + "` is settled before the first stage";
    return "a static argument, which is settled before the first stage";
  case OwnerKind::Requirement:
    return "a check of values that are known now: it holds";
  case OwnerKind::State:
    return owner->isConditional ? "the state does not exist: its `when` does not hold"
                                : "the state is not part of this rule";
  case OwnerKind::Next:
    if (owner->isConditional)
      return "nothing is stored: its `when` does not hold";
    return owner->name == "grad" || owner->name == "param"
               ? "hands a value to the next stage, without an operation"
               : "nothing is stored: the state does not exist";
  case OwnerKind::Let:
    return "folded: a name for another value, or settled by static arguments";
  case OwnerKind::Repeat:
    return "unrolled: its body has the operations";
  case OwnerKind::Skip:
  case OwnerKind::Hold:
    return "never: its condition is settled before the first stage";
  case OwnerKind::Rule:
  case OwnerKind::Hyper:
  case OwnerKind::Update:
  case OwnerKind::Stage:
    break;
  }
  return "a declaration of what this rule does not use";
}

// `lostBy` is the first text without the line, after one that has it.
std::string Sources::reasonFor(const SourceLine &line, size_t lostBy) const {
  const RecordedText &text = recording.texts[lostBy];
  const std::string pass = "`" + text.pass + "`";
  if (text.stage < Stage::Schedule ||
      (text.stage == Stage::Schedule && text.pass != "updraft-schedule"))
    return "folded by " + pass + ": other lines compute it, or nothing uses it";
  if (text.stage == Stage::Schedule)
    return "left out by " + pass + ": nothing that is stored or checked needs it";
  auto found = regions.ofLine.find(line);
  const std::set<Region> none, &in = found == regions.ofLine.end() ? none : found->second;
  if (isOfGPU(text.stage) && !in.contains(Region::Sweep) && !in.contains(Region::Prologue)) {
    if (in.contains(Region::Validate))
      return "a check, on the host only";
    if (in.contains(Region::Initial))
      return "an initial value, on the host only";
  }
  if (text.pass.starts_with("convert-updraft-plan-to-")) {
    if (in.contains(Region::Matrices))
      return "computed by the runtime between sweeps, not by generated code";
    if (in.size() <= 1)
      return "declared, but no function of the compiled code uses it";
  }
  return "folded by " + pass + " into the code of other lines";
}

Array Sources::links() const {
  Array all;
  // The texts of each stage, and the order of texts that leads to it.
  std::map<Stage, std::vector<size_t>> ofStage;
  for (auto [index, text] : llvm::enumerate(recording.texts))
    ofStage[text.stage].push_back(index);
  auto isBefore = [&](size_t text, Stage stage) {
    const Stage other = recording.texts[text].stage;
    return isOfGPU(stage) == isOfGPU(other) || other <= Stage::Schedule;
  };
  for (auto [number, source] : llvm::enumerate(sources))
    for (unsigned line = source.first; line <= source.last; ++line) {
      const SourceLine key{source.file->path(), line};
      const Owner *owner = ownerOf(source, line);
      Object missing;
      bool isAnywhere = false;
      for (const auto &[stage, texts] : ofStage)
        isAnywhere |= linesOfText[texts.back()].contains(key);
      for (const auto &lines : linesOfText)
        isAnywhere |= lines.contains(key);
      if (isAnywhere)
        for (const auto &[stage, texts] : ofStage) {
          if (linesOfText[texts.back()].contains(key))
            continue;
          // The last text on the way here that has the line, and the next one. The syntax tree has
          // lines without operations.
          size_t lost = 0;
          bool isFound = false;
          for (size_t text = texts.back() + 1; text-- > 0 && !isFound;) {
            if (!isBefore(text, stage) || recording.texts[text].stage == Stage::Ast)
              continue;
            isFound = linesOfText[text].contains(key);
            if (!isFound)
              lost = text;
          }
          missing[nameOf(stage)] =
              isFound ? reasonFor(key, lost) : reasonWithoutOperations(source, line);
        }
      Object object{{"source", number}, {"line", line}};
      object["kind"] = owner ? nameOf(owner->kind) : "";
      if (!isAnywhere)
        object["reason"] = reasonWithoutOperations(source, line);
      if (!missing.empty())
        object["missing"] = std::move(missing);
      all.push_back(std::move(object));
    }
  return all;
}

void Sources::writeTo(Object &report) const {
  Array texts, places;
  for (const Source &source : sources) {
    std::string text;
    for (unsigned line = source.first; line <= source.last; ++line)
      text += (source.file->line(line) + "\n").str();
    texts.push_back(Object{{"path", llvm::json::fixUTF8(source.file->path())},
                           {"kind", source.kind},
                           {"first", source.first},
                           {"text", llvm::json::fixUTF8(text)}});
  }
  for (const auto &lines : recording.places) {
    Array place;
    for (const SourceLine &line : lines)
      if (auto source = byPath.find(line.file); source != byPath.end())
        place.push_back(Array{source->second, line.line});
    places.push_back(std::move(place));
  }
  report["sources"] = std::move(texts);
  report["places"] = std::move(places);
  report["lines"] = links();
}
