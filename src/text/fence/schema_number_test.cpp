#include <zllm/text/fence/schema_number.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

const Tokenizer& tokenizer() {
  static const Tokenizer made = testing::small_tokenizer("byte_level");
  return made;
}

Result<std::unique_ptr<engine::Fence>> make(const std::string& schema) {
  static const FenceFactory factory =
      testing::factory_of(tokenizer(), {"<|im_end|>", "<|endoftext|>"});
  return factory.make({.constraint = Constraint{ConstraintKind::json_schema, schema}});
}

bool accepts(const engine::Fence& start, std::string_view text) {
  const auto fence = start.clone();
  return testing::advance_by(*fence, tokenizer(), text, true).ok() &&
         testing::may_end(*fence, *tokenizer().id_of("<|im_end|>"));
}

// A number as it is written, without rounding.
struct Decimal {
  bool is_negative = false;
  std::string whole = {};     // without zeros before
  std::string fraction = {};  // without zeros after

  explicit Decimal(std::string_view text) {
    is_negative = text.starts_with('-');
    text.remove_prefix(is_negative ? 1U : 0U);
    const std::size_t point = std::min(text.find('.'), text.size());
    whole = text.substr(0, point);
    fraction = text.substr(std::min(point + 1, text.size()));
    whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
    fraction.resize(fraction.find_last_not_of('0') + 1);
    is_negative = is_negative && !(whole.empty() && fraction.empty());
  }
};

int compare_magnitudes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) {
    return a.whole.size() < b.whole.size() ? -1 : 1;
  }
  const int whole = a.whole.compare(b.whole);
  return whole != 0 ? whole : a.fraction.compare(b.fraction);
}

int compare(std::string_view a, std::string_view b) {
  const Decimal left(a);
  const Decimal right(b);
  if (left.is_negative != right.is_negative) {
    return left.is_negative ? -1 : 1;
  }
  return left.is_negative ? compare_magnitudes(right, left) : compare_magnitudes(left, right);
}

// Whether the value is a multiple of what has at most two places after its point.
bool is_multiple(std::string_view value, std::string_view factor) {
  constexpr std::size_t kPlaces = 2;
  const Decimal number(value);
  const Decimal step(factor);
  if (number.fraction.size() > kPlaces) {
    return false;
  }
  const auto scaled = [](const Decimal& decimal) {
    return decimal.whole + decimal.fraction + std::string(kPlaces - decimal.fraction.size(), '0');
  };
  const unsigned long modulus = std::stoul(scaled(step));
  unsigned long rest = 0;
  for (const char digit : scaled(number)) {
    rest = (rest * 10 + static_cast<unsigned long>(digit - '0')) % modulus;
  }
  return rest == 0;
}

struct Rule {
  bool is_integer = false;
  std::string lower = {}, upper = {};  // empty: none
  bool excludes_lower = false, excludes_upper = false;
  std::string step = {};

  bool holds(std::string_view value) const {
    const int low = lower.empty() ? 1 : compare(value, lower);
    const int high = upper.empty() ? -1 : compare(value, upper);
    return low >= (excludes_lower ? 1 : 0) && high <= (excludes_upper ? -1 : 0) &&
           (!is_integer || Decimal(value).fraction.empty()) &&
           (step.empty() || is_multiple(value, step));
  }
};

enum class Form : std::uint8_t { plain, parts, draft4 };

std::string bound(Form form, std::string_view end, const std::string& value, bool is_excluded) {
  if (value.empty()) {
    return {};
  }
  if (!is_excluded) {
    return concat(",\"m", end, "\":", value);
  }
  return form == Form::draft4 ? concat(",\"m", end, "\":", value, ",\"exclusiveM", end, "\":true")
                              : concat(",\"exclusiveM", end, "\":", value);
}

std::string schema_of(const Rule& rule, Form form) {
  const std::string lower = bound(form, "inimum", rule.lower, rule.excludes_lower);
  const std::string upper = bound(form, "aximum", rule.upper, rule.excludes_upper);
  const std::string step = rule.step.empty() ? "" : concat(",\"multipleOf\":", rule.step);
  const std::string type = concat("\"type\":\"", rule.is_integer ? "integer" : "number", "\"");
  if (form != Form::parts) {
    return concat("{", type, lower, upper, step, "}");
  }
  return concat("{", type, step, R"(,"allOf":[{"type":"number")", lower,
                R"(},{"$ref":"#/$defs/u"}],"$defs":{"u":{"type":"number")", upper, "}}}");
}

std::vector<std::string> spellings(const std::string& value) {
  std::vector<std::string> out = {value, value + "e0", value + "E-0", value + "0"};
  for (const std::string_view tail : {".0", ".000", "00"}) {
    out.push_back(value + std::string(tail));
  }
  if (Decimal(value).whole.empty() && Decimal(value).fraction.empty()) {
    const std::vector<std::string> positive = out;
    for (const std::string& each : positive) {
      out.push_back("-" + each);
    }
  }
  return out;
}

// What a fence allows of spellings near the bounds and of numbers at random, the rule allows.
void check(const Rule& rule, Form form, std::mt19937& random) {
  const std::string schema = schema_of(rule, form);
  const auto fence = make(schema);
  if (!fence.ok()) {
    for (int quarter = -20; quarter <= 20; ++quarter) {
      const std::string value =
          concat(quarter < 0 ? "-" : "", std::abs(quarter) / 4, ".", std::abs(quarter) % 4 * 25);
      EXPECT_FALSE(rule.step.empty() && rule.holds(value))
          << schema << " " << value << " " << fence.error().message;
    }
    return;
  }
  for (const std::string& end : {rule.lower, rule.upper}) {
    for (const std::string& text : end.empty() ? std::vector<std::string>() : spellings(end)) {
      // An exponent is 0 here or of a 0.
      const std::string value = text.substr(0, text.find_first_of("eE"));
      EXPECT_TRUE(!accepts(**fence, text) || rule.holds(value)) << schema << " " << text;
    }
  }
  for (int i = 0; i < 2; ++i) {
    const auto copy = (*fence)->clone();
    const testing::Walk made = testing::walk(*copy, tokenizer(), random, 40);
    if (made.has_ended && made.text.find_first_of("eE") == std::string::npos) {
      EXPECT_TRUE(rule.holds(made.text)) << schema << " " << made.text;
    }
  }
}

TEST(SchemaNumber, WhatIsExcludedIsNeverWritten) {
  const std::string rule = R"({"type":"number","exclusiveMinimum":0,"maximum":0.5})";
  const auto fence = make(rule);
  ASSERT_TRUE(fence.ok()) << fence.error().message;
  for (const std::string_view text : {"0", "0.0", "0e0", "-0", "0.000", "-0.0", "0.6"}) {
    EXPECT_FALSE(accepts(**fence, text)) << text;
  }
  for (const std::string_view text : {"0.5", "0.25", "0.001", "0.499"}) {
    EXPECT_TRUE(accepts(**fence, text)) << text;
  }
}

TEST(SchemaNumber, NumbersAtRandomAreWithinTheirBounds) {
  constexpr auto kEnds = std::to_array<std::string_view>(
      {"",      "-2",  "-1.5", "-1.25", "-1",  "-0.75", "-0.5", "-0.1",
       "-0.05", "0",   "-0.0", "0.05",  "0.1", "0.5",   "0.75", "1",
       "1.25",  "1.5", "2",    "2.05",  "9",   "9.5",   "10",   "99.9"});
  constexpr auto kSteps =
      std::to_array<std::string_view>({"", "", "", "0.25", "0.1", "0.01", "0.5", "1.5", "2", "3"});
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const Rule rule{.is_integer = random() % 4 == 0,
                    .lower = std::string(kEnds[random() % kEnds.size()]),
                    .upper = std::string(kEnds[random() % kEnds.size()]),
                    .excludes_lower = random() % 3 != 0,
                    .excludes_upper = random() % 3 != 0,
                    .step = std::string(kSteps[random() % kSteps.size()])};
    check(rule, static_cast<Form>(random() % 3), random);
  }
}

TEST(SchemaNumber, EveryExcludedWholeBoundIsHeld) {
  std::mt19937 random(5);
  for (const Form form : {Form::plain, Form::parts, Form::draft4}) {
    for (int whole = -1; whole <= 1; ++whole) {
      for (const std::string_view rest : {"5", "01"}) {
        const bool is_negative = whole < 0;
        const std::string excluded = to_text(whole);
        const std::string above =
            concat(is_negative ? "-" : "", is_negative ? -whole - 1 : whole, ".", rest);
        const std::string below =
            concat(whole > 0 ? "" : "-", whole > 0 ? whole - 1 : -whole, ".", rest);
        check({.lower = excluded, .upper = above, .excludes_lower = true}, form, random);
        check({.lower = below, .upper = excluded, .excludes_upper = true}, form, random);
      }
    }
  }
}

TEST(SchemaNumber, LargeExcludedBoundsAreHeld) {
  for (const std::string_view bound :
       {"9007199254740992", "9007199254740993", "36028797018963968"}) {
    const std::string above = concat(R"({"type":"integer","exclusiveMinimum":)", bound, "}");
    const std::string below = concat(R"({"type":"integer","exclusiveMaximum":-)", bound, "}");
    EXPECT_FALSE(accepts(**make(above), bound)) << above;
    EXPECT_TRUE(accepts(**make(above), concat(bound, "0"))) << above;
    EXPECT_FALSE(accepts(**make(below), concat("-", bound))) << below;
    EXPECT_TRUE(accepts(**make(below), concat("-", bound, "0"))) << below;
  }
}

TEST(SchemaNumber, FactorsThatMeetAreHeldToTogether) {
  const auto both = [](std::string_view a, std::string_view b) {
    return concat(R"({"type":"number","multipleOf":)", a, R"(,"allOf":[{"multipleOf":)", b, "}]}");
  };
  EXPECT_TRUE(accepts(**make(both("4", "0.6")), "12"));
  EXPECT_FALSE(accepts(**make(both("4", "0.6")), "4"));
  for (const std::string& schema :
       {both("65537", "65539"), both("65537", "65537"), both("0.0000001", "1000")}) {
    const auto fence = make(schema);
    ASSERT_FALSE(fence.ok()) << schema;
    EXPECT_NE(fence.error().message.find("'/multipleOf'"), std::string::npos);
  }
  EXPECT_TRUE(
      make(R"({"properties":{"a":{"multipleOf":0.0000001},"b":{"multipleOf":1000}}})").ok());
  EXPECT_TRUE(make(both("0.05", "100")).ok());
  EXPECT_TRUE(make(both("1000", "500")).ok());
}

TEST(SchemaNumber, AFactorOfManyRemaindersIsRefused) {
  for (const std::string_view factor : {"65537", "1000003", "6.5537", "1e300"}) {
    const auto fence =
        make(concat(R"({"properties":{"a":{"multipleOf":5},"b":{"multipleOf":)", factor, "}}}"));
    ASSERT_FALSE(fence.ok()) << factor;
    EXPECT_NE(fence.error().message.find("'/properties/b/multipleOf'"), std::string::npos);
  }
  EXPECT_TRUE(make(R"({"multipleOf":1000})").ok());
}

TEST(SchemaNumber, BoundsThatNothingMeetsStayAsTheyAre) {
  const std::vector<double> others = {0, 2.5};
  EXPECT_EQ(held_bound("exclusiveMinimum", Json(std::int64_t{0}), others).dump(), "0");
  EXPECT_EQ(held_bound("exclusiveMinimum", Json(std::int64_t{2}), others).dump(),
            "2.0000000000000004");
  EXPECT_EQ(held_bound("exclusiveMaximum", Json(std::int64_t{2}), others).dump(), "2");
  EXPECT_EQ(held_bound("minimum", Json(std::int64_t{2}), others).dump(), "2");
}

}  // namespace
}  // namespace zllm::text
