#include <zllm/base/mapped_file.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/lost_pages.h>
#include <zllm/base/text.h>

namespace zllm {
namespace {

Error system_error(const std::string& path, std::string_view doing, int number) {
  const Code code = number == ENOENT || number == ENOTDIR ? Code::not_found : Code::io;
  return Error{code, concat(path, ": cannot ", doing, ": ", std::strerror(number))};
}

Status require_regular(const std::string& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) {
    return {};
  }
  const std::string_view kind = S_ISDIR(status.st_mode)    ? "a directory"
                                : S_ISFIFO(status.st_mode) ? "a FIFO"
                                : S_ISSOCK(status.st_mode) ? "a socket"
                                                           : "a device";
  return Error{Code::invalid_file, concat(path, ": is ", kind, ", not a regular file")};
}

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

struct MappedFile::Mapping {
  std::string path;
  int descriptor = -1;  // kept to learn the file's size at any time
  std::byte *data = nullptr;
  std::size_t size = 0;
  std::optional<std::size_t> guard_slot;

  explicit Mapping(std::string file_path) : path(std::move(file_path)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (guard_slot) {
      lost_pages::release(*guard_slot);
    }
    if (data != nullptr) {
      munmap(data, size);
    }
    if (descriptor >= 0) {
      close(descriptor);
    }
  }

  Status map();
};

Status MappedFile::Mapping::map() {
  if (size == 0) {
    return {};
  }
  void *address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address == MAP_FAILED) {
    return system_error(path, "map", errno);
  }
  data = static_cast<std::byte *>(address);
  const std::size_t pages = (size - 1) / page_size() + 1;
  guard_slot = lost_pages::guard({data, pages * page_size()});
  if (!guard_slot) {
    return Error{Code::resource_exhausted,
                 concat(path, ": ", lost_pages::kMappingLimit, " files are mapped already")};
  }
  return {};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return Error{Code::invalid_argument, concat("path ", quote(path), " contains a zero byte")};
  }
  // Looked at before it is opened, as the open alone wakes a FIFO's writer and moves some devices,
  // and again afterwards, as another file may have taken its place.
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return system_error(path, "open", errno);
  }
  ZLLM_TRY(require_regular(path, status));
  auto mapping = std::make_unique<Mapping>(path);
  mapping->descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (mapping->descriptor < 0) {
    return system_error(path, "open", errno);
  }
  if (fstat(mapping->descriptor, &status) != 0) {
    return system_error(path, "read the size", errno);
  }
  ZLLM_TRY(require_regular(path, status));
  const auto size = checked_cast<std::size_t>(status.st_size);
  if (!size) {
    return Error{Code::io, concat(path, ": has the impossible size ", status.st_size)};
  }
  mapping->size = *size;
  ZLLM_TRY(mapping->map());
  return MappedFile(std::move(mapping));
}

MappedFile::MappedFile(std::unique_ptr<Mapping> mapping) : mapping_(std::move(mapping)) {}
MappedFile::MappedFile(MappedFile&&) noexcept = default;
MappedFile& MappedFile::operator=(MappedFile&&) noexcept = default;
MappedFile::~MappedFile() = default;

std::span<const std::byte> MappedFile::bytes() const { return {mapping_->data, mapping_->size}; }

const std::string& MappedFile::path() const { return mapping_->path; }

Status MappedFile::check() const {
  struct stat status{};
  if (fstat(mapping_->descriptor, &status) != 0) {
    return system_error(mapping_->path, "read the size", errno);
  }
  // The size tells what no signal does: that the end of the last page is gone.
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (now < mapping_->size) {
    return Error{Code::io, concat(mapping_->path, ": the file shrank while it was in use, from ",
                                  mapping_->size, " to ", now, " bytes")};
  }
  if (mapping_->guard_slot && lost_pages::lost(*mapping_->guard_slot)) {
    return Error{Code::io,
                 concat(mapping_->path, ": a part of the file could not be read while in use")};
  }
  return {};
}

void MappedFile::release(std::span<const std::byte> bytes) {
  const std::size_t page = page_size();
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t skipped = (page - begin % page) % page;
  if (bytes.size() <= skipped) {
    return;
  }
  const std::size_t whole = (bytes.size() - skipped) / page * page;
  if (whole == 0) {
    return;
  }
  // Advice: when the system does not take it, the pages only stay longer.
  auto *first = const_cast<std::byte *>(bytes.data() + skipped);
  static_cast<void>(madvise(first, whole, MADV_DONTNEED));
}

}  // namespace zllm
