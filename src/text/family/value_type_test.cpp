#include <gtest/gtest.h>

#include <string_view>

#include <zllm/text/family/value_type.h>

namespace zllm::text::family {
namespace {

ValueTypes types(std::string_view property) {
  const std::string schema = R"({"type":"object","$defs":{"a/b":{"enum":["x",1]},
    "loop":{"$ref":"#/$defs/loop"},"deep":{"anyOf":[{"$ref":"#/$defs/deep"}]}},"properties":{"p":)" +
                             std::string(property) + "}}";
  return argument_types(*Json::parse(schema, "schema"), "p");
}

TEST(ValueType, IsReadFromTheSchema) {
  EXPECT_EQ(types(R"({"type":"string"})"), kStringType);
  EXPECT_EQ(types(R"({"type":["integer","null"]})"), kIntegerType | kNullType);
  EXPECT_EQ(types(R"({"anyOf":[{"type":"string"},{"type":"array"}]})"), kStringType | kArrayType);
  EXPECT_EQ(types(R"({"$ref":"#/$defs/a~1b"})"), kStringType | kIntegerType);
  EXPECT_EQ(types(R"({"const":true})"), kBooleanType);
  EXPECT_EQ(types(R"({"allOf":[{"type":["string","null"]},{"type":["null","object"]}]})"),
            kNullType);
  EXPECT_EQ(types(R"({"type":"string","nullable":true})"), kStringType | kNullType);
  for (const std::string_view silent :
       {"{}", "true", R"({"type":"odd"})", R"({"$ref":"#/none"})", R"({"$ref":"#/$defs/loop"})",
        R"({"$ref":"#/$defs/deep"})", R"({"type":5})", "7"}) {
    EXPECT_EQ(types(silent), kAnyType) << silent;
  }
  EXPECT_EQ(argument_types(Json(), "p"), kAnyType);
  EXPECT_EQ(argument_types(*Json::parse(R"({"additionalProperties":{"type":"string"}})", "s"), "p"),
            kStringType);
}

TEST(ValueType, TextBecomesTheJsonOfItsType) {
  EXPECT_EQ(typed_value("12", kStringType), "\"12\"");
  EXPECT_EQ(typed_value(" 12\n", kIntegerType), "12");
  EXPECT_EQ(typed_value("1.5", kIntegerType), "\"1.5\"");
  EXPECT_EQ(typed_value("2.0", kIntegerType), "2.0");
  EXPECT_EQ(typed_value("1.5", kNumberType | kIntegerType), "1.5");
  EXPECT_EQ(typed_value("True", kBooleanType), "true");
  EXPECT_EQ(typed_value("True", kAnyType), "\"True\"");
  EXPECT_EQ(typed_value("None", kNullType | kIntegerType), "null");
  EXPECT_EQ(typed_value("null", kNullType | kStringType), "null");
  EXPECT_EQ(typed_value(" a\"", kNullType | kStringType), "\" a\\\"\"");
  EXPECT_EQ(typed_value("[1, 2", kArrayType), "\"[1, 2\"");
  EXPECT_EQ(typed_value("{\"a\": 1}", kAnyType), "{\"a\": 1}");
  EXPECT_EQ(typed_value("\"a\"", kAnyType), "\"\\\"a\\\"\"");
}

}  // namespace
}  // namespace zllm::text::family
