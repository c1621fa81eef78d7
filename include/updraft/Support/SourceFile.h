//===- SourceFile.h - The text of a file and positions in it ------------------------*- C++ -*-===//
// Holds the bytes of one source file and turns byte offsets into lines and columns. Ranges refer to
// a file by pointer. Code that stores a range beyond the lifetime of the file's owner must keep the
// file alive with `shared_from_this`. A generated file has a map to its original files, and keeps
// them alive.

#ifndef UPDRAFT_SUPPORT_SOURCEFILE_H
#define UPDRAFT_SUPPORT_SOURCEFILE_H

#include "updraft/Support/SourceMap.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace updraft {

/// A line and a column, both counted from 1; columns are bytes. A byte order mark has no width.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

class SourceFile : public std::enable_shared_from_this<SourceFile> {
public:
  static std::shared_ptr<const SourceFile> create(std::string path, std::string text,
                                                  std::shared_ptr<const SourceMap> origins = {});

  /// The path as given by the caller; shown to the user and used to find imports beside it.
  const std::string &path() const { return filePath; }
  llvm::StringRef text() const { return content; }

  LineColumn position(uint32_t offset) const;
  /// The text of a line, counted from 1, without line end characters and byte order mark.
  llvm::StringRef line(unsigned number) const;
  /// Maps a generated text to its originals; null if the text is not generated.
  const SourceMap *origins() const { return map.get(); }

  /// Whether messages about both files are the same: compares path, text and origins.
  bool operator==(const SourceFile &other) const;

private:
  SourceFile(std::string path, std::string text, std::shared_ptr<const SourceMap> origins);

  std::string filePath;
  std::string content;
  std::vector<uint32_t> lineStarts; ///< the first is after the byte order mark
  std::shared_ptr<const SourceMap> map;
};

/// The bytes [begin, end) of a file. A range without a file is outside of any source text.
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  llvm::StringRef text() const { return file->text().slice(begin, end); }
  /// From the start of this range to the end of `last`.
  SourceRange to(SourceRange last) const { return {file, begin, last.end}; }
  /// The user's text that this range was generated from; the range itself if it is not generated.
  SourceRange origin() const;
  /// The user's calls that lead to this range, from the inside out.
  std::vector<SourceRange> calls() const;
};

} // namespace updraft

#endif // UPDRAFT_SUPPORT_SOURCEFILE_H
