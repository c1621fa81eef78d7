//===- SourceMap.h - Where the pieces of a generated text come from -----------------*- C++ -*-===//
// A rule that was written in another language, such as Python, is text that its author never sees.
// A map leads from this text to the files that it was made from, so that messages show those.

#ifndef UPDRAFT_SUPPORT_SOURCEMAP_H
#define UPDRAFT_SUPPORT_SOURCEMAP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace updraft {

class SourceFile;
struct SourceRange;

class SourceMap {
public:
  /// The bytes [begin, end) of the generated text come from [originBegin, originEnd) of a file.
  struct Span {
    uint32_t begin;
    uint32_t end;
    uint32_t file;
    uint32_t originBegin;
    uint32_t originEnd;
    /// Whether the origin is a call of what the span within comes from.
    bool isCall = false;

    bool operator==(const Span &) const = default;
  };
  using Files = std::vector<std::shared_ptr<const SourceFile>>;

  /// The spans are in the order of their begin, an outer one before those within it; none overlaps
  /// another in part. The error says which span breaks a rule. Thread-safe once made.
  static llvm::Expected<std::shared_ptr<const SourceMap>>
  create(Files files, std::vector<Span> spans, size_t textSize);

  /// Where the innermost span that holds the bytes comes from; if none holds all of them, the
  /// innermost that holds the first. Without a file if there is none.
  SourceRange find(uint32_t begin, uint32_t end) const;
  /// The calls directly around that span, from the inside out.
  std::vector<SourceRange> findCalls(uint32_t begin, uint32_t end) const;

  /// Whether both lead to the same places of the same files.
  bool operator==(const SourceMap &other) const;

private:
  SourceMap(Files files, std::vector<Span> spans)
      : files(std::move(files)), spans(std::move(spans)) {}

  int32_t innermost(uint32_t begin, uint32_t end) const;
  SourceRange originOf(const Span &span) const;

  Files files;
  std::vector<Span> spans;
  std::vector<int32_t> parents; ///< of each span the innermost around it, or -1
};

} // namespace updraft

#endif // UPDRAFT_SUPPORT_SOURCEMAP_H
