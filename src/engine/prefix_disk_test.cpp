#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/engine/prefix_disk.h>
#include <zllm/engine/prefix_file.h>
#include <zllm/engine/states_model_test-inl.h>

namespace zllm::engine {
namespace {

namespace fs = std::filesystem;
using bare::cache_of;
using bare::counted;
using bare::joined;
using bare::Tokens;
using runtime::SequenceSnapshot;

// A folder that does not exist yet and is gone afterwards.
class Folder {
 public:
  Folder()
      : path_(concat(testing::TempDir(), "zllm_prefix_disk_", ::getpid(), "_",
                     testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(path_);
  }
  ~Folder() { fs::remove_all(path_); }

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& item : fs::directory_iterator(path_)) {
      names.push_back(item.path().filename().string());
    }
    return names;
  }

 private:
  std::string path_;
};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::unique_ptr<PrefixDisk> open(const Folder& folder, std::uint64_t bytes = 1 << 20,
                                 const std::string& identity = "model") {
  auto disk = PrefixDisk::open({.folder = folder.path(), .bytes = bytes, .identity = identity});
  EXPECT_TRUE(disk.ok()) << disk.error().message;
  return *std::move(disk);
}

SequenceSnapshot state_of(const Tokens& tokens, std::size_t bytes = 50) {
  SequenceSnapshot snapshot{.rows = tokens.size(), .expected_rows = 99, .bytes = {}};
  for (std::size_t i = 0; i < bytes; ++i) {
    snapshot.bytes.push_back(static_cast<std::byte>(tokens.front() + static_cast<TokenId>(i)));
  }
  return snapshot;
}

void write(PrefixDisk& disk, const Tokens& tokens, std::size_t bytes = 50) {
  disk.write({.kind = 3, .tokens = tokens}, state_of(tokens, bytes));
  disk.flush();
}

std::optional<SequenceSnapshot> read(PrefixDisk& disk, const Tokens& tokens) {
  const auto entry = disk.tree().find({.kind = 3, .tokens = tokens});
  return entry ? disk.read(*entry) : std::nullopt;
}

TEST(PrefixDisk, WhatIsWrittenIsReadByWhoOpensTheFolderNext) {
  const Folder folder;
  const Tokens tokens = counted(1, 9);
  write(*open(folder), tokens);
  const auto disk = open(folder);
  EXPECT_EQ(disk->tree().longest_shared({.kind = 3, .tokens = tokens})->rows, 9u);
  EXPECT_FALSE(disk->tree().longest_shared({.kind = 0, .tokens = tokens}));
  const auto found = read(*disk, tokens);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rows, 9u);
  EXPECT_EQ(found->expected_rows, 99u);
  EXPECT_EQ(found->bytes, state_of(tokens).bytes);
  EXPECT_EQ(disk->bytes(), fs::file_size(folder.path(folder.names().front())));
}

TEST(PrefixDisk, FilesAndFolderAreTheOwnersAlone) {
  const Folder folder;
  write(*open(folder), counted(1, 9));
  EXPECT_EQ(fs::status(folder.path()).permissions(), fs::perms::owner_all);
  ASSERT_EQ(folder.names().size(), 1u);
  EXPECT_EQ(fs::status(folder.path(folder.names()[0])).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(PrefixDisk, EveryWrongByteAndEveryLengthIsFoundAndTheFileRemoved) {
  const Folder folder;
  const Tokens tokens = counted(1, 3);
  write(*open(folder), tokens, 21);
  const std::string path = folder.path(folder.names().front());
  const std::string good = read_all(path);
  const auto expect_removed = [&](const std::string& bytes) {
    write_all(path, bytes);
    const auto disk = open(folder);
    ASSERT_FALSE(read(*disk, tokens));
    ASSERT_EQ(disk->bytes(), 0u);
    ASSERT_FALSE(fs::exists(path));
  };
  for (std::size_t i = 0; i < good.size() && !testing::Test::HasFatalFailure(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    expect_removed(bad);
    expect_removed(good.substr(0, i));
  }
  expect_removed(good + "x");
  write_all(path, good);
  EXPECT_TRUE(read(*open(folder), tokens));
  // A file that goes wrong while the folder is open.
  const auto disk = open(folder);
  write_all(path, good.substr(0, 100));
  EXPECT_FALSE(read(*disk, tokens));
  EXPECT_TRUE(folder.names().empty());
}

TEST(PrefixDisk, AnotherModelsFilesAreNotReadButCountAndGoInTheirTurn) {
  const Folder folder;
  const Tokens tokens = counted(1, 9);
  write(*open(folder, 1 << 20, "other"), tokens, 500);
  const auto disk = open(folder, 1000);
  EXPECT_FALSE(read(*disk, tokens));
  const std::uint64_t others = disk->bytes();
  EXPECT_GT(others, 500u);
  write(*disk, tokens, 100);
  EXPECT_EQ(folder.names().size(), 2u);
  write(*disk, counted(50, 9), 200);
  EXPECT_EQ(folder.names().size(), 2u);
  EXPECT_TRUE(read(*disk, tokens));
  EXPECT_TRUE(read(*disk, counted(50, 9)));
}

TEST(PrefixDisk, TheLeastRecentFileGoesAndTheCapHolds) {
  const Folder folder;
  const auto disk = open(folder, 1500);
  write(*disk, counted(100, 9), 300);
  write(*disk, counted(200, 9), 300);
  write(*disk, counted(300, 9), 300);
  EXPECT_TRUE(read(*disk, counted(100, 9)));
  write(*disk, counted(400, 9), 300);
  EXPECT_FALSE(read(*disk, counted(200, 9)));
  EXPECT_TRUE(read(*disk, counted(100, 9)));
  EXPECT_LE(disk->bytes(), 1500u);
  write(*disk, counted(500, 9), 2000);
  EXPECT_FALSE(read(*disk, counted(500, 9)));
  EXPECT_EQ(folder.names().size(), 3u);
  write(*disk, counted(400, 9), 300);
  EXPECT_EQ(folder.names().size(), 3u);
}

TEST(PrefixDisk, UnfinishedFilesGoAndFilesOfOthersStay) {
  const Folder folder;
  write(*open(folder), counted(1, 9));
  const std::string name = folder.names().front();
  write_all(folder.path("17-" + name + ".unfinished"), "half");
  write_all(folder.path("notes.txt"), "mine");
  fs::create_directory(folder.path("folder.prefix"));
  fs::copy_file(folder.path(name), folder.path("copy.prefix"));
  const auto disk = open(folder);
  EXPECT_EQ(disk->tree().size(), 1u);
  EXPECT_EQ(folder.names().size(), 3u);
  EXPECT_TRUE(fs::exists(folder.path("notes.txt")));
}

TEST(PrefixDisk, AFolderThatCannotBeMadeIsAnErrorThatNamesIt) {
  const auto disk = PrefixDisk::open({.folder = "/dev/null/prefixes", .bytes = 1, .identity = ""});
  ASSERT_FALSE(disk.ok());
  EXPECT_NE(disk.error().message.find("/dev/null/prefixes"), std::string::npos);
}

template <class Model>
class CacheOnDisk : public testing::Test {
 protected:
  PrefixCacheOptions options(const std::string& identity = "m") const {
    return {.disk_folder = folder_.path(), .model_identity = identity};
  }

  // Leaves a state of the tokens, whose number is an anchor, in the cache.
  void keep(Model& model, PrefixCache& cache, const Tokens& tokens) {
    const SequenceId id = model.computed(tokens);
    ASSERT_TRUE(cache.keep_copy(id, tokens).ok());
    ASSERT_TRUE(model.states().release(id).ok());
  }

  std::uint64_t cached(Model& model, PrefixCache& cache, const Tokens& tokens) {
    const auto found = cache.acquire(tokens, tokens.size(), 0);
    EXPECT_TRUE(found.ok());
    model.expect_state(found->sequence, std::span(tokens).first(found->rows));
    EXPECT_TRUE(model.states().release(found->sequence).ok());
    return found->rows;
  }

  Folder folder_;
};
using Models = testing::Types<bare::Model<bare::Paged>, bare::Model<bare::Recurrent>>;
TYPED_TEST_SUITE(CacheOnDisk, Models);

TYPED_TEST(CacheOnDisk, AnEvictedStateComesBack) {
  TypeParam model;
  const std::uint64_t room = model.states().free_rows();
  const Tokens tokens = counted(1, 2 * kAnchorRows);
  {
    const auto cache = cache_of(model, this->options());
    this->keep(model, *cache, tokens);
    ASSERT_TRUE(cache->evict_one());
    EXPECT_EQ(model.states().free_rows(), room);
  }
  const auto cache = cache_of(model, this->options());
  EXPECT_EQ(this->cached(model, *cache, joined(tokens, Tokens{7})), tokens.size());
  EXPECT_EQ(cache->statistics().disk_hits, 1u);
  EXPECT_EQ(this->cached(model, *cache, tokens), tokens.size());
  EXPECT_EQ(cache->statistics().disk_hits, 1u);
  EXPECT_GT(cache->statistics().disk_bytes, 0u);
}

TYPED_TEST(CacheOnDisk, WhatTheCacheHoldsAtItsEndIsThereForTheNext) {
  const Tokens tokens = counted(1, kAnchorRows);
  {
    TypeParam model;
    this->keep(model, *cache_of(model, this->options()), tokens);
  }
  TypeParam model;
  EXPECT_EQ(this->cached(model, *cache_of(model, this->options("other")), tokens), 0u);
  EXPECT_EQ(this->cached(model, *cache_of(model, this->options()), tokens), tokens.size());
}

// Everything in the file fits together, but not to this model.
TYPED_TEST(CacheOnDisk, AStateThatTheModelRefusesIsRemoved) {
  TypeParam model;
  const Tokens tokens = counted(1, kAnchorRows);
  this->keep(model, *cache_of(model, this->options()), tokens);
  const std::string path = this->folder_.path(this->folder_.names().front());
  const std::string file = read_all(path);
  const auto head = parse_prefix_head(std::as_bytes(std::span(file)));
  ASSERT_TRUE(head);
  const std::vector<std::byte> state(3);
  const auto first = prefix_file_head(*head, state);
  write_all(path, std::string(reinterpret_cast<const char *>(first.data()), first.size()) +
                      std::string(3, '\0'));
  const auto cache = cache_of(model, this->options());
  EXPECT_EQ(this->cached(model, *cache, tokens), 0u);
  EXPECT_TRUE(this->folder_.names().empty());
}

TYPED_TEST(CacheOnDisk, AModelWithoutIdentityIsRefused) {
  TypeParam model;
  const auto cache = PrefixCache::create(model, this->options(""));
  ASSERT_FALSE(cache.ok());
  EXPECT_NE(cache.error().message.find("identity"), std::string::npos);
}

}  // namespace
}  // namespace zllm::engine
