#include <zllm/engine/prefix_disk.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>
#include <zllm/engine/prefix_file.h>

namespace zllm::engine {
namespace {

namespace fs = std::filesystem;

using Entry = PrefixTree::Entry;
using Key = PrefixTree::Key;

constexpr std::string_view kSuffix = ".prefix";
constexpr std::string_view kUnfinished = ".unfinished";
constexpr mode_t kOwnFolder = 0700;
constexpr mode_t kOwnFile = 0600;

// A file that is written, closed at the end.
class Writer {
 public:
  // Fails where the file exists, a link too.
  explicit Writer(const std::string& path)
      : file_(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnFile)) {}
  ~Writer() { close(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool is_open() const { return file_ >= 0; }

  bool write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) {
        continue;
      }
      if (written <= 0) {
        return false;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }

  bool close() { return file_ >= 0 && ::close(std::exchange(file_, -1)) == 0; }

 private:
  int file_;
};

std::string file_name(const PrefixFileHead& head) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::uint64_t hash = prefix_hash(head);
  std::string name;
  for (int shift = 60; shift >= 0; shift -= 4) {
    name += kDigits[(hash >> shift) & 0xFU];
  }
  return name.append(kSuffix);
}

class Folder final : public PrefixDisk {
 public:
  explicit Folder(PrefixDiskOptions options) : options_(std::move(options)) {}

  Status scan();

  const PrefixTree& tree() const override { return tree_; }
  std::optional<runtime::SequenceSnapshot> read(Entry entry) override;
  void write(const Key& key, const runtime::SequenceSnapshot& snapshot) override;
  void touch(Entry entry) override;
  void remove(Entry entry) override;
  std::uint64_t bytes() const override { return bytes_; }

 private:
  struct File {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t used = 0;  // higher is later
  };

  std::string path(const std::string& name) const { return options_.folder + "/" + name; }
  void discard(const std::string& name) const {
    std::error_code ignored;
    fs::remove(path(name), ignored);
  }
  void list(const std::string& name, std::uint64_t bytes, const PrefixFileHead& head);
  bool make_room(std::uint64_t bytes);
  bool put(const std::string& name, std::span<const std::byte> head,
           std::span<const std::byte> state) const;

  PrefixDiskOptions options_;
  PrefixTree tree_;              // of the files of this model
  std::map<Entry, File> files_;  // those of other models too
  std::uint64_t bytes_ = 0;
  std::uint64_t last_ = 0;  // entry, and use
};

void Folder::list(const std::string& name, std::uint64_t bytes, const PrefixFileHead& head) {
  const Entry entry(++last_);
  files_[entry] = {.name = name, .bytes = bytes, .used = last_};
  bytes_ += bytes;
  if (head.identity == options_.identity) {
    tree_.insert({.kind = head.kind, .tokens = head.tokens}, entry);
  }
}

// Lists what is there in the order of last use. Unfinished and broken files go; what has no such
// name is not touched.
Status Folder::scan() {
  struct Found {
    fs::file_time_type used;
    std::string name;
  };
  std::vector<Found> found;
  std::error_code error;
  for (fs::directory_iterator item(options_.folder, error); !error && item != fs::end(item);
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    std::error_code gone;
    if (name.ends_with(concat(kSuffix, kUnfinished))) {
      discard(name);
    } else if (name.ends_with(kSuffix) && item->is_regular_file(gone) && !item->is_symlink(gone)) {
      found.push_back({.used = item->last_write_time(gone), .name = name});
    }
  }
  if (error) {
    return Error{Code::io, concat("folder ", quote(options_.folder), ": ", error.message())};
  }
  std::ranges::sort(found, {}, [](const Found& file) { return std::pair(file.used, file.name); });
  for (const Found& file : found) {
    const auto mapped = MappedFile::open(path(file.name));
    const auto head = mapped.ok() ? parse_prefix_head(mapped->bytes()) : std::nullopt;
    if (!head || head->tokens.empty() || file.name != file_name(*head)) {
      discard(file.name);
      continue;
    }
    list(file.name, mapped->bytes().size(), *head);
  }
  make_room(0);
  return {};
}

void Folder::remove(Entry entry) {
  const auto file = files_.find(entry);
  if (file == files_.end()) {
    return;
  }
  discard(file->second.name);
  bytes_ -= file->second.bytes;
  files_.erase(file);
  if (tree_.contains(entry)) {
    tree_.erase(entry);
  }
}

bool Folder::make_room(std::uint64_t bytes) {
  if (bytes > options_.bytes) {
    return false;
  }
  while (bytes_ > options_.bytes - bytes) {
    const auto oldest =
        std::ranges::min_element(files_, {}, [](const auto& file) { return file.second.used; });
    remove(oldest->first);
  }
  return true;
}

void Folder::touch(Entry entry) {
  const auto file = files_.find(entry);
  if (file != files_.end()) {
    file->second.used = ++last_;
    std::error_code ignored;
    fs::last_write_time(path(file->second.name), fs::file_time_type::clock::now(), ignored);
  }
}

std::optional<runtime::SequenceSnapshot> Folder::read(Entry entry) {
  std::optional<runtime::SequenceSnapshot> snapshot;
  const auto mapped = MappedFile::open(path(files_.at(entry).name));
  if (mapped.ok()) {
    const auto head = parse_prefix_head(mapped->bytes());
    if (head && head->identity == options_.identity && head->kind == tree_.kind(entry) &&
        head->tokens == tree_.tokens(entry)) {
      snapshot = parse_prefix_file(mapped->bytes());
    }
  }
  if (!snapshot || !mapped->check().ok()) {
    remove(entry);
    return {};
  }
  touch(entry);
  return snapshot;
}

// Readers see a file whole or not at all.
bool Folder::put(const std::string& name, std::span<const std::byte> head,
                 std::span<const std::byte> state) const {
  const std::string unfinished = concat(::getpid(), "-", name, kUnfinished);
  Writer writer(path(unfinished));
  if (!writer.is_open()) {
    return false;
  }
  std::error_code error;
  if (writer.write(head) && writer.write(state) && writer.close()) {
    fs::rename(path(unfinished), path(name), error);
    if (!error) {
      return true;
    }
  }
  discard(unfinished);
  return false;
}

void Folder::write(const Key& key, const runtime::SequenceSnapshot& snapshot) {
  if (const auto known = tree_.find(key)) {
    remove(*known);
  }
  const PrefixFileHead head{.identity = options_.identity,
                            .kind = key.kind,
                            .expected_rows = snapshot.expected_rows,
                            .tokens = {key.tokens.begin(), key.tokens.end()}};
  const std::vector<std::byte> first = prefix_file_head(head, snapshot.bytes);
  const std::uint64_t bytes = first.size() + snapshot.bytes.size();
  const std::string name = file_name(head);
  if (make_room(bytes) && put(name, first, snapshot.bytes)) {
    list(name, bytes, head);
  }
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  const fs::path parent = fs::path(folder).parent_path();
  if (!parent.empty()) {
    fs::create_directories(parent, error);
  }
  if (::mkdir(folder.c_str(), kOwnFolder) != 0 && errno != EEXIST) {
    return Error{Code::io,
                 concat("folder ", quote(folder), ": ", std::system_category().message(errno))};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PrefixDisk>> PrefixDisk::open(PrefixDiskOptions options) {
  ZLLM_TRY(make_folder(options.folder));
  auto folder = std::make_unique<Folder>(std::move(options));
  ZLLM_TRY(folder->scan());
  return std::unique_ptr<PrefixDisk>(std::move(folder));
}

}  // namespace zllm::engine
