//===- Recorder.cpp - Records a compilation for a report --------------------------------------===//

#include "Recorder.h"

#include "Dump.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/AssemblyAnnotationWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormattedStream.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include <set>

using namespace mlir;
using namespace updraft;

namespace {
/// Adds the lines of a location: of the callee and the callers, of all fused parts.
void collectLines(LocationAttr loc, std::set<SourceLine> &lines) {
  if (auto place = dyn_cast<FileLineColLoc>(loc)) {
    lines.insert({place.getFilename().str(), place.getLine()});
  } else if (auto name = dyn_cast<NameLoc>(loc)) {
    collectLines(name.getChildLoc(), lines);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    collectLines(call.getCallee(), lines);
    collectLines(call.getCaller(), lines);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      collectLines(part, lines);
  }
}

void setPlace(std::vector<uint32_t> &places, size_t line, uint32_t place) {
  if (places.size() <= line)
    places.resize(line + 1);
  places[line] = place;
}

/// Notes the lines that instructions are printed on.
class InstructionLines : public llvm::AssemblyAnnotationWriter {
public:
  explicit InstructionLines(const llvm::DenseMap<const llvm::Instruction *, uint32_t> &known)
      : known(known) {}

  void emitInstructionAnnot(const llvm::Instruction *instruction,
                            llvm::formatted_raw_ostream &os) override {
    setPlace(places, os.getLine(), known.lookup(instruction));
  }

  std::vector<uint32_t> places;

private:
  const llvm::DenseMap<const llvm::Instruction *, uint32_t> &known;
};
} // namespace

Recorder::Recorder(Recording &recording) : recording(recording) {
  for (auto [number, lines] : llvm::enumerate(recording.places))
    numbers.emplace(lines, number);
}

void Recorder::enter(Stage next) {
  stage = next;
  started = Clock::now();
}

uint32_t Recorder::placeOf(Location loc) {
  auto [entry, isNew] = known.try_emplace(loc);
  if (!isNew)
    return entry->second;
  std::set<SourceLine> lines;
  collectLines(loc, lines);
  std::vector<SourceLine> sorted(lines.begin(), lines.end());
  auto [number, isFirst] = numbers.try_emplace(sorted, recording.places.size());
  if (isFirst)
    recording.places.push_back(std::move(sorted));
  return entry->second = number->second;
}

void Recorder::add(llvm::StringRef pass, std::string text, std::vector<uint32_t> places) {
  places.resize(llvm::count(text, '\n') + !llvm::StringRef(text).ends_with("\n"));
  recording.texts.push_back({pass.str(), stage, std::move(text), std::move(places), 0});
}

void Recorder::afterPass(llvm::StringRef pass, bool, ModuleOp module) {
  const auto elapsed = Clock::now() - started;
  std::string text;
  llvm::raw_string_ostream os(text);
  AsmState::LocationMap lines;
  AsmState state(module, printingFlags(/*locations=*/false), &lines);
  module.print(os, state);
  os << '\n';
  std::vector<uint32_t> places;
  module->walk([&](Operation *op) {
    if (auto line = lines.find(op); line != lines.end() && line->second.first > 0)
      setPlace(places, line->second.first - 1, placeOf(op->getLoc()));
  });
  add(pass, std::move(text), std::move(places));
  recording.texts.back().nanoseconds = std::chrono::nanoseconds(elapsed).count();
  started = Clock::now();
}

void Recorder::add(llvm::StringRef pass, const llvm::Module &module) {
  const auto elapsed = Clock::now() - started;
  llvm::ValueToValueMapTy map;
  std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module, map);
  llvm::DenseMap<const llvm::Instruction *, uint32_t> known;
  for (const llvm::Function &function : *copy)
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (const llvm::DebugLoc &loc = instruction.getDebugLoc())
        known[&instruction] = loc.getLine();
  llvm::StripDebugInfo(*copy);
  std::string text;
  llvm::raw_string_ostream os(text);
  InstructionLines lines(known);
  copy->print(os, &lines);
  add(pass, std::move(text), std::move(lines.places));
  recording.texts.back().nanoseconds = std::chrono::nanoseconds(elapsed).count();
  started = Clock::now();
}

// Whether a line of assembly is there for debuggers and unwinders only.
static bool isForDebugger(llvm::StringRef line) {
  for (llvm::StringRef start : {".file", ".loc", ".cfi_", ".Ltmp", ".Lfunc_begin", "$L__tmp",
                                "$L__func_begin", "$L__func_end"})
    if (line.starts_with(start))
      return true;
  return false;
}

void Recorder::addAssembly(llvm::StringRef pass, llvm::StringRef assembly) {
  const auto elapsed = Clock::now() - started;
  std::string text;
  std::vector<uint32_t> places;
  uint32_t place = 0;
  while (!assembly.empty()) {
    auto [line, rest] = assembly.split('\n');
    assembly = rest;
    llvm::StringRef word = line.ltrim();
    if (word.starts_with(".section") && word.contains(".debug"))
      break;
    if (word.consume_front(".loc")) {
      // .loc FILE LINE COLUMN
      llvm::SmallVector<llvm::StringRef, 4> parts;
      word.split(parts, ' ', /*MaxSplit=*/3, /*KeepEmpty=*/false);
      place = 0;
      if (parts.size() > 1)
        parts[1].getAsInteger(10, place);
      continue;
    }
    if (isForDebugger(word))
      continue;
    const bool isLabel = !line.empty() && line == word && line.contains(':');
    if (isLabel && !line.starts_with(".L") && !line.starts_with("$L"))
      place = 0; // a function
    text += line;
    text += '\n';
    const bool isInstruction = !word.empty() && !isLabel && !word.starts_with(".");
    places.push_back(isInstruction ? place : 0);
  }
  add(pass, std::move(text), std::move(places));
  recording.texts.back().nanoseconds = std::chrono::nanoseconds(elapsed).count();
  started = Clock::now();
}

void Recorder::numberPlaces(ModuleOp module) {
  auto numbered = [&](Location loc) {
    return FileLineColLoc::get(module.getContext(), "rule", placeOf(loc), 0);
  };
  module->walk([&](Operation *op) {
    op->setLoc(numbered(op->getLoc()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(numbered(argument.getLoc()));
  });
  known.clear(); // these locations are numbers now
}
