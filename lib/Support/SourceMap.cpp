//===- SourceMap.cpp - The origins of a generated text ----------------------------------------===//

#include "updraft/Support/SourceMap.h"

#include "updraft/Support/SourceFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace updraft;

template <typename... Args> static llvm::Error refuse(const char *format, Args &&...args) {
  return llvm::make_error<llvm::StringError>(llvm::formatv(format, args...).str(),
                                             llvm::inconvertibleErrorCode());
}

static llvm::Error checkSpan(const SourceMap::Span &span, size_t index,
                             const SourceMap::Files &files, size_t textSize) {
  if (span.begin > span.end || span.end > textSize)
    return refuse("span {0} is [{1}, {2}) of a text of {3} bytes", index, span.begin, span.end,
                  textSize);
  if (span.file >= files.size())
    return refuse("span {0} is from file {1}, but there are {2}", index, span.file, files.size());
  size_t originSize = files[span.file]->text().size();
  if (span.originBegin > span.originEnd || span.originEnd > originSize)
    return refuse("span {0} is from [{1}, {2}) of a file of {3} bytes", index, span.originBegin,
                  span.originEnd, originSize);
  return llvm::Error::success();
}

llvm::Expected<std::shared_ptr<const SourceMap>>
SourceMap::create(Files files, std::vector<Span> spans, size_t textSize) {
  std::vector<int32_t> parents;
  std::vector<int32_t> open;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (llvm::Error error = checkSpan(spans[i], i, files, textSize))
      return error;
    if (i > 0 && spans[i].begin < spans[i - 1].begin)
      return refuse("span {0} begins before span {1}; give spans in the order of their begin", i,
                    i - 1);
    while (!open.empty() && spans[open.back()].end <= spans[i].begin)
      open.pop_back();
    if (!open.empty() && spans[i].end > spans[open.back()].end)
      return refuse("span {0} ends after span {1}, in which it begins; spans lie within each other "
                    "or apart, the outer one first",
                    i, open.back());
    parents.push_back(open.empty() ? -1 : open.back());
    open.push_back(static_cast<int32_t>(i));
  }
  std::shared_ptr<SourceMap> map(new SourceMap(std::move(files), std::move(spans)));
  map->parents = std::move(parents);
  return map;
}

int32_t SourceMap::innermost(uint32_t begin, uint32_t end) const {
  auto after = std::upper_bound(spans.begin(), spans.end(), begin,
                                [](uint32_t at, const Span &span) { return at < span.begin; });
  int32_t holdsFirst = -1;
  for (auto i = static_cast<int32_t>(after - spans.begin()) - 1; i >= 0; i = parents[i]) {
    if (spans[i].end <= begin)
      continue;
    if (spans[i].end >= end)
      return i;
    if (holdsFirst < 0)
      holdsFirst = i;
  }
  return holdsFirst;
}

SourceRange SourceMap::originOf(const Span &span) const {
  return {files[span.file].get(), span.originBegin, span.originEnd};
}

bool SourceMap::operator==(const SourceMap &other) const {
  return spans == other.spans &&
         llvm::equal(files, other.files, [](const auto &a, const auto &b) { return *a == *b; });
}

SourceRange SourceMap::find(uint32_t begin, uint32_t end) const {
  int32_t found = innermost(begin, end);
  return found < 0 ? SourceRange() : originOf(spans[found]);
}

std::vector<SourceRange> SourceMap::findCalls(uint32_t begin, uint32_t end) const {
  std::vector<SourceRange> calls;
  int32_t found = innermost(begin, end);
  if (found < 0)
    return calls;
  for (int32_t i = parents[found]; i >= 0 && spans[i].isCall; i = parents[i])
    calls.push_back(originOf(spans[i]));
  return calls;
}
