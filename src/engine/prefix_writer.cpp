#include <zllm/engine/prefix_writer.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::engine {
namespace {

constexpr mode_t kOwnFile = 0600;

// What may wait beside one job of any size: memory that answers could use.
constexpr std::uint64_t kWaitingBytes = std::uint64_t{256} << 20;

class File {
 public:
  // Fails where the file exists, as a link too.
  explicit File(const std::string& path)
      : file_(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnFile)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

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

// Readers see a file whole or not at all.
bool put(const std::string& folder, const PrefixWriter::Job& job) {
  const std::string unfinished = concat(folder, "/", ::getpid(), "-", job.name, kUnfinishedFile);
  File file(unfinished);
  if (!file.is_open()) {
    return false;
  }
  std::error_code error;
  if (file.write(prefix_file_head(job.head, job.state)) && file.write(job.state) && file.close()) {
    std::filesystem::rename(unfinished, concat(folder, "/", job.name), error);
    if (!error) {
      return true;
    }
  }
  std::filesystem::remove(unfinished, error);
  return false;
}

}  // namespace

PrefixWriter::PrefixWriter(std::string folder)
    : folder_(std::move(folder)), thread_([this] { run(); }) {}

PrefixWriter::~PrefixWriter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t PrefixWriter::file_bytes(const Job& job) {
  return prefix_head_bytes(job.head) + job.state.size();
}

bool PrefixWriter::offer(Job job) {
  const std::uint64_t bytes = file_bytes(job);
  {
    const std::lock_guard lock(mutex_);
    if (!jobs_.empty() && waiting_bytes_ + bytes > kWaitingBytes) {
      return false;
    }
    waiting_bytes_ += bytes;
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
  return true;
}

std::vector<PrefixWriter::Written> PrefixWriter::take_written() {
  const std::lock_guard lock(mutex_);
  return std::exchange(written_, {});
}

void PrefixWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
}

void PrefixWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_ending_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return;
    }
    // Others only append, which leaves the first job where it is.
    Job& job = jobs_.front();
    lock.unlock();
    const bool is_there = put(folder_, job);
    lock.lock();
    const std::uint64_t bytes = file_bytes(job);
    waiting_bytes_ -= bytes;
    written_.push_back({.name = std::move(job.name),
                        .head = std::move(job.head),
                        .bytes = bytes,
                        .is_there = is_there});
    jobs_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace zllm::engine
