#include <zllm/sampling/random.h>

namespace zllm::sampling {
namespace {

constexpr int kRounds = 10;

std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value & 0xffffffffu); }
std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

double unit(std::uint32_t upper, std::uint32_t lower) {
  const std::uint64_t bits = (std::uint64_t{upper} << 32) | lower;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1],
               low(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

std::array<double, 2> uniforms(std::uint64_t seed, const Place& place) {
  const PhiloxCounter words =
      philox({low(place.position), high(place.position), low(place.choice), high(place.choice)},
             {low(seed), high(seed)});
  return {unit(words[0], words[1]), unit(words[2], words[3])};
}

}  // namespace zllm::sampling
