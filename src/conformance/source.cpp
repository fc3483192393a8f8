#include <zllm/conformance/source.h>

#include <cmath>

namespace zllm::conformance {

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t Source::next() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

std::uint32_t Source::below(std::uint32_t limit) {
  return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
}

// A sum of four uniform numbers: near enough to normal, and without a function whose last bit
// differs among libraries.
std::vector<float> Source::values(std::size_t count, float deviation) {
  const double scale = static_cast<double>(deviation) * std::sqrt(3.0);
  std::vector<float> values(count);
  for (float& value : values) {
    const std::uint64_t bits = next();
    double sum = -2.0;
    for (unsigned shift = 0; shift < 64; shift += 16) {
      sum += (static_cast<double>(bits >> shift & 0xffff) + 0.5) / 65536.0;
    }
    value = static_cast<float>(sum * scale);
  }
  return values;
}

std::vector<float> Source::whole(std::size_t count) {
  std::vector<float> all = values(count);
  for (float& value : all) {
    value = std::round(value);
  }
  return all;
}

}  // namespace zllm::conformance
