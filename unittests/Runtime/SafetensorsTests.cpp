//===- SafetensorsTests.cpp - Files of named tensors ------------------------------------------===//

#include "runtime/base/Safetensors.h"
#include "tools/harness/TemporaryFolder.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace updraft::runtime;

namespace {

class Safetensors : public ::testing::Test {
protected:
  static SafetensorsWriter::Source bytesOf(std::string bytes) {
    return [bytes](SafetensorsSink &sink) { return sink.write(bytes.data(), bytes.size()); };
  }

  void writeFile(const std::string &bytes) {
    std::filesystem::remove(path); // truncating a file makes some systems write it to the disk
    std::ofstream(path, std::ios::binary) << bytes;
  }

  static std::string withLength(const std::string &header, const std::string &data = "") {
    std::string length(8, '\0');
    for (size_t i = 0; i < 8; ++i)
      length[i] = static_cast<char>(static_cast<uint64_t>(header.size()) >> 8 * i);
    return length + header + data;
  }

  /// The error of opening a file with these bytes, without the path.
  std::string problemOf(const std::string &bytes) {
    writeFile(bytes);
    SafetensorsFile file;
    Status status = SafetensorsFile::open(path, file);
    EXPECT_EQ(status.code(), UPD_INVALID_ARGUMENT);
    const std::string start = "`" + path + "` is not a valid safetensors file: ";
    EXPECT_EQ(status.message().substr(0, start.size()), start);
    return status.message().substr(std::min(start.size(), status.message().size()));
  }

  const updraft::harness::TemporaryFolder temporary;
  const std::string folder = temporary.path(), path = folder + "/file.safetensors";
};

} // namespace

TEST_F(Safetensors, ComesBack) {
  SafetensorsWriter writer;
  writer.setMetadata("key", "value \"quoted\" \n");
  writer.add("b", SafetensorsType::BF16, {3}, bytesOf("abcdef"));
  writer.add("a/ä", SafetensorsType::F64, {1, 2}, bytesOf("0123456789abcdef"));
  writer.add("scalar", SafetensorsType::F32, {}, bytesOf("wxyz"));
  writer.add("empty", SafetensorsType::I64, {0, 5}, bytesOf(""));
  Status saved = writer.save(path);
  ASSERT_TRUE(saved.ok()) << saved.message();

  SafetensorsFile file;
  Status opened = SafetensorsFile::open(path, file);
  ASSERT_TRUE(opened.ok()) << opened.message();
  EXPECT_EQ(file.metadata().at("key"), "value \"quoted\" \n");
  EXPECT_EQ(file.tensors().size(), 4u);
  const SafetensorsEntry *entry = file.find("a/ä");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->type, SafetensorsType::F64);
  EXPECT_EQ(entry->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(entry->begin, 0u); // larger elements first
  std::string text(6, '\0');
  ASSERT_TRUE(file.read(*file.find("b"), 0, text.data(), 6).ok());
  EXPECT_EQ(text, "abcdef");
  ASSERT_TRUE(file.read(*entry, 10, text.data(), 6).ok());
  EXPECT_EQ(text, "abcdef");
  EXPECT_FALSE(file.read(*entry, 11, text.data(), 6).ok());
  EXPECT_EQ(file.find("c"), nullptr);
  // Data starts at a multiple of 8.
  EXPECT_EQ((std::filesystem::file_size(path) - 16 - 4 - 6) % 8, 0u);
}

TEST_F(Safetensors, FailedWritesLeaveTheOldFile) {
  writeFile("old");
  SafetensorsWriter writer;
  writer.add("t", SafetensorsType::F32, {},
             [](SafetensorsSink &) { return ioError("no more elements"); });
  EXPECT_EQ(writer.save(path).message(), "no more elements");
  EXPECT_EQ(std::filesystem::file_size(path), 3u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);

  SafetensorsWriter twice;
  twice.add("t", SafetensorsType::F32, {}, bytesOf("abcd"));
  twice.add("t", SafetensorsType::F32, {}, bytesOf("abcd"));
  EXPECT_EQ(twice.save(path).message(),
            "a file cannot hold two tensors `t`, or one of a reserved name");
  SafetensorsWriter notText;
  notText.add("\xff", SafetensorsType::F32, {}, bytesOf("abcd"));
  EXPECT_EQ(notText.save(path).message(),
            "a name is not UTF-8, which the safetensors format requires");
  SafetensorsWriter nowhere;
  const std::string missing = folder + "/missing/file";
  Status status = nowhere.save(missing);
  EXPECT_EQ(status.code(), UPD_IO_ERROR);
  EXPECT_EQ(status.message(), "cannot write `" + missing + "`: No such file or directory");
}

TEST_F(Safetensors, OnlyRegularFilesAreReplaced) {
  SafetensorsWriter writer;
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(writer.save(pipe).message(), "cannot write `" + pipe + "`: it is not a regular file");
  EXPECT_EQ(std::filesystem::status(pipe).type(), std::filesystem::file_type::fifo);
}

TEST_F(Safetensors, AReplacedFileKeepsItsModeAndLinksToIt) {
  SafetensorsWriter writer;
  writeFile("private");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const std::string link = folder + "/link";
  std::filesystem::create_symlink("file.safetensors", link);
  ASSERT_TRUE(writer.save(link).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  SafetensorsFile file;
  EXPECT_TRUE(SafetensorsFile::open(path, file).ok());
}

TEST_F(Safetensors, IgnoresTheFileOfAKilledProcess) {
  for (int i = 0; i < 1000; ++i) // more numbers than this process has used
    std::ofstream(folder + "/.updraft-" + std::to_string(::getpid()) + "-" + std::to_string(i) +
                  ".tmp")
        << "x";
  SafetensorsWriter writer;
  EXPECT_TRUE(writer.save(path).ok());
}

TEST_F(Safetensors, RefusesMissingFilesAndFolders) {
  SafetensorsFile file;
  Status status = SafetensorsFile::open(path, file);
  EXPECT_EQ(status.code(), UPD_NOT_FOUND);
  EXPECT_EQ(status.message(), "there is no file `" + path + "`");
  status = SafetensorsFile::open(folder, file);
  EXPECT_EQ(status.code(), UPD_IO_ERROR);
  EXPECT_EQ(status.message(), "cannot read `" + folder + "`: it is not a regular file");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::open(path, file).message(),
            "cannot read `" + path + "`: it is not a regular file");
}

TEST_F(Safetensors, RefusesDamage) {
  const std::string float4 = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])";
  auto file = [&](const std::string &header, size_t bytes = 4) {
    return withLength(header, std::string(bytes, 'x'));
  };
  EXPECT_EQ(problemOf(""), "it is shorter than 8 bytes");
  EXPECT_EQ(problemOf("1234567"), "it is shorter than 8 bytes");
  EXPECT_EQ(problemOf(std::string(8, '\0')), "its header does not start with a brace");
  EXPECT_EQ(problemOf(std::string(8, '\xff')),
            "its header has 18446744073709551615 bytes, more than 100000000");
  EXPECT_EQ(problemOf(std::string("\x10\0\0\0\0\0\0\0{}", 10)),
            "its header is longer than the file");
  EXPECT_EQ(problemOf(file("[]")), "its header does not start with a brace");
  EXPECT_EQ(problemOf(file("{")), "its header is not JSON at byte 2");
  EXPECT_EQ(problemOf(file("{} x")), "its header is not JSON at byte 4");
  EXPECT_EQ(problemOf(file("{}")), "its tensors have 0 bytes, but 4 follow the header");
  EXPECT_EQ(problemOf(file("{\"t\":{" + float4 + "}}", 3)),
            "its tensors have 4 bytes, but 3 follow the header");
  EXPECT_EQ(problemOf(file("{\"t\":{" + float4 + "},\"t\":{" + float4 + "}}")),
            "tensor `t` appears twice");
  EXPECT_EQ(problemOf(file("{\"t\":{" + float4 + "},\"u\":{" + float4 + "}}")),
            "tensor `u` begins at 0, not at 4, where the one before it ends");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)),
            "tensor `t` begins at 4, not at 0, where the one before it ends");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})")),
            "tensor `t` has 4 bytes, which do not fit its dtype and shape");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],)"
                           R"("data_offsets":[0,4]}})")),
            "tensor `t` has 4 bytes, which do not fit its dtype and shape");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})")),
            "tensor `t` ends before it begins");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}})")),
            "tensor `t` has dtype `U16`; supported are F64, F32, BF16, F16, I64, I8, U8");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[1]}})")),
            "tensor `t` lacks its data_offsets");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","dtype":"F32"}})")),
            "tensor `t` has an unknown or second `dtype`");
  EXPECT_EQ(problemOf(file(R"({"t":{"more":1}})")), "tensor `t` has an unknown or second `more`");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})")),
            "its header has a negative number where it doesn't belong, in tensor `t`");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}})")),
            "its header has a fraction where it doesn't belong, in tensor `t`");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})")),
            "its header has an array where it doesn't belong, in tensor `t`");
  EXPECT_EQ(problemOf(file(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,2,4]}})")),
            "tensor `t` has 3 offsets instead of 2");
  EXPECT_EQ(problemOf(file(R"({"t":[]})")),
            "its header has an array where it doesn't belong, in tensor `t`");
  EXPECT_EQ(problemOf(file(R"({"__metadata__":{"a":1}})")),
            "its header has a number where it doesn't belong");
  EXPECT_EQ(problemOf(file(R"({"__metadata__":{},"__metadata__":{}})")),
            "`__metadata__` appears twice");
  EXPECT_EQ(problemOf(file(R"({"__metadata__":{"a":"b","a":"c"}})")),
            "`a` appears twice in its metadata");
}

TEST_F(Safetensors, RefusesNamesThatCTextWouldCutOff) {
  const std::string tensor = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(problemOf(withLength(R"({"param/a\u0000b":)" + tensor + "}", "xxxx")),
            R"(the name `param/a\u0000b` has a null character)");
  EXPECT_EQ(problemOf(withLength(R"({"__metadata__":{"\u0000":"b"}})", "")),
            R"(the name `\u0000` has a null character)");
}

TEST_F(Safetensors, NestingCostsNothing) {
  std::string deep = "{\"t\":{\"shape\":";
  deep.append(1000000, '[');
  EXPECT_EQ(problemOf(withLength(deep)),
            "its header has an array where it doesn't belong, in tensor `t`");
}

TEST_F(Safetensors, SurvivesAnyDamage) {
  SafetensorsWriter writer;
  writer.setMetadata("rule", "Adam");
  writer.add("t", SafetensorsType::F32, {2, 2}, bytesOf("0123456789abcdef"));
  writer.add("u", SafetensorsType::I64, {}, bytesOf("01234567"));
  ASSERT_TRUE(writer.save(path).ok());
  std::ifstream stream(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  for (size_t length = 0; length < whole.size(); ++length) {
    writeFile(whole.substr(0, length));
    SafetensorsFile file;
    EXPECT_FALSE(SafetensorsFile::open(path, file).ok());
  }
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (size_t j = 0; j <= random() % 3; ++j)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    writeFile(damaged);
    SafetensorsFile file;
    if (!SafetensorsFile::open(path, file).ok())
      continue;
    for (const SafetensorsEntry &entry : file.tensors()) {
      std::string bytes(entry.end - entry.begin, '\0');
      EXPECT_TRUE(file.read(entry, 0, bytes.data(), bytes.size()).ok());
    }
  }
}
