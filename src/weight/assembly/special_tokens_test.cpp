#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/special_tokens.h>

#include "testing/edited_json.h"
#include "testing/small_model.h"

namespace zllm::weight {
namespace {

using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::parse;

using Ids = std::vector<TokenId>;
constexpr std::uint64_t kVocabulary = 320;

struct Reading {
  Result<SpecialTokens> tokens;
  std::vector<std::string> warnings;
};

Reading read(std::string_view config, std::string_view generation = "") {
  std::vector<std::string> warnings;
  const Json model = parse(config);
  const Json other = generation.empty() ? Json() : parse(generation);
  auto tokens = special_tokens_from_config(model, generation.empty() ? nullptr : &other,
                                           kVocabulary, warnings);
  return {std::move(tokens), std::move(warnings)};
}

Reading read(const MetadataList& list) {
  std::vector<std::string> warnings;
  auto tokens = special_tokens_from_metadata(list.metadata(), kVocabulary, warnings);
  return {std::move(tokens), std::move(warnings)};
}

TEST(SpecialTokens, GenerationConfigWins) {
  const char *config = R"({"bos_token_id": 1, "eos_token_id": 2})";
  EXPECT_EQ(read(config).tokens->end, Ids{2});
  EXPECT_EQ(read(config).tokens->begin, 1);
  const auto both = read(config, R"({"bos_token_id": 7, "eos_token_id": [5, 9, 5]})");
  EXPECT_EQ(both.tokens->end, (Ids{5, 9}));
  EXPECT_EQ(both.tokens->begin, 7);
  const auto silent = read(config, R"({"eos_token_id": null, "max_length": 20})");
  EXPECT_EQ(silent.tokens->end, Ids{2});
}

TEST(SpecialTokens, NoneIsFine) {
  const auto reading = read("{}");
  EXPECT_TRUE(reading.tokens->end.empty());
  EXPECT_FALSE(reading.tokens->begin.has_value());
}

TEST(SpecialTokens, RefusesIdsBeyondTheVocabulary) {
  for (const char *key : {"bos_token_id", "eos_token_id"}) {
    for (const char *id : {"320", "-1", "4294967298", "18446744073709551615", "1.5", "\"2\"",
                           "true", "{}", "1e300"}) {
      const std::string text = std::string("{\"") + key + "\": " + id + "}";
      EXPECT_TRUE(names(read(text).tokens, {"config.json: ", key, "320"})) << text;
      EXPECT_TRUE(names(read("{}", text).tokens, {"generation_config.json: ", key})) << text;
    }
  }
  EXPECT_TRUE(names(read(R"({"eos_token_id": [2, 320]})").tokens, {"eos_token_id", "found 320"}));
  EXPECT_TRUE(names(read(R"({"bos_token_id": [1]})").tokens, {"bos_token_id", "array"}));
  EXPECT_TRUE(names(read("{}", "[]").tokens, {"generation_config.json"}));
}

TEST(SpecialTokens, OtherIdsOnlyWarn) {
  const auto reading = read(R"({"pad_token_id": 320, "sep_token_id": -1, "cls_token_id": 3})");
  EXPECT_TRUE(reading.tokens.ok());
  ASSERT_EQ(reading.warnings.size(), 2U);
  EXPECT_NE(reading.warnings[0].find("pad_token_id"), std::string::npos);
}

TEST(SpecialTokens, ReadsMetadata) {
  MetadataList list;
  list.set("tokenizer.ggml.bos_token_id", number_of(1));
  list.set("tokenizer.ggml.eos_token_id", number_of(2));
  list.set("tokenizer.ggml.eot_token_id", std::int64_t{5});
  list.set("tokenizer.ggml.eom_token_id", number_of(2));
  list.set("tokenizer.ggml.padding_token_id", number_of(0xFFFFFFFF));
  const auto reading = read(list);
  EXPECT_EQ(reading.tokens->end, (Ids{2, 5}));
  EXPECT_EQ(reading.tokens->begin, 1);
  ASSERT_EQ(reading.warnings.size(), 1U);
  EXPECT_NE(reading.warnings[0].find("padding_token_id"), std::string::npos);
}

TEST(SpecialTokens, RefusesMetadataIdsBeyondTheVocabulary) {
  for (const char *key : {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"}) {
    for (const GgufValue& value :
         {number_of(320), number_of(0xFFFFFFFF), GgufValue(std::int64_t{-1}), GgufValue(2.0),
          GgufValue(std::numeric_limits<double>::quiet_NaN()), GgufValue(std::string_view("2")),
          GgufValue(true)}) {
      EXPECT_TRUE(names(read(MetadataList().set(key, value)).tokens, {key}));
    }
  }
}

}  // namespace
}  // namespace zllm::weight
