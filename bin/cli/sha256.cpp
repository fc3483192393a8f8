#include "sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <zllm/base/mapped_file.h>

namespace zllm::cli {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::byte *bytes) {
  std::uint32_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return std::endian::native == std::endian::little ? __builtin_bswap32(word) : word;
}

// One round, of which only d and h change; the names are those of the standard. As nine values the
// eight words of the state stay in registers. NOLINTNEXTLINE(readability-function-size)
inline void turn(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                 std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                 std::uint32_t k) {
  const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
  const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
  const std::uint32_t first = h + s1 + (g ^ (e & (f ^ g))) + k;
  d += first;
  h = first + s0 + ((a & b) | (c & (a | b)));
}

}  // namespace

void Sha256::compress(const std::byte *block) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = big_endian(block + 4 * i);
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  // Eight rounds at a time turn the roles of the variables once around, so nothing is moved.
  for (std::size_t i = 0; i < 64; i += 8) {
    const auto k = [&](std::size_t round) { return kRound[i + round] + w[i + round]; };
    turn(a, b, c, d, e, f, g, h, k(0));
    turn(h, a, b, c, d, e, f, g, k(1));
    turn(g, h, a, b, c, d, e, f, k(2));
    turn(f, g, h, a, b, c, d, e, k(3));
    turn(e, f, g, h, a, b, c, d, k(4));
    turn(d, e, f, g, h, a, b, c, k(5));
    turn(c, d, e, f, g, h, a, b, k(6));
    turn(b, c, d, e, f, g, h, a, k(7));
  }
  const std::array<std::uint32_t, 8> worked = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state_.size(); ++i) {
    state_[i] += worked[i];
  }
}

void Sha256::add(std::span<const std::byte> bytes) {
  std::size_t filled = length_ % pending_.size();
  length_ += bytes.size();
  while (!bytes.empty()) {
    if (filled == 0 && bytes.size() >= pending_.size()) {
      compress(bytes.data());
      bytes = bytes.subspan(pending_.size());
      continue;
    }
    const std::size_t count = std::min(bytes.size(), pending_.size() - filled);
    std::copy_n(bytes.begin(), count, pending_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes = bytes.subspan(count);
    filled += count;
    if (filled == pending_.size()) {
      compress(pending_.data());
      filled = 0;
    }
  }
}

std::string Sha256::finish() {
  constexpr std::size_t kLengthBytes = 8;
  const std::uint64_t bits = length_ * 8;
  const std::array<std::byte, 1> one = {std::byte{0x80}};
  const std::array<std::byte, 1> zero = {};
  add(one);
  while (length_ % pending_.size() != pending_.size() - kLengthBytes) {
    add(zero);
  }
  std::array<std::byte, kLengthBytes> tail{};
  for (std::size_t i = 0; i < tail.size(); ++i) {
    tail[i] = static_cast<std::byte>(bits >> (8 * (kLengthBytes - 1 - i)));
  }
  add(tail);
  constexpr const char *kHex = "0123456789abcdef";
  std::string text;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      text += kHex[(word >> shift) & 15];
    }
  }
  return text;
}

Result<std::string> sha256_of_file(const std::string& path) {
  ZLLM_TRY(const MappedFile file, MappedFile::open(path));
  Sha256 hash;
  hash.add(file.bytes());
  ZLLM_TRY(file.check());
  return hash.finish();
}

}  // namespace zllm::cli
