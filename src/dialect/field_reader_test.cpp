#include <zllm/dialect/field_reader.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <zllm/base/json.h>

namespace zllm::dialect {
namespace {

Json parse(std::string_view text) { return Json::parse(text, "body").value(); }

TEST(FieldReader, TakesMembersByName) {
  const Json body = parse(R"({"a":true,"b":5.0,"c":"x","d":null,"e":[1],"f":{},"g":0.5})");
  FieldReader fields(body, "");
  EXPECT_EQ(fields.boolean("a"), true);
  EXPECT_EQ(fields.integer("b"), 5);
  EXPECT_EQ(fields.text("c"), "x");
  EXPECT_EQ(fields.text("d"), std::nullopt);
  EXPECT_EQ(fields.array("e")->size(), 1U);
  EXPECT_NE(fields.object("f"), nullptr);
  EXPECT_EQ(fields.number("g", {.least = 0, .most = 1}), 0.5);
  EXPECT_EQ(fields.text("absent"), std::nullopt);
  EXPECT_TRUE(fields.finish().ok());
}

TEST(FieldReader, RefusesUnknownMembersByName) {
  const Json body = parse(R"({"temperature":1,"temperatur":1})");
  FieldReader fields(body, "inner");
  fields.number("temperature", {.least = 0, .most = 2});
  const auto done = fields.finish();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().field, "inner.temperatur");
  EXPECT_EQ(done.error().code, "unknown_parameter");
  EXPECT_NE(done.error().message.find("'temperature'"), std::string::npos);
}

TEST(FieldReader, BoundsAnUnknownName) {
  const Json body = parse(R"({")" + std::string(100000, 'k') + R"(":1})");
  FieldReader fields(body, "");
  fields.text("known");
  const auto done = fields.finish();
  ASSERT_FALSE(done.ok());
  EXPECT_LT(done.error().message.size(), 300U);
}

TEST(FieldReader, KeepsTheFirstFailure) {
  const Json body = parse(R"({"a":1,"b":2})");
  FieldReader fields(body, "");
  EXPECT_EQ(fields.text("a"), std::nullopt);
  EXPECT_EQ(fields.integer("b"), std::nullopt);
  fields.require("c");
  EXPECT_EQ(fields.finish().error().field, "a");
}

TEST(FieldReader, NullIsAbsentUnderAnyName) {
  const Json body = parse(R"({"unknown":null})");
  EXPECT_TRUE(FieldReader(body, "").finish().ok());
}

TEST(FieldReader, RefusesWhatIsNoObject) {
  const Json body = parse("[1]");
  FieldReader fields(body, "");
  EXPECT_EQ(fields.text("a"), std::nullopt);
  EXPECT_FALSE(fields.has("a"));
  EXPECT_EQ(fields.finish().error().code, "invalid_type");
}

TEST(FieldReader, NamesOneOfTwo) {
  const Json one = parse(R"({"alias":3})");
  FieldReader fields(one, "");
  EXPECT_EQ(fields.integer(fields.either("name", "alias")), 3);
  EXPECT_TRUE(fields.finish().ok());

  const Json both = parse(R"({"name":3,"alias":3})");
  FieldReader other(both, "");
  other.integer(other.either("name", "alias"));
  EXPECT_EQ(other.finish().error().field, "alias");
}

TEST(FieldReader, IntegersAreExact) {
  for (const char *text : {"1.5", "1e300", "\"1\"", "true", "[1]"}) {
    EXPECT_EQ(read_integer(parse(text), "x", {}).error().code, "invalid_type") << text;
  }
  EXPECT_EQ(read_integer(parse("18446744073709551615"), "x", {}).error().code, "invalid_value");
  EXPECT_EQ(read_integer(parse("-1"), "x", {}).error().field, "x");
  EXPECT_EQ(*read_integer(parse("1e3"), "x", {}), 1000);
}

TEST(FieldReader, NumbersKeepTheirRange) {
  const NumberRange above{.least = 0, .most = 2, .excludes_least = true};
  EXPECT_FALSE(read_number(parse("0"), "x", above).ok());
  EXPECT_FALSE(read_number(parse("2.0001"), "x", above).ok());
  EXPECT_TRUE(read_number(parse("2"), "x", above).ok());
  EXPECT_TRUE(read_number(parse("1e-300"), "x", above).ok());
}

}  // namespace
}  // namespace zllm::dialect
