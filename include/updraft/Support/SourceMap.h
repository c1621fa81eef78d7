//===- SourceMap.h - The origins of a generated text --------------------------------*- C++ -*-===//
// Rules written in another language, such as Python, are compiled from generated text that their
// author never sees. A map leads from this text to the original files, which messages show.

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
    /// Whether the origin is a call of the code that the inner span comes from.
    bool isCall = false;

    bool operator==(const Span &) const = default;
  };
  using Files = std::vector<std::shared_ptr<const SourceFile>>;

  /// Spans must be sorted by their begin, with an outer span before its inner ones. Spans must not
  /// overlap in part. The error says which span breaks a rule. The result is thread-safe.
  static llvm::Expected<std::shared_ptr<const SourceMap>>
  create(Files files, std::vector<Span> spans, size_t textSize);

  /// The origin of the innermost span that contains all bytes, else of the innermost that contains
  /// the first. Without a file if there is none.
  SourceRange find(uint32_t begin, uint32_t end) const;
  /// The calls directly around that span, from the inside out.
  std::vector<SourceRange> findCalls(uint32_t begin, uint32_t end) const;

  /// Whether both maps lead to the same places in the same files.
  bool operator==(const SourceMap &other) const;

private:
  SourceMap(Files files, std::vector<Span> spans)
      : files(std::move(files)), spans(std::move(spans)) {}

  int32_t innermost(uint32_t begin, uint32_t end) const;
  SourceRange originOf(const Span &span) const;

  Files files;
  std::vector<Span> spans;
  std::vector<int32_t> parents; ///< the innermost span around each span, or -1
};

} // namespace updraft

#endif // UPDRAFT_SUPPORT_SOURCEMAP_H
