#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <zllm/base/result.h>

namespace zllm::cli {

// SHA-256 (FIPS 180-4) of data that comes in pieces.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  // In lower-case hexadecimal. The object is spent afterwards.
  std::string finish();

 private:
  void compress(const std::byte *block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::uint64_t length_ = 0;  // bytes so far
};

Result<std::string> sha256_of_file(const std::string& path);

}  // namespace zllm::cli
