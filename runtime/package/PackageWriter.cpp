//===- PackageWriter.cpp - Writes a package ---------------------------------------------------===//

#include "runtime/package/PackageWriter.h"

#include "runtime/package/Digest.h"
#include "runtime/package/Signature.h"

#include <cstddef>
#include <cstring>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;

namespace {

class PackageWriter {
public:
  explicit PackageWriter(const PackageParts &parts) : parts(parts) {}

  Status write(std::string_view privateKey, std::string &bytes);

private:
  struct Section {
    upd_package_kind kind;
    std::string content;
    uint32_t stride = 0;
  };

  /// Returns the number of a section with this content, which is added unless it exists.
  uint32_t add(upd_package_kind kind, const std::string &content);
  template <typename Record> void add(upd_package_kind kind, const std::vector<Record> &records);
  upd_text text(const std::string &text);
  void addVariants();
  void addImages();
  void layOut();
  std::string_view table() const {
    return std::string_view(file).substr(0, sizeof(upd_package_header) +
                                                sections.size() * sizeof(upd_package_section));
  }

  const PackageParts &parts;
  std::vector<Section> sections;
  std::string texts;
  std::string file;
};

uint32_t PackageWriter::add(upd_package_kind kind, const std::string &content) {
  for (size_t i = 0; i < sections.size(); ++i)
    if (sections[i].kind == kind && sections[i].content == content)
      return static_cast<uint32_t>(i);
  sections.push_back({kind, content});
  return static_cast<uint32_t>(sections.size() - 1);
}

template <typename Record>
void PackageWriter::add(upd_package_kind kind, const std::vector<Record> &records) {
  static_assert(std::has_unique_object_representations_v<Record>, "padding has no defined bytes");
  std::string content(reinterpret_cast<const char *>(records.data()),
                      records.size() * sizeof(Record));
  sections.push_back({kind, std::move(content), sizeof(Record)});
}

upd_text PackageWriter::text(const std::string &text) {
  const upd_text result{static_cast<uint32_t>(texts.size()), static_cast<uint32_t>(text.size())};
  texts += text;
  return result;
}

void PackageWriter::addVariants() {
  std::vector<upd_package_variant> records;
  records.reserve(parts.variants.size());
  for (const PackageParts::Variant &variant : parts.variants)
    records.push_back({text(variant.name), add(UPD_PACKAGE_SAMPLE, variant.sample), 0});
  add(UPD_PACKAGE_VARIANTS, records);
}

void PackageWriter::addImages() {
  std::vector<upd_package_image> records;
  std::vector<upd_package_function> functions;
  std::vector<upd_package_import> imports;
  auto sliceOf = [](const auto &from, const auto &all) {
    return upd_slice{static_cast<uint32_t>(all.size()), static_cast<uint32_t>(from.size())};
  };
  for (const PackageParts::Image &image : parts.images) {
    const bool isPTX = image.architecture == UPD_NVPTX;
    records.push_back({image.variant, text(image.target), image.architecture, image.level,
                       add(UPD_PACKAGE_DESCRIPTOR, image.descriptor),
                       add(isPTX ? UPD_PACKAGE_PTX : UPD_PACKAGE_CODE, image.code),
                       image.executable, sliceOf(image.functions, functions),
                       sliceOf(image.imports, imports)});
    for (uint32_t offset : image.functions)
      functions.push_back({offset});
    imports.insert(imports.end(), image.imports.begin(), image.imports.end());
  }
  add(UPD_PACKAGE_IMAGES, records);
  add(UPD_PACKAGE_FUNCTIONS, functions);
  add(UPD_PACKAGE_IMPORTS, imports);
}

void PackageWriter::layOut() {
  file.assign(sizeof(upd_package_header) + sections.size() * sizeof(upd_package_section), '\0');
  for (size_t i = 0; i < sections.size(); ++i) {
    const Section &section = sections[i];
    const size_t alignment = section.kind == UPD_PACKAGE_CODE ? size_t(UPD_PACKAGE_PAGE) : 8;
    file.resize((file.size() + alignment - 1) / alignment * alignment);
    upd_package_section record{section.kind,   0, file.size(), section.content.size(),
                               section.stride, 0, {}};
    std::memcpy(record.digest, digestOf(section.content).data(), sizeof(record.digest));
    std::memcpy(file.data() + sizeof(upd_package_header) + i * sizeof(record), &record,
                sizeof(record));
    file += section.content;
  }
  upd_package_header header{UPD_PACKAGE_MAGIC,   UPD_PACKAGE_BREAKS,
                            UPD_PACKAGE_EXTENDS, static_cast<uint32_t>(sections.size()),
                            file.size(),         {}};
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + offsetof(upd_package_header, digest), digestOfTable(table()).data(),
              sizeof(header.digest));
}

Status PackageWriter::write(std::string_view privateKey, std::string &bytes) {
  add(UPD_PACKAGE_INFO, parts.info);
  for (const std::string &source : parts.sources)
    sections.push_back({UPD_PACKAGE_SOURCE, source});
  addVariants();
  addImages();
  add(UPD_PACKAGE_TEXT, texts);
  if (!privateKey.empty())
    sections.push_back({UPD_PACKAGE_SIGNATURE, std::string(sizeof(upd_package_signature), '\0')});
  layOut();
  if (!privateKey.empty()) {
    // The signature doesn't depend on its own record, so a second layout is the same but for it.
    upd_package_signature signature;
    if (Status status = sign(signedDigestOf(table()), privateKey, signature); !status.ok())
      return status;
    std::memcpy(sections.back().content.data(), &signature, sizeof(signature));
    layOut();
  }
  bytes = std::move(file);
  return {};
}

} // namespace

Status package::writePackage(const PackageParts &parts, std::string_view privateKey,
                             std::string &bytes) {
  return PackageWriter(parts).write(privateKey, bytes);
}
