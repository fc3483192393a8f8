#include <zllm/text/fence/schema_number.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace zllm::text {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;
// The largest float below 2^63: the compiler counts in 64 bits.
constexpr double kMost = 9223372036854774784.0;

struct Magnitude {
  std::uint64_t value = 0;
  bool is_negative = false;
};

bool read_magnitude(const Json& number, Magnitude& out) {
  std::int64_t integer = 0;
  if (number.as_unsigned(out.value)) {
    return true;
  }
  if (!number.as_integer(integer)) {
    return false;
  }
  out = {.value = 0 - static_cast<std::uint64_t>(integer), .is_negative = true};
  return true;
}

double float_at_least(std::uint64_t value) {
  const auto nearest = static_cast<double>(value);
  if (nearest >= kTwoTo64 || static_cast<std::uint64_t>(nearest) >= value) {
    return nearest;
  }
  return std::nextafter(nearest, std::numeric_limits<double>::infinity());
}

double float_at_most(std::uint64_t value) {
  const auto nearest = static_cast<double>(value);
  if (nearest < kTwoTo64 && static_cast<std::uint64_t>(nearest) <= value) {
    return nearest;
  }
  return std::nextafter(nearest, 0.0);
}

}  // namespace

bool is_exact_number(const Json& number) {
  Magnitude magnitude;
  return !read_magnitude(number, magnitude) ||
         float_at_least(magnitude.value) == float_at_most(magnitude.value);
}

Json held_bound(std::string_view key, const Json& bound) {
  double value = 0;
  if (!bound.as_number(value)) {
    return bound;
  }
  const bool is_upper = key.ends_with("aximum");
  if (Magnitude magnitude; !is_exact_number(bound) && read_magnitude(bound, magnitude)) {
    value = is_upper == magnitude.is_negative ? float_at_least(magnitude.value)
                                              : float_at_most(magnitude.value);
    value = magnitude.is_negative ? -value : value;
  }
  const double held = is_upper ? std::min(value, kMost) : std::max(value, -kMost);
  return held == value && is_exact_number(bound) ? bound : Json(held);
}

std::string_view bound_name(std::string_view key, const Json& schema) {
  const std::string_view exclusive = key == "minimum"   ? "exclusiveMinimum"
                                     : key == "maximum" ? "exclusiveMaximum"
                                                        : "";
  const Json *flag = schema.find(exclusive);
  return flag != nullptr && flag->as_bool() != nullptr && *flag->as_bool() ? exclusive : key;
}

}  // namespace zllm::text
