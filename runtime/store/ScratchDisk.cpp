//===- ScratchDisk.cpp - Changes that are not written -----------------------------------------===//

#include "runtime/store/ScratchDisk.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

using namespace updraft::store;

class ScratchDisk::Content {
public:
  explicit Content(std::unique_ptr<File> unchanged) : unchanged(std::move(unchanged)) {}

  uint64_t size() const { return changed ? changed->size() : unchanged ? unchanged->size() : 0; }

  size_t read(uint64_t offset, void *data, size_t bytes) const {
    if (!changed)
      return unchanged ? unchanged->read(offset, data, bytes) : 0;
    const size_t rest = offset < changed->size() ? changed->size() - offset : 0;
    const size_t count = std::min(bytes, rest);
    if (count != 0)
      std::memcpy(data, changed->data() + offset, count);
    return count;
  }

  std::string &forChange() {
    if (!changed) {
      std::string content(size(), '\0');
      content.resize(read(0, content.data(), content.size()));
      changed = std::move(content);
    }
    return *changed;
  }

private:
  const std::unique_ptr<File> unchanged; ///< null for a new file
  std::optional<std::string> changed;
};

class ScratchDisk::OpenContent : public File {
public:
  explicit OpenContent(std::shared_ptr<Content> content) : content(std::move(content)) {}

  uint64_t size() const override { return content->size(); }
  size_t read(uint64_t offset, void *data, size_t bytes) const override {
    return content->read(offset, data, bytes);
  }
  void write(uint64_t offset, const std::vector<std::string_view> &parts) override {
    std::string &changed = content->forChange();
    for (std::string_view part : parts) {
      changed.resize(std::max<size_t>(changed.size(), offset + part.size()));
      changed.replace(offset, part.size(), part);
      offset += part.size();
    }
  }
  void truncate(uint64_t size) override { content->forChange().resize(size); }
  void sync() override {}

private:
  const std::shared_ptr<Content> content;
};

ScratchDisk::ScratchDisk(std::unique_ptr<Disk> given) : base(std::move(given)) {
  for (const std::string &name : base ? base->list() : std::vector<std::string>())
    if (auto file = base->open(name, Opening::Existing))
      files.emplace(name, std::make_shared<Content>(std::move(file)));
}

std::unique_ptr<File> ScratchDisk::open(const std::string &name, Opening opening) {
  const auto found = files.find(name);
  if (found == files.end() && opening == Opening::Existing)
    return nullptr;
  std::shared_ptr<Content> &content = files[name];
  if (!content)
    content = std::make_shared<Content>(nullptr);
  return std::make_unique<OpenContent>(content);
}

void ScratchDisk::rename(const std::string &from, const std::string &to) {
  if (auto moved = files.extract(from)) {
    files.erase(to);
    moved.key() = to;
    files.insert(std::move(moved));
  }
}

void ScratchDisk::remove(const std::string &name) { files.erase(name); }

std::vector<std::string> ScratchDisk::list() const {
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const auto &[name, content] : files)
    names.push_back(name);
  return names;
}
