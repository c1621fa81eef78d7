//===- Page.cpp - The page that shows a report ------------------------------------------------===//
// Puts documents into the page. The texts of a document, which are long, are compressed.

#include "EmbeddedPage.h"
#include "updraft/Driver/StatusError.h"
#include "updraft/Report/Report.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/JSON.h"

using namespace updraft;
using llvm::json::Object;

// A script element contains no `</script`, nor what starts a comment.
static std::string escaped(llvm::StringRef json) {
  std::string text;
  for (char c : json)
    text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

static std::string print(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// The long members of a document, and the sizes that their texts have before compression.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> packedMembers[] = {
    {"texts", "textBytes"}, {"run", "runBytes"}};

/// Replaces `texts` and `run` by strings of their compressed bytes in base64.
static std::string packed(llvm::StringRef document) {
  auto value = llvm::json::parse(document);
  if (!value) {
    llvm::consumeError(value.takeError());
    return document.str();
  }
  Object &report = *value->getAsObject();
  if (!llvm::compression::zlib::isAvailable())
    return document.str();
  for (const auto &[member, size] : packedMembers) {
    const llvm::json::Value *content = report.get(member);
    if (!content || content->getAsString())
      continue;
    const std::string json = print(*content);
    llvm::SmallVector<uint8_t, 0> bytes;
    llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(json), bytes);
    report[member] = llvm::encodeBase64(bytes);
    report[size] = json.size();
  }
  return print(*value);
}

std::string updraft::reportPage(llvm::StringRef document, llvm::StringRef other) {
  auto [before, rest] = embeddedPage().split("{{document}}");
  auto [between, after] = rest.split("{{other}}");
  return (before + escaped(packed(document)) + between +
          (other.empty() ? "null" : escaped(packed(other))) + after)
      .str();
}

static llvm::Error refuse(const std::string &why) {
  return makeError(UPD_INVALID_ARGUMENT,
                   "not a report of Updraft: " + why +
                       "; give a page or a document that `updraftc report` wrote");
}

/// Replaces a member that `packed` compressed.
static llvm::Error unpack(Object &report, llvm::StringRef member, llvm::StringRef sizeMember) {
  const auto content = report.getString(member);
  if (!content)
    return llvm::Error::success();
  std::vector<char> bytes;
  if (llvm::Error error = llvm::decodeBase64(*content, bytes))
    return refuse(llvm::toString(std::move(error)));
  constexpr int64_t mostBytes = int64_t(1) << 30;
  const int64_t size = report.getInteger(sizeMember).value_or(0);
  if (size < 0 || size > mostBytes)
    return refuse("its " + member.str() + (member == "texts" ? " have" : " has") + " no size");
  llvm::SmallVector<uint8_t, 0> unpacked;
  llvm::ArrayRef<uint8_t> given(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (llvm::Error error =
          llvm::compression::zlib::decompress(given, unpacked, static_cast<size_t>(size)))
    return refuse(llvm::toString(std::move(error)));
  auto plain = llvm::json::parse(llvm::toStringRef(unpacked));
  if (!plain)
    return refuse(llvm::toString(plain.takeError()));
  report[member] = std::move(*plain);
  report.erase(sizeMember);
  return llvm::Error::success();
}

llvm::Expected<std::string> updraft::documentIn(llvm::StringRef content) {
  llvm::StringRef json = content;
  constexpr llvm::StringLiteral start = "<script type=\"application/json\" id=\"report\">";
  if (const size_t at = content.find(start); at != llvm::StringRef::npos)
    json = content.drop_front(at + start.size()).split("</script>").first;
  auto value = llvm::json::parse(json);
  if (!value)
    return refuse(llvm::toString(value.takeError()));
  Object *report = value->getAsObject();
  if (!report || report->getInteger("format") != 1)
    return refuse("it has no member `format` that is 1");
  for (llvm::StringRef member : {"request", "numerics", "plans", "stages", "texts"})
    if (!report->get(member))
      return refuse(("it has no member `" + member + "`").str());
  for (const auto &[member, size] : packedMembers)
    if (llvm::Error error = unpack(*report, member, size))
      return error;
  return print(*value);
}
