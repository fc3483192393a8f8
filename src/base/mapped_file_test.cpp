#include <zllm/base/mapped_file.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <zllm/base/text_file.h>

namespace zllm {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "zllm-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, std::size_t size) const {
    std::ofstream(path(name), std::ios::binary) << std::string(size, 'x');
    return path(name);
  }
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

  std::filesystem::path folder_;
};

std::string error_of(const std::string& path) {
  const auto file = MappedFile::open(path);
  return file.ok() ? "" : file.error().message;
}

TEST_F(MappedFileTest, TextFilesAreCopiedUpToALimit) {
  const std::string path = write("text", 10);
  EXPECT_EQ(read_text_file(path).value(), "xxxxxxxxxx");
  EXPECT_THAT(read_text_file(path, 9).error().message,
              HasSubstr("text: has 10 bytes, over the limit of 9"));
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42);
  EXPECT_THAT(read_text_file(path).error().message, HasSubstr("over the limit"));
}

TEST_F(MappedFileTest, ShowsTheBytes) {
  const auto file = MappedFile::open(write("a", 5000));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes().size(), 5000u);
  EXPECT_TRUE(std::ranges::all_of(file->bytes(), [](std::byte b) { return b == std::byte{'x'}; }));
  EXPECT_TRUE(file->check().ok());
  EXPECT_EQ(file->path(), path("a"));
}

TEST_F(MappedFileTest, EmptyFileHasNoBytes) {
  const auto file = MappedFile::open(write("empty", 0));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->bytes().empty());
  EXPECT_TRUE(file->check().ok());
}

TEST_F(MappedFileTest, BytesStayWhereTheyAreWhenMoved) {
  auto file = MappedFile::open(write("a", 10));
  ASSERT_TRUE(file.ok());
  const std::byte *before = file->bytes().data();
  const MappedFile moved = std::move(file).value();
  EXPECT_EQ(moved.bytes().data(), before);
}

TEST_F(MappedFileTest, FollowsSymbolicLinks) {
  std::filesystem::create_symlink(write("blob", 7), path("link"));
  const auto file = MappedFile::open(path("link"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->bytes().size(), 7u);
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFileWithoutBlocking) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(error_of(path("fifo")), HasSubstr("fifo: is a FIFO"));
  EXPECT_THAT(error_of(folder_.string()), HasSubstr("is a directory"));
  EXPECT_THAT(error_of("/dev/null"), HasSubstr("/dev/null: is a device"));
  EXPECT_THAT(error_of(path("absent")), HasSubstr("absent: cannot open"));
  EXPECT_EQ(MappedFile::open(path("absent")).error().code, Code::not_found);
  EXPECT_THAT(error_of(path("a") + std::string("\0b", 2)), HasSubstr("zero byte"));
  std::filesystem::create_symlink(path("loop"), path("loop"));
  EXPECT_THAT(error_of(path("loop")), HasSubstr("loop"));
}

TEST_F(MappedFileTest, LostPagesReadAsZerosAndAreReported) {
  const auto file = MappedFile::open(write("shrinking", 64 * page() + 100));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(file->path().c_str(), static_cast<off_t>(page() + 10)), 0);
  const auto bytes = file->bytes();
  EXPECT_EQ(bytes[page()], std::byte{'x'});
  EXPECT_EQ(bytes[40 * page() + 3], std::byte{0});
  EXPECT_EQ(bytes[2 * page()], std::byte{0});
  EXPECT_EQ(bytes.back(), std::byte{0});
  ASSERT_FALSE(file->check().ok());
  EXPECT_THAT(file->check().error().message, HasSubstr("shrinking: the file shrank"));
  EXPECT_EQ(file->check().error().code, Code::io);
}

TEST_F(MappedFileTest, ALostPageIsReportedEvenWhenTheFileGrewAgain) {
  const auto file = MappedFile::open(write("a", 8 * page()));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(file->path().c_str(), 0), 0);
  EXPECT_EQ(file->bytes()[5 * page()], std::byte{0});
  ASSERT_EQ(truncate(file->path().c_str(), static_cast<off_t>(8 * page())), 0);
  ASSERT_FALSE(file->check().ok());
  EXPECT_THAT(file->check().error().message, HasSubstr("could not be read"));
}

TEST_F(MappedFileTest, ShrinkingWithinTheLastPageIsReported) {
  const auto file = MappedFile::open(write("a", 100));
  ASSERT_TRUE(file.ok());
  ASSERT_EQ(truncate(file->path().c_str(), 99), 0);
  EXPECT_FALSE(file->check().ok());
}

TEST_F(MappedFileTest, ManyThreadsMayHitLostPages) {
  const auto file = MappedFile::open(write("a", 256 * page()));
  const auto other = MappedFile::open(write("b", page()));
  ASSERT_TRUE(file.ok() && other.ok());
  ASSERT_EQ(truncate(file->path().c_str(), 0), 0);
  std::vector<int> sums(4, -1);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < sums.size(); ++t) {
      threads.emplace_back([&, t] {
        int sum = 0;
        for (std::size_t i = 0; i < 256; ++i) {
          sum += static_cast<int>(file->bytes()[(t % 2 == 0 ? i : 255 - i) * page()]);
        }
        sums[t] = sum;
      });
    }
  }
  EXPECT_EQ(sums, std::vector<int>(4, 0));
  EXPECT_FALSE(file->check().ok());
  EXPECT_TRUE(other->check().ok());
}

TEST_F(MappedFileTest, ReleasedBytesAreReadAgain) {
  const auto file = MappedFile::open(write("a", 4 * page() + 5));
  ASSERT_TRUE(file.ok());
  const auto bytes = file->bytes();
  MappedFile::release(bytes);
  MappedFile::release(bytes.subspan(1, 10));
  MappedFile::release(bytes.subspan(3, 2 * page()));
  MappedFile::release({});
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{'x'}; }));
}

// Reads a page behind the end of a mapping that is not under guard.
void touch_foreign_lost_page(const std::string& path) {
  std::FILE *file = std::fopen(path.c_str(), "rb");
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void *address = mmap(nullptr, 2 * size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  const volatile char *bytes = static_cast<const char *>(address);
  static_cast<void>(bytes[size]);
}

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, ForeignAddressesStillEndTheProcess) {
  const auto file = MappedFile::open(write("a", 10));
  ASSERT_TRUE(file.ok());
  EXPECT_DEATH(touch_foreign_lost_page(path("a")), "");
}

TEST_F(MappedFileDeathTest, ForeignAddressesReachThePreviousHandler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string name = write("a", 10);
  const auto scenario = [&name] {
    struct sigaction action{};
    action.sa_handler = [](int) { _exit(42); };
    sigaction(SIGBUS, &action, nullptr);
    const auto file = MappedFile::open(name);
    if (file.ok()) {
      touch_foreign_lost_page(name);
    }
  };
  EXPECT_EXIT(scenario(), ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace zllm
