#include <zllm/text/fence/schema_number.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace zllm::text {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;
// The largest float below 2^63: the compiler counts in 64 bits.
constexpr double kMost = 9223372036854774784.0;
// From here on, one more is the same float for some.
constexpr double kTwoTo53 = 9007199254740992.0;
// Each remainder is a state of the compiled grammar: it takes some 10 us to make one.
constexpr std::uint32_t kMostRemainders = 1U << 16;
// Stands for an excluded 0: nearer ones have so many digits that patterns of them grow too large.
constexpr double kLeast = 1e-20;

constexpr auto kBounds =
    std::to_array<std::string_view>({"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"});

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

// Of all objects in it.
template <class Visit>
void visit_members(const Json& value, const Visit& visit) {
  if (const Json::Array *items = value.as_array()) {
    for (const Json& item : *items) {
      visit_members(item, visit);
    }
  } else if (const Json::Object *members = value.as_object()) {
    for (const auto& [key, member] : *members) {
      visit(key, member);
      visit_members(member, visit);
    }
  }
}

// What makes one schema of several.
constexpr auto kJoining = std::to_array<std::string_view>({"$ref", "allOf", "anyOf", "oneOf"});

// Digits behind the point.
int places_of(double factor) {
  constexpr int kMostPlaces = 10;
  int places = 0;
  while (places < kMostPlaces && std::floor(factor) != factor) {
    factor *= 10;
    ++places;
  }
  return places;
}

// The remainders of a number by all of them; 0: too many to count.
std::uint64_t remainders_by(std::span<const double> factors) {
  int places = 0;
  for (const double factor : factors) {
    places = std::max(places, places_of(factor));
  }
  std::uint64_t count = 1;
  for (const double factor : factors) {
    const double whole = std::round(factor * std::pow(10, places));
    if (!(whole >= 1 && whole <= double{kMostRemainders})) {
      return 0;
    }
    count = std::lcm(count, static_cast<std::uint64_t>(whole));
    if (count > kMostRemainders) {
      return 0;
    }
  }
  return count;
}

// What an excluded bound is for the compiler, which takes two kinds of them for numbers within:
// those so large that one more is the same float, and whole ones where the other bound differs only
// after the point.
double moved_inward(double bound, bool is_upper, std::span<const double> others) {
  const double sign = is_upper ? -1.0 : 1.0;
  const double from = sign * bound;  // as if it were a lower one
  const auto next = [&] {
    return from == 0 ? kLeast : std::nextafter(from, std::numeric_limits<double>::infinity());
  };
  if (std::abs(from) >= kTwoTo53) {
    return sign * next();
  }
  const bool is_met =
      from >= 0 && std::floor(from) == from && std::ranges::any_of(others, [&](double other) {
        return sign * other > from && sign * other < from + 1;
      });
  return is_met ? sign * next() : bound;
}

}  // namespace

bool is_bound(std::string_view key) { return std::ranges::find(kBounds, key) != kBounds.end(); }

std::vector<double> bounds_within(const Json& root) {
  std::vector<double> out;
  visit_members(root, [&](std::string_view key, const Json& member) {
    if (double bound = 0; is_bound(key) && member.as_number(bound)) {
      out.push_back(bound);
    }
  });
  return out;
}

bool is_exact_number(const Json& number) {
  Magnitude magnitude;
  return !read_magnitude(number, magnitude) ||
         float_at_least(magnitude.value) == float_at_most(magnitude.value);
}

Json held_bound(std::string_view key, const Json& bound, std::span<const double> others) {
  double value = 0;
  if (!bound.as_number(value)) {
    return bound;
  }
  const double told = value;
  const bool is_upper = key.ends_with("aximum");
  if (Magnitude magnitude; !is_exact_number(bound) && read_magnitude(bound, magnitude)) {
    value = is_upper == magnitude.is_negative ? float_at_least(magnitude.value)
                                              : float_at_most(magnitude.value);
    value = magnitude.is_negative ? -value : value;
  }
  if (key.starts_with("exclusive")) {
    value = moved_inward(value, is_upper, others);
  }
  const double held = is_upper ? std::min(value, kMost) : std::max(value, -kMost);
  return held == told && is_exact_number(bound) ? bound : Json(held);
}

bool is_large_factor(double factor) { return remainders_by(std::span(&factor, 1)) == 0; }

bool has_large_factors(const Json& root) {
  std::vector<double> factors;
  bool may_meet = false;
  visit_members(root, [&](std::string_view key, const Json& member) {
    // One that is large alone is told of where it stands.
    if (double factor = 0;
        key == "multipleOf" && member.as_number(factor) && !is_large_factor(factor)) {
      factors.push_back(factor);
    }
    may_meet = may_meet || std::ranges::find(kJoining, key) != kJoining.end();
  });
  return may_meet && remainders_by(factors) == 0;
}

std::string_view bound_name(std::string_view key, const Json& schema) {
  const std::string_view exclusive = key == "minimum"   ? "exclusiveMinimum"
                                     : key == "maximum" ? "exclusiveMaximum"
                                                        : "";
  const Json *flag = schema.find(exclusive);
  return flag != nullptr && flag->as_bool() != nullptr && *flag->as_bool() ? exclusive : key;
}

}  // namespace zllm::text
