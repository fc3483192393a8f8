#pragma once

#include <array>
#include <cstdint>

// Random numbers as a function of where they are used, with no state: Philox4x32-10 (Salmon,
// Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"). The key is the seed, the
// counter is (position, choice). So a token's randomness never depends on the batch, on other
// requests or on how often rows were computed.
namespace zllm::sampling {

// Where a token is drawn.
struct Place {
  std::uint64_t choice = 0;    // index among the n answers to one request
  std::uint64_t position = 0;  // absolute position of the token that is drawn
};

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

// Two independent doubles, multiples of 2^-53 in [0, 1). The first draws the token; the second is
// for what else a position decides by chance (acceptance in speculation).
std::array<double, 2> uniforms(std::uint64_t seed, const Place& place);

}  // namespace zllm::sampling
