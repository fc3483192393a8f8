#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zllm::server {

// Counts of values by upper bounds, as Prometheus wants them. Thread-safe.
class Histogram {
 public:
  // bounds: ascending.
  explicit Histogram(std::span<const double> bounds);

  void observe(double value);
  // Lines of the text format. labels: 'model="m"' or empty.
  void append(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;  // one more than bounds
  std::atomic<double> sum_ = 0;
};

// Bounds in seconds that tell apart what people feel: from a millisecond to minutes.
std::span<const double> latency_bounds();

}  // namespace zllm::server
