//===- SourceFile.cpp - The text of a file and positions in it --------------------------------===//

#include "updraft/Support/SourceFile.h"

#include <algorithm>

using namespace updraft;

SourceFile::SourceFile(std::string path, std::string text, std::shared_ptr<const SourceMap> origins)
    : filePath(std::move(path)), content(std::move(text)), map(std::move(origins)) {
  lineStarts.push_back(llvm::StringRef(content).starts_with("\xEF\xBB\xBF") ? 3 : 0);
  for (size_t i = 0; i < content.size(); ++i)
    if (content[i] == '\n')
      lineStarts.push_back(static_cast<uint32_t>(i + 1));
}

std::shared_ptr<const SourceFile> SourceFile::create(std::string path, std::string text,
                                                     std::shared_ptr<const SourceMap> origins) {
  return std::shared_ptr<const SourceFile>(
      new SourceFile(std::move(path), std::move(text), std::move(origins)));
}

bool SourceFile::operator==(const SourceFile &other) const {
  const bool sameOrigins = map && other.map ? *map == *other.map : map == other.map;
  return filePath == other.filePath && content == other.content && sameOrigins;
}

SourceRange SourceRange::origin() const {
  if (!file || !file->origins())
    return *this;
  SourceRange found = file->origins()->find(begin, end);
  return found.file ? found : *this;
}

LineColumn SourceFile::position(uint32_t offset) const {
  offset = std::max(offset, lineStarts.front());
  auto after = std::upper_bound(lineStarts.begin(), lineStarts.end(), offset);
  auto line = static_cast<unsigned>(after - lineStarts.begin());
  return {line, offset - lineStarts[line - 1] + 1};
}

llvm::StringRef SourceFile::line(unsigned number) const {
  if (number == 0 || number > lineStarts.size())
    return {};
  size_t begin = lineStarts[number - 1];
  size_t end = number < lineStarts.size() ? lineStarts[number] - 1 : content.size();
  return llvm::StringRef(content).slice(begin, end).rtrim('\r');
}

std::vector<SourceRange> SourceRange::calls() const {
  return file && file->origins() ? file->origins()->findCalls(begin, end)
                                 : std::vector<SourceRange>();
}
