//===- StructSizeTest.cpp - Callers with other versions of a struct ---------------------------===//
// A program sets struct_size to the size of the struct when it was built, and only provides that
// much memory. Here an unreadable page follows that memory.
//===----------------------------------------------------------------------------------------===//

#include "updraft-c/compiler.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {
constexpr const char *descent =
    "rule Descent(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }";

// The sizes in released programs. They must not change when a field is added.
constexpr size_t firstSize = 64;
static_assert(offsetof(upd_compile_options, origins) == firstSize);
static_assert(offsetof(upd_compile_options, tensors) == 72);
static_assert(offsetof(upd_compile_options, target) == 80);
static_assert(offsetof(upd_compile_options, probes) == 88);
static_assert(sizeof(upd_compile_options) == 104);

/// Memory of `size` bytes, followed by an unreadable page.
class GuardedStruct {
public:
  explicit GuardedStruct(size_t size) : size(size) {
    void *mapped = mmap(nullptr, mapBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        /*fd=*/-1, /*offset=*/0);
    EXPECT_NE(mapped, MAP_FAILED);
    pages = static_cast<char *>(mapped);
    EXPECT_EQ(mprotect(pages + dataBytes(), pageBytes, PROT_NONE), 0);
    std::memcpy(get(), &size, sizeof(size));
  }
  ~GuardedStruct() { munmap(pages, mapBytes()); }
  GuardedStruct(const GuardedStruct &) = delete;
  GuardedStruct &operator=(const GuardedStruct &) = delete;

  /// Sets the bytes from `offset` on.
  template <typename T> void set(size_t offset, T value) {
    ASSERT_LE(offset + sizeof(value), size);
    std::memcpy(reinterpret_cast<char *>(get()) + offset, &value, sizeof(value));
  }

  upd_compile_options *get() {
    return reinterpret_cast<upd_compile_options *>(pages + dataBytes() - size);
  }

private:
  size_t dataBytes() const { return (size + pageBytes - 1) / pageBytes * pageBytes; }
  size_t mapBytes() const { return dataBytes() + pageBytes; }

  const size_t pageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  size_t size;
  char *pages = nullptr;
};

struct Outcome {
  upd_status status;
  std::string message;
  double lr = 0;
};

/// Compiles with the default of `lr` set to 0.25 and no cache.
Outcome compile(GuardedStruct &options) {
  const upd_setting setting{"lr", "0.25"};
  options.set(offsetof(upd_compile_options, settings), &setting);
  options.set(offsetof(upd_compile_options, setting_count), size_t(1));
  options.set(offsetof(upd_compile_options, cache_dir), "");
  upd_rule *rule = nullptr;
  Outcome outcome{upd_compile(descent, std::strlen(descent), nullptr, options.get(), &rule), ""};
  if (outcome.status != UPD_OK)
    outcome.message = upd_last_error();
  else
    outcome.lr = upd_rule_hyper_default(rule, 0);
  upd_rule_release(rule);
  return outcome;
}

TEST(StructSize, EarlierVersionsHaveTheDefaultsOfNewerFields) {
  for (size_t size = firstSize; size <= sizeof(upd_compile_options); size += alignof(void *)) {
    GuardedStruct options(size);
    const Outcome outcome = compile(options);
    EXPECT_EQ(outcome.status, UPD_OK) << size << ": " << outcome.message;
    EXPECT_EQ(outcome.lr, 0.25) << size;
  }
}

TEST(StructSize, AFieldThatTheCallerHasIsRead) {
  GuardedStruct options(offsetof(upd_compile_options, target));
  options.set(offsetof(upd_compile_options, tensors), 3);
  const Outcome outcome = compile(options);
  EXPECT_EQ(outcome.status, UPD_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "unknown tensors 3; the values are those of upd_tensors");
}

TEST(StructSize, EmittingAStageTakesTheSameSizes) {
  GuardedStruct options(firstSize);
  char *text = nullptr;
  ASSERT_EQ(upd_emit(descent, std::strlen(descent), nullptr, options.get(), "updraft", &text),
            UPD_OK)
      << upd_last_error();
  EXPECT_NE(std::string(text).find("updraft.rule @Descent"), std::string::npos);
  upd_string_release(text);
}

TEST(StructSize, LaterVersionsAreTakenIfTheirFieldsAreZero) {
  for (size_t more : {8, 64, 3984}) {
    GuardedStruct options(sizeof(upd_compile_options) + more);
    const Outcome outcome = compile(options);
    EXPECT_EQ(outcome.status, UPD_OK) << more << ": " << outcome.message;
    EXPECT_EQ(outcome.lr, 0.25) << more;
  }
}

TEST(StructSize, OptionsOfALaterVersionAreRefused) {
  for (size_t place : {0, 7, 15}) {
    GuardedStruct options(sizeof(upd_compile_options) + 16);
    options.set(sizeof(upd_compile_options) + place, '\1');
    const Outcome outcome = compile(options);
    EXPECT_EQ(outcome.status, UPD_UNSUPPORTED) << place;
    EXPECT_EQ(outcome.message,
              "struct_size of upd_compile_options is 120, and a field behind the 104 bytes that "
              "this library knows is not zero; leave what is newer than the library zero, or "
              "install the version that the program was built with")
        << place;
  }
}

TEST(StructSize, OtherSizesAreRefused) {
  for (size_t size : {size_t(0), size_t(4), size_t(8), firstSize - 8, firstSize + 4,
                      sizeof(upd_compile_options) + 1, size_t(4104), SIZE_MAX}) {
    upd_compile_options options{};
    options.struct_size = size;
    upd_rule *rule = nullptr;
    EXPECT_EQ(upd_compile(descent, std::strlen(descent), nullptr, &options, &rule),
              UPD_INVALID_ARGUMENT)
        << size;
    EXPECT_EQ(upd_last_error(), "struct_size of upd_compile_options is " + std::to_string(size) +
                                    "; set it to sizeof(upd_compile_options), which is 104 in this "
                                    "version of the library")
        << size;
    EXPECT_EQ(rule, nullptr) << size;
  }
}
} // namespace
