#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace zllm::conformance {

// Data from a seed, the same on every machine and with every standard library.
class Source {
 public:
  explicit Source(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();                      // 64 random bits
  std::uint32_t below(std::uint32_t limit);  // 0 .. limit - 1
  // About normal, of mean 0 and the given deviation; never more than 3.5 deviations away.
  std::vector<float> values(std::size_t count, float deviation = 1.0F);
  // Rounded to whole numbers, mostly -2 .. 2.
  std::vector<float> whole(std::size_t count);

 private:
  std::uint64_t state_;
};

}  // namespace zllm::conformance
