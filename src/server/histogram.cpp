#include <zllm/server/histogram.h>

#include <algorithm>
#include <array>

#include <zllm/base/text.h>

namespace zllm::server {
namespace {

constexpr std::array<double, 17> kLatencyBounds = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300};

void append_line(std::string& out, std::string_view name, std::string_view labels,
                 std::string_view value) {
  out += name;
  if (!labels.empty()) {
    out += concat("{", labels, "}");
  }
  out += concat(" ", value, "\n");
}

}  // namespace

std::span<const double> latency_bounds() { return kLatencyBounds; }

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()), counts_(bounds.size() + 1) {}

void Histogram::observe(double value) {
  const auto bound = std::ranges::lower_bound(bounds_, value);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_.fetch_add(value);
}

void Histogram::append(std::string& out, std::string_view name, std::string_view labels) const {
  const std::string comma = labels.empty() ? "" : ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    const std::string bound = i < bounds_.size() ? to_text(bounds_[i]) : "+Inf";
    append_line(out, concat(name, "_bucket"), concat(labels, comma, "le=\"", bound, "\""),
                to_text(total));
  }
  append_line(out, concat(name, "_sum"), labels, to_text(sum_.load()));
  append_line(out, concat(name, "_count"), labels, to_text(total));
}

}  // namespace zllm::server
