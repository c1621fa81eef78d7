//===- PackageReader.cpp - Checks the bytes of a package --------------------------------------===//

#include "runtime/base/Utf8.h"
#include "runtime/files/FileContent.h"
#include "runtime/package/Package.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

using namespace updraft;
using namespace updraft::package;
using runtime::Status;

static_assert(std::endian::native == std::endian::little, "the integers of packages are");

/// The sizes of the records of version 1.0 of the format. No record is shorter.
static constexpr uint32_t leastVariantBytes = 16, leastImageBytes = 48, leastFunctionBytes = 4,
                          leastImportBytes = 8;
static_assert(sizeof(upd_package_header) == 56 && sizeof(upd_package_section) == 64 &&
              sizeof(upd_package_signature) == 96 && sizeof(upd_package_image) == leastImageBytes);

namespace updraft::package {

/// Fills a package. Every function returns false after the first problem.
class PackageReader {
public:
  explicit PackageReader(Package &package) : result(package), bytes(package.bytes) {}

  Status read();

private:
  struct Table {
    std::string_view content;
    uint32_t count = 0, stride = 0;
  };

  bool fail(std::string text) {
    return failWith(runtime::invalidArgument(
        fmt::format("`{}` is not a valid package: {}", result.fileName, text)));
  }
  bool failWith(Status status) {
    problem = std::move(status);
    return false;
  }

  size_t tableEnd() const {
    return sizeof(header) + header.section_count * sizeof(upd_package_section);
  }
  bool readHeader();
  bool readSections();
  bool addSection(const upd_package_section &record, uint32_t number, uint64_t &end);
  bool takeSection(const upd_package_section &record, const Section &section);
  bool takeTable(Table &table, std::string_view content, const upd_package_section &record,
                 uint32_t leastBytes, const char *what);
  bool readVariants();
  bool readImages();
  bool addImage(const upd_package_image &record, uint32_t number);
  bool addCode(const upd_package_image &record, Image &image);

  bool text(const upd_text &text, std::string &to);
  /// Sets `to` to the content of a section of this kind.
  bool section(uint32_t number, upd_package_kind kind, const char *what, std::string_view &to);
  /// Members that the record lacks are 0. `index` is less than the count.
  template <typename Record> static Record record(const Table &table, uint32_t index) {
    Record result{};
    std::memcpy(&result, table.content.data() + size_t(index) * table.stride,
                std::min<size_t>(table.stride, sizeof(Record)));
    return result;
  }
  static bool contains(const Table &table, const upd_slice &slice) {
    return slice.first <= table.count && slice.count <= table.count - slice.first;
  }

  Package &result;
  std::string_view bytes;
  Status problem;
  upd_package_header header = {};
  std::string_view texts;
  Table variants, images, functions, imports;
  uint32_t seen = 0; ///< bits of the kinds that a package has at most once
};

} // namespace updraft::package

Status PackageReader::read() {
  static_cast<void>(readHeader() && readSections() && readVariants() && readImages());
  return std::move(problem);
}

bool PackageReader::readHeader() {
  if (bytes.size() < sizeof(header.magic) ||
      std::memcmp(bytes.data(), UPD_PACKAGE_MAGIC, sizeof(header.magic)) != 0)
    return fail("it doesn't start with `" UPD_PACKAGE_MAGIC "`");
  if (bytes.size() < sizeof(header))
    return fail(fmt::format("expected a header of {} bytes, got {}", sizeof(header), bytes.size()));
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.breaks != UPD_PACKAGE_BREAKS)
    return failWith(
        {UPD_UNSUPPORTED,
         fmt::format("`{}` has version {}.{} of the package format, expected {}.x; {}",
                     result.fileName, header.breaks, header.extends, int(UPD_PACKAGE_BREAKS),
                     header.breaks > UPD_PACKAGE_BREAKS ? "install a newer Updraft to use it"
                                                        : "pack the rule again")});
  if (header.size != bytes.size())
    return fail(fmt::format("expected {} bytes, got {}; the file is {}", header.size, bytes.size(),
                            bytes.size() < header.size ? "truncated" : "damaged"));
  if (header.section_count > UPD_PACKAGE_MAX_SECTIONS ||
      header.section_count > (bytes.size() - sizeof(header)) / sizeof(upd_package_section))
    return fail(
        fmt::format("{} sections don't fit into {} bytes", header.section_count, bytes.size()));
  std::memcpy(result.headerDigest.data(), header.digest, sizeof(header.digest));
  if (digestOfTable(bytes.substr(0, tableEnd())) != result.headerDigest)
    return fail("its header or table of sections is damaged: the SHA-256 digest differs");
  result.minorVersion = header.extends;
  return true;
}

bool PackageReader::readSections() {
  uint64_t end = tableEnd();
  for (uint32_t i = 0; i < header.section_count; ++i) {
    upd_package_section record;
    std::memcpy(&record, bytes.data() + sizeof(header) + i * sizeof(record), sizeof(record));
    if (!addSection(record, i, end))
      return false;
  }
  if (end != bytes.size())
    return fail(fmt::format("its sections end at {}, and the file at {}", end, bytes.size()));
  return true;
}

bool PackageReader::addSection(const upd_package_section &record, uint32_t number, uint64_t &end) {
  const uint64_t alignment = record.kind == UPD_PACKAGE_CODE ? uint64_t(UPD_PACKAGE_PAGE) : 8;
  if ((record.flags & ~uint32_t(UPD_PACKAGE_REQUIRED)) != 0 || record.unused != 0)
    return fail(fmt::format("section {} has unknown flags", number));
  if (record.offset > bytes.size() || record.size > bytes.size() - record.offset ||
      record.offset < end || record.offset % alignment != 0 || record.offset - end >= alignment)
    return fail(fmt::format("section {} has {} bytes at {}, expected at the next multiple of {} "
                            "after {}, within {} bytes",
                            number, record.size, record.offset, alignment, end, bytes.size()));
  const std::string_view padding = bytes.substr(end, record.offset - end);
  if (padding.find_first_not_of('\0') != std::string_view::npos)
    return fail(fmt::format("the bytes before section {} are damaged: they aren't 0", number));
  end = record.offset + record.size;

  Section section{record.kind, bytes.substr(record.offset, record.size), record.offset, {}};
  std::memcpy(section.digest.data(), record.digest, sizeof(record.digest));
  if (section.digest != digestOf(section.content))
    return fail(fmt::format("section {} is damaged: its SHA-256 digest differs", number));
  result.allSections.push_back(section);
  return takeSection(record, section);
}

bool PackageReader::takeSection(const upd_package_section &record, const Section &section) {
  const auto kind = static_cast<uint32_t>(record.kind);
  const bool mayRepeat = kind == UPD_PACKAGE_SOURCE || kind == UPD_PACKAGE_DESCRIPTOR ||
                         kind == UPD_PACKAGE_CODE || kind == UPD_PACKAGE_PTX ||
                         kind == UPD_PACKAGE_SAMPLE;
  if (kind > UPD_PACKAGE_SIGNATURE) {
    if ((record.flags & UPD_PACKAGE_REQUIRED) == 0)
      return true;
    return failWith({UPD_UNSUPPORTED,
                     fmt::format("`{}` has a required section of the unknown kind {}; install a "
                                 "newer Updraft to use it",
                                 result.fileName, kind)});
  }
  if (!mayRepeat && (seen >> kind & 1) != 0)
    return fail(fmt::format("it has two sections of kind {}", kind));
  seen |= uint32_t(1) << kind;
  const std::string_view content = section.content;
  switch (record.kind) {
  case UPD_PACKAGE_INFO:
    result.infoText = content;
    return runtime::isUtf8(content) || fail("its description is not UTF-8");
  case UPD_PACKAGE_TEXT:
    texts = content;
    return true;
  case UPD_PACKAGE_VARIANTS:
    return takeTable(variants, content, record, leastVariantBytes, "variants");
  case UPD_PACKAGE_IMAGES:
    return takeTable(images, content, record, leastImageBytes, "images");
  case UPD_PACKAGE_FUNCTIONS:
    return takeTable(functions, content, record, leastFunctionBytes, "functions");
  case UPD_PACKAGE_IMPORTS:
    return takeTable(imports, content, record, leastImportBytes, "imports");
  case UPD_PACKAGE_SIGNATURE:
    if (result.allSections.size() != header.section_count ||
        content.size() != sizeof(upd_package_signature))
      return fail("its signature is not the last section, or not of 96 bytes");
    std::memcpy(&result.fileSignature.emplace(), content.data(), content.size());
    result.toSign = signedDigestOf(bytes.substr(0, tableEnd()));
    return true;
  default:
    return true;
  }
}

bool PackageReader::takeTable(Table &table, std::string_view content,
                              const upd_package_section &record, uint32_t leastBytes,
                              const char *what) {
  if (record.stride < leastBytes || record.size % record.stride != 0 ||
      record.size / record.stride > UINT32_MAX)
    return fail(fmt::format("its table of {} has {} bytes in records of {}, expected at least {}",
                            what, record.size, record.stride, leastBytes));
  table = {content, static_cast<uint32_t>(record.size / record.stride), record.stride};
  return true;
}

bool PackageReader::text(const upd_text &text, std::string &to) {
  if (text.offset > texts.size() || text.length > texts.size() - text.offset)
    return fail(fmt::format("a name of {} bytes at {} exceeds its {} bytes of names", text.length,
                            text.offset, texts.size()));
  const std::string_view found = texts.substr(text.offset, text.length);
  if (!runtime::isUtf8(found) || found.find('\0') != std::string_view::npos)
    return fail(fmt::format("the name at {} is not UTF-8 without null characters", text.offset));
  to = found;
  return true;
}

bool PackageReader::section(uint32_t number, upd_package_kind kind, const char *what,
                            std::string_view &to) {
  if (number >= result.allSections.size() || result.allSections[number].kind != kind)
    return fail(fmt::format("section {} is not {}", number, what));
  to = result.allSections[number].content;
  return true;
}

bool PackageReader::readVariants() {
  if (variants.count == 0 || images.count == 0)
    return fail("it has no variants or no images");
  for (uint32_t i = 0; i < variants.count; ++i) {
    const auto found = record<upd_package_variant>(variants, i);
    Variant variant;
    if (!text(found.name, variant.name) ||
        !section(found.sample, UPD_PACKAGE_SAMPLE, "a sample", variant.sample))
      return false;
    for (const Variant &other : result.allVariants)
      if (other.name == variant.name)
        return fail(fmt::format("it has two variants `{}`", variant.name));
    result.allVariants.push_back(std::move(variant));
  }
  return true;
}

bool PackageReader::readImages() {
  for (uint32_t i = 0; i < images.count; ++i)
    if (!addImage(record<upd_package_image>(images, i), i))
      return false;
  return true;
}

bool PackageReader::addImage(const upd_package_image &record, uint32_t number) {
  if (record.variant >= result.allVariants.size())
    return fail(fmt::format("image {} is of variant {}, and there are {}", number, record.variant,
                            result.allVariants.size()));
  Image image{
      record.variant, {}, record.architecture, record.level, {}, {}, record.executable, {}, {}};
  if (!text(record.target, image.target) ||
      !section(record.descriptor, UPD_PACKAGE_DESCRIPTOR, "a descriptor", image.descriptor))
    return false;
  for (const Image &other : result.allImages)
    if (other.variant == image.variant && other.target == image.target)
      return fail(
          fmt::format("it has two images for `{}` of variant {}", image.target, image.variant));
  if (static_cast<uint32_t>(record.architecture) > UPD_NVPTX) {
    // A newer kind of target. The other images can be used.
    image.descriptor = {};
    image.executable = 0;
  } else if (record.architecture == UPD_NVPTX) {
    if (!section(record.code, UPD_PACKAGE_PTX, "PTX", image.code))
      return false;
    if (record.executable != 0 || record.functions.count != 0 || record.imports.count != 0 ||
        (image.code.size() < 2 || image.code.find('\0') != image.code.size() - 1))
      return fail(
          fmt::format("image {} has PTX with functions, or without its null character", number));
  } else if (!section(record.code, UPD_PACKAGE_CODE, "code", image.code) ||
             !addCode(record, image)) {
    return false;
  }
  result.allImages.push_back(std::move(image));
  return true;
}

bool PackageReader::addCode(const upd_package_image &record, Image &image) {
  if (record.executable % UPD_PACKAGE_PAGE != 0 || record.executable == 0 ||
      record.executable > image.code.size())
    return fail(fmt::format("{} bytes of {} are executable, expected a multiple of {}",
                            record.executable, image.code.size(), int(UPD_PACKAGE_PAGE)));
  if (!contains(functions, record.functions) || !contains(imports, record.imports))
    return fail("an image's functions or imports exceed their tables");
  for (uint32_t i = 0; i < record.functions.count; ++i) {
    const auto function = this->record<upd_package_function>(functions, record.functions.first + i);
    if (function.offset >= record.executable)
      return fail(fmt::format("a function starts at {}, outside of the executable {} bytes",
                              function.offset, record.executable));
    image.functions.push_back(function.offset);
  }
  for (uint32_t i = 0; i < record.imports.count; ++i) {
    const auto import = this->record<upd_package_import>(imports, record.imports.first + i);
    if (import.offset % 8 != 0 || import.offset < record.executable ||
        import.offset > image.code.size() - 8)
      return fail(fmt::format("an import is at {}, expected a multiple of 8 in the read-only data",
                              import.offset));
    image.imports.push_back(import);
  }
  return true;
}

Status Package::open(std::string bytes, std::string name, std::shared_ptr<const Package> &result) {
  std::shared_ptr<Package> package(new Package());
  package->bytes = std::move(bytes);
  package->fileName = std::move(name);
  Status status = PackageReader(*package).read();
  if (status.ok())
    result = std::move(package);
  return status;
}

Status Package::openFile(const std::string &path, std::shared_ptr<const Package> &result) {
  std::string bytes;
  const int error = files::readFile(path, maxPackageBytes, bytes);
  if (error == ENOENT)
    return runtime::notFound(fmt::format("there is no file `{}`", path));
  if (error != 0)
    return runtime::ioError(fmt::format("cannot read `{}`: {}", path, std::strerror(error)));
  return open(std::move(bytes), path, result);
}
