#include <zllm/weight/container/gguf_metadata.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace zllm::weight {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

GgufMetadata sample() {
  GgufMetadata metadata;
  const auto add = [&metadata](std::string_view key, GgufValue value) {
    ASSERT_TRUE(metadata.add(key, std::move(value)).ok());
  };
  add("natural", std::uint64_t{7});
  add("negative", std::int64_t{-7});
  add("positive", std::int64_t{7});
  add("huge", kMax);
  add("float", 0.5);
  add("nan", std::numeric_limits<double>::quiet_NaN());
  add("infinite", -std::numeric_limits<double>::infinity());
  add("bool", true);
  add("text", std::string_view("seven"));
  add("naturals", GgufArray{std::vector<std::uint64_t>{1, 2}});
  add("integers", GgufArray{std::vector<std::int64_t>{-1, 2}});
  add("floats", GgufArray{std::vector<double>{0.25}});
  add("bad floats", GgufArray{std::vector<double>{1, std::numeric_limits<double>::infinity()}});
  add("bools", GgufArray{std::vector<bool>{true, false}});
  add("texts", GgufArray{std::vector<std::string_view>{"a"}});
  add("huge naturals", GgufArray{std::vector<std::uint64_t>{1, kMax}});
  return metadata;
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result.ok() ? "no error" : result.error().message;
}

TEST(GgufMetadata, AbsentKeysAreNothing) {
  const GgufMetadata metadata = sample();
  EXPECT_FALSE(*metadata.unsigned_integer("x"));
  EXPECT_FALSE(*metadata.number("x"));
  EXPECT_FALSE(*metadata.boolean("x"));
  EXPECT_FALSE(*metadata.string("x"));
  EXPECT_FALSE(*metadata.strings("x"));
  EXPECT_FALSE(*metadata.integers("x"));
  EXPECT_FALSE(*metadata.numbers("x"));
  EXPECT_FALSE(*metadata.booleans("x"));
  EXPECT_EQ(metadata.find("x"), nullptr);
  EXPECT_EQ(metadata.find(""), nullptr);
}

TEST(GgufMetadata, RefusesDuplicateAndEmptyKeys) {
  GgufMetadata metadata = sample();
  EXPECT_THAT(metadata.add("bool", false).error().message, HasSubstr("'bool' is there twice"));
  EXPECT_FALSE(metadata.add("", false).ok());
  EXPECT_EQ(metadata.items().size(), sample().items().size());
}

TEST(GgufMetadata, ScalarsFitOrAreRefusedByName) {
  const GgufMetadata metadata = sample();
  EXPECT_EQ(**metadata.unsigned_integer("natural"), 7u);
  EXPECT_EQ(**metadata.unsigned_integer("positive"), 7u);
  EXPECT_EQ(**metadata.unsigned_integer("huge"), kMax);
  EXPECT_THAT(error_of(metadata.unsigned_integer("negative")), HasSubstr("'negative' is negative"));
  EXPECT_THAT(error_of(metadata.unsigned_integer("float")), HasSubstr("'float' is a float"));
  EXPECT_THAT(error_of(metadata.unsigned_integer("bool")), HasSubstr("'bool' is a bool"));
  EXPECT_THAT(error_of(metadata.unsigned_integer("naturals")),
              HasSubstr("'naturals' is an array of unsigned integers, not an integer"));
  EXPECT_THAT(error_of(metadata.number("natural")), HasSubstr("unsigned integer, not a float"));
  EXPECT_THAT(error_of(metadata.number("negative")), HasSubstr("signed integer, not a float"));
  EXPECT_EQ(**metadata.number("float"), 0.5);
  EXPECT_THAT(error_of(metadata.number("nan")), HasSubstr("'nan' is not finite"));
  EXPECT_THAT(error_of(metadata.number("infinite")), HasSubstr("'infinite' is not finite"));
  EXPECT_THAT(error_of(metadata.number("text")), HasSubstr("'text' is a string, not a float"));
  EXPECT_TRUE(**metadata.boolean("bool"));
  EXPECT_THAT(error_of(metadata.boolean("natural")), HasSubstr("'natural' is an unsigned"));
  EXPECT_EQ(**metadata.string("text"), "seven");
  EXPECT_THAT(error_of(metadata.string("bool")), HasSubstr("'bool' is a bool, not a string"));
}

TEST(GgufMetadata, ArraysFitOrAreRefusedByName) {
  const GgufMetadata metadata = sample();
  EXPECT_THAT(**metadata.integers("naturals"), ElementsAre(1, 2));
  EXPECT_THAT(**metadata.integers("integers"), ElementsAre(-1, 2));
  EXPECT_THAT(error_of(metadata.integers("huge naturals")), HasSubstr("too large an item 1"));
  EXPECT_THAT(error_of(metadata.integers("floats")), HasSubstr("'floats' is an array of floats"));
  EXPECT_THAT(error_of(metadata.integers("natural")), HasSubstr("not an array of integers"));
  EXPECT_THAT(**metadata.numbers("naturals"), ElementsAre(1.0, 2.0));
  EXPECT_THAT(**metadata.numbers("integers"), ElementsAre(-1.0, 2.0));
  EXPECT_THAT(**metadata.numbers("floats"), ElementsAre(0.25));
  EXPECT_THAT(error_of(metadata.numbers("bad floats")), HasSubstr("item 1"));
  EXPECT_THAT(error_of(metadata.numbers("texts")), HasSubstr("'texts' is an array of strings"));
  EXPECT_THAT(error_of(metadata.numbers("float")), HasSubstr("not an array of numbers"));
  EXPECT_THAT(**metadata.booleans("bools"), ElementsAre(true, false));
  EXPECT_THAT(error_of(metadata.booleans("texts")), HasSubstr("not an array of bools"));
  EXPECT_THAT(**metadata.strings("texts"), ElementsAre("a"));
  EXPECT_THAT(error_of(metadata.strings("text")), HasSubstr("'text' is a string, not an array"));
  EXPECT_EQ(std::get_if<GgufArray>(metadata.find("integers"))->size(), 2u);
}

}  // namespace
}  // namespace zllm::weight
