#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/base/text.h>

namespace zllm::weight {

// Takes little-endian values off the front of a GGUF file. Every read is checked against what
// remains; `what` names the field in the error.
class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> file) : file_(file) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return file_.size() - position_; }

  // The next size bytes.
  Result<std::span<const std::byte>> bytes(std::uint64_t size, std::string_view what) {
    if (size > remaining()) {
      return Error{Code::invalid_file,
                   concat("the file ends within ", what, " (", size, " bytes at offset ", position_,
                          " of ", file_.size(), ")")};
    }
    const auto taken = file_.subspan(position_, static_cast<std::size_t>(size));
    position_ += taken.size();
    return taken;
  }

  template <class T>
  Result<T> number(std::string_view what) {
    static_assert(std::endian::native == std::endian::little, "read without swapping bytes");
    ZLLM_TRY(const auto taken, bytes(sizeof(T), what));
    T value{};
    std::memcpy(&value, taken.data(), sizeof(T));
    return value;
  }

  // A 64-bit length and as many bytes, in no particular character encoding.
  Result<std::string_view> string(std::string_view what) {
    ZLLM_TRY(const auto length, number<std::uint64_t>(what));
    ZLLM_TRY(const auto text, bytes(length, what));
    return std::string_view(reinterpret_cast<const char *>(text.data()), text.size());
  }

 private:
  std::span<const std::byte> file_;
  std::size_t position_ = 0;
};

}  // namespace zllm::weight
