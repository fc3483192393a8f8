#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include <zllm/base/checked.h>
#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>

namespace zllm {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) {
    return Error{Code::invalid_argument, "odd"};
  }
  return value / 2;
}

Result<int> quarter(int value) {
  ZLLM_TRY(const int once, half(value));
  ZLLM_TRY(const int twice, half(once));
  return twice;
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(*quarter(8), 2);
  ASSERT_FALSE(quarter(6).ok());
  EXPECT_EQ(quarter(6).error().message, "odd");
  EXPECT_EQ(quarter(6).error().code, Code::invalid_argument);
}

TEST(Result, WithinPutsThePlaceInFront) {
  EXPECT_EQ((Error{Code::io, "gone"}.within("a.gguf").message), "a.gguf: gone");
}

TEST(Checked, FindsEveryOverflow) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(checked_add<std::uint64_t>(kMax - 1, 1), kMax);
  EXPECT_FALSE(checked_add<std::uint64_t>(kMax, 1));
  EXPECT_FALSE(checked_multiply<std::uint64_t>((1ull << 42) + 1, 1ull << 22));
  EXPECT_FALSE((checked_cast<std::int32_t>(std::uint64_t{1} << 31)));
  EXPECT_FALSE((checked_cast<std::uint64_t>(std::int64_t{-1})));
  EXPECT_EQ((checked_cast<std::uint8_t>(255)), 255);
}

TEST(Json, RefusesTheEmptyText) {
  EXPECT_EQ(Json::parse({}, "config.json").error().message,
            "config.json: not valid JSON: the text is empty");
}

TEST(Json, KeepsOrderAndTypes) {
  auto json = Json::parse(R"({"b":[1,-2,3.5,18446744073709551615],"a":null,"c":"\u00e9\n"})", "t");
  ASSERT_TRUE(json.ok()) << json.error().message;
  EXPECT_EQ((*json->as_object())[0].first, "b");
  std::uint64_t natural = 0;
  EXPECT_TRUE((*json->find("b")->as_array())[3].as_unsigned(natural));
  EXPECT_EQ(natural, std::numeric_limits<std::uint64_t>::max());
  std::int64_t integer = 0;
  EXPECT_FALSE((*json->find("b")->as_array())[3].as_integer(integer));
  EXPECT_FALSE((*json->find("b")->as_array())[2].as_integer(integer));
  EXPECT_EQ(*json->find("c")->as_string(), "\xc3\xa9\n");
  auto again = Json::parse(json->dump(), "t");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->dump(), json->dump());
}

TEST(Json, IntegersBeyond64BitsAreFloats) {
  const auto json = Json::parse(
      R"({"a":1000000000000000019884624838656,"b":[18446744073709551616,-9223372036854775809],)"
      R"("c":"\"18446744073709551616","d":18446744073709551615,"e":1e2})",
      "t");
  ASSERT_TRUE(json.ok()) << json.error().message;
  double number = 0;
  EXPECT_TRUE(json->find("a")->as_number(number));
  EXPECT_EQ(number, 1e30);
  std::uint64_t natural = 0;
  EXPECT_FALSE((*json->find("b")->as_array())[0].as_unsigned(natural));
  EXPECT_TRUE((*json->find("b")->as_array())[1].as_number(number));
  EXPECT_EQ(number, -0x1p63);
  EXPECT_EQ(*json->find("c")->as_string(), "\"18446744073709551616");
  EXPECT_TRUE(json->find("d")->as_unsigned(natural));
  for (const char *text :
       {"-", "1e999", "018446744073709551616", "[\"18446744073709551616", "\"\\"}) {
    EXPECT_FALSE(Json::parse(text, "t").ok()) << text;
  }
}

TEST(Json, RefusesWhatIsNotOneDocument) {
  for (const char *text : {"", "{", "[1,]", "{} {}", "nan", "{\"a\":1,\"a\":2}", "\"\xff\""}) {
    EXPECT_FALSE(Json::parse(text, "t").ok()) << text;
  }
  EXPECT_FALSE(Json::parse(std::string(100000, '['), "t").ok());
}

TEST(Json, StringsAreAlwaysValidUtf8) {
  std::string out;
  append_json_string(out, "a\"\\\n\x01\xff\xe2\x82");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Utf8, KnowsWellFormedSequences) {
  EXPECT_EQ(utf8_sequence_length("\xf0\x9f\x98\x80"), 4u);
  EXPECT_EQ(utf8_sequence_length("\xc0\x80"), 0u);
  EXPECT_EQ(utf8_sequence_length("\xed\xa0\x80"), 0u);
  EXPECT_EQ(utf8_sequence_length("\xf4\x90\x80\x80"), 0u);
  EXPECT_EQ(utf8_incomplete_suffix("ab\xf0\x9f\x98"), 3u);
  EXPECT_EQ(utf8_incomplete_suffix("ab\xe2\x82"), 2u);
  EXPECT_EQ(utf8_incomplete_suffix("ab\xe2\x82\xac"), 0u);
  EXPECT_EQ(utf8_incomplete_suffix("ab\xff"), 0u);
}

TEST(Text, QuotesWhateverTheBytesAre) {
  EXPECT_EQ(quote("a\n'\xff"), "'a\\x0a\\x27\\xff'");
  EXPECT_LT(quote(std::string(1000, 'x')).size(), 200u);
  EXPECT_EQ(concat("n=", 3, " ", true, " ", 0.5), "n=3 true 0.5");
}

TEST(Text, FindsTheNearestWord) {
  const std::string_view words[] = {"temperature", "top_k", "top_p"};
  EXPECT_EQ(nearest("temprature", words), "temperature");
  EXPECT_EQ(nearest("zzzzzzzz", words), "");
}

}  // namespace
}  // namespace zllm
