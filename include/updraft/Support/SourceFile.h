//===- SourceFile.h - The text of a file and positions in it ------------------------*- C++ -*-===//
// Holds the bytes of one source file and turns byte offsets into lines and columns. Ranges refer to
// a file by pointer; whoever stores a range for longer than the file's owner lives keeps the file
// alive with `shared_from_this`. A generated file has a map to the files that it was made from, and
// keeps those alive.

#ifndef UPDRAFT_SUPPORT_SOURCEFILE_H
#define UPDRAFT_SUPPORT_SOURCEFILE_H

#include "updraft/Support/SourceMap.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace updraft {

/// A line and a column, both counted from 1; the column in bytes. A byte order mark takes none.
struct LineColumn {
  unsigned line = 0;
  unsigned column = 0;
};

class SourceFile : public std::enable_shared_from_this<SourceFile> {
public:
  static std::shared_ptr<const SourceFile> create(std::string path, std::string text,
                                                  std::shared_ptr<const SourceMap> origins = {});

  /// As given by the caller; only shown to the user and used to find imports beside it.
  const std::string &path() const { return filePath; }
  llvm::StringRef text() const { return content; }

  LineColumn position(uint32_t offset) const;
  /// The text of a line, counted from 1, without its end-of-line characters and the byte order
  /// mark.
  llvm::StringRef line(unsigned number) const;
  /// Where the text comes from if it is generated; null if it is not.
  const SourceMap *origins() const { return map.get(); }

  /// Whether messages about either are the same: of its path, its text and its origins.
  bool operator==(const SourceFile &other) const;

private:
  SourceFile(std::string path, std::string text, std::shared_ptr<const SourceMap> origins);

  std::string filePath;
  std::string content;
  std::vector<uint32_t> lineStarts; ///< the first is behind the byte order mark
  std::shared_ptr<const SourceMap> map;
};

/// The bytes [begin, end) of a file. A range without a file is a place outside of any source text.
struct SourceRange {
  const SourceFile *file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  llvm::StringRef text() const { return file->text().slice(begin, end); }
  /// From the start of this range to the end of `last`.
  SourceRange to(SourceRange last) const { return {file, begin, last.end}; }
  /// What the user wrote to get this text; the range itself if that is this text.
  SourceRange origin() const;
  /// The calls by which the user got there, from the inside out.
  std::vector<SourceRange> calls() const;
};

} // namespace updraft

#endif // UPDRAFT_SUPPORT_SOURCEFILE_H
