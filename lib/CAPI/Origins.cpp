//===- Origins.cpp - Reading a upd_source_map -------------------------------------------------===//

#include "Origins.h"

#include "updraft/Driver/StatusError.h"
#include "updraft/Support/SourceFile.h"

#include <limits>

using namespace updraft;

namespace {
constexpr size_t maxBytes = std::numeric_limits<int32_t>::max();

llvm::Error invalid(const std::string &message) {
  return makeError(UPD_INVALID_ARGUMENT, "origins: " + message);
}

// A number that is too large for a position must stay too large.
uint32_t narrowed(size_t position) {
  return static_cast<uint32_t>(std::min(position, size_t(std::numeric_limits<uint32_t>::max())));
}
} // namespace

llvm::Expected<std::shared_ptr<const SourceMap>> capi::readOrigins(const upd_source_map &map,
                                                                   size_t length) {
  if ((map.file_count && !map.files) || (map.span_count && !map.spans))
    return invalid("files or spans is null, but its count is not 0");
  if (length > maxBytes)
    return invalid("the source has more than " + std::to_string(maxBytes) + " bytes");
  SourceMap::Files files;
  for (size_t i = 0; i < map.file_count; ++i) {
    const upd_source_file &file = map.files[i];
    if (!file.path || !file.text)
      return invalid("path or text of file " + std::to_string(i) + " is null");
    if (file.length > maxBytes)
      return invalid("file " + std::to_string(i) + " has more than " + std::to_string(maxBytes) +
                     " bytes");
    files.push_back(SourceFile::create(file.path, std::string(file.text, file.length)));
  }
  std::vector<SourceMap::Span> spans;
  for (size_t i = 0; i < map.span_count; ++i) {
    const upd_source_span &span = map.spans[i];
    spans.push_back({narrowed(span.begin), narrowed(span.end), narrowed(span.file),
                     narrowed(span.origin_begin), narrowed(span.origin_end), span.is_call != 0});
  }
  auto created = SourceMap::create(std::move(files), std::move(spans), length);
  if (!created)
    return invalid(llvm::toString(created.takeError()));
  return created;
}
