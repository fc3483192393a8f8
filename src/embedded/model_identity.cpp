#include <zllm/embedded/model_identity.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <zllm/base/text.h>

namespace zllm {
namespace {

constexpr std::size_t kHashedBytes = std::size_t{64} << 10;  // of each end: header and last tensors

// FNV-1a with 64 bits (Fowler, Noll, Vo).
class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  }
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      const auto byte = static_cast<std::byte>((number >> shift) & 0xffU);
      add(std::span(&byte, 1));
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

Result<std::string> model_identity(const weight::ModelFiles& files) {
  Hash hash;
  for (const MappedFile& file : files.tensors.files()) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file.path(), error);
    if (error) {
      return Error{Code::io, concat(file.path(), ": ", error.message())};
    }
    const std::span<const std::byte> bytes = file.bytes();
    const std::size_t part = std::min(bytes.size(), kHashedBytes);
    hash.add(bytes.size());
    hash.add(static_cast<std::uint64_t>(time.time_since_epoch().count()));
    hash.add(bytes.first(part));
    hash.add(bytes.last(part));
    ZLLM_TRY(file.check());
  }
  return to_text(hash.value());
}

}  // namespace zllm
