#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/rope_config.h>

#include "testing/edited_json.h"

namespace zllm::weight {
namespace {

using rope::Scaling;
using testing::bad_integers;
using testing::bad_numbers;
using testing::names;
using testing::parse;
using testing::with;
using testing::without;

constexpr RopeContext kContext{.head = 8, .max_positions = 256};

struct Reading {
  Result<rope::Spec> spec;
  std::vector<std::string> warnings;
};

Reading read(const Json& config) {
  std::vector<std::string> warnings;
  const auto reader = ConfigReader::open(config, "config.json");
  auto spec = rope_from_config(reader.value(), kContext, warnings);
  return {std::move(spec), std::move(warnings)};
}

Result<rope::Spec> read_parameters(const Json& parameters) {
  return read(with(Json(Json::Object{}), "rope_parameters", parameters)).spec;
}

const char *const kLlama3 = R"({"rope_type": "llama3", "rope_theta": 50000, "factor": 4.0,
  "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32})";
const char *const kYarn = R"({"rope_type": "yarn", "factor": 4.0, "beta_fast": 16, "beta_slow": 2,
  "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 0.5,
  "attention_factor": 1.5, "truncate": false})";
const char *const kLongrope = R"({"rope_type": "longrope", "short_factor": [1, 1.1, 1.2, 1.3],
  "long_factor": [1, 2, 3, 4], "original_max_position_embeddings": 64, "factor": 2.0,
  "attention_factor": 1.25})";

TEST(RopeConfig, NothingStatedIsTheDefault) {
  const auto reading = read(Json(Json::Object{}));
  ASSERT_TRUE(reading.spec.ok());
  rope::Spec expected;
  expected.rotated = 8;
  expected.max_positions = 256;
  EXPECT_EQ(reading.spec.value(), expected);
  EXPECT_TRUE(read(parse(R"({"rope_scaling": null, "rope_parameters": {}})")).spec.ok());
}

TEST(RopeConfig, ReadsBothSpellings) {
  const Json current = parse(R"({"rope_parameters":
    {"rope_type": "linear", "factor": 2.0, "rope_theta": 500.0}})");
  const Json former = parse(R"({"rope_theta": 500.0,
    "rope_scaling": {"type": "linear", "factor": 2}})");
  rope::Spec expected;
  expected.rotated = 8;
  expected.theta = 500.0;
  expected.max_positions = 256;
  expected.scaling = Scaling::linear;
  expected.factor = 2.0;
  EXPECT_EQ(read(current).spec.value(), expected);
  EXPECT_EQ(read(former).spec.value(), expected);
}

TEST(RopeConfig, ReadsLlama3) {
  rope::Spec expected;
  expected.rotated = 8;
  expected.theta = 50000.0;
  expected.max_positions = 256;
  expected.scaling = Scaling::llama3;
  expected.factor = 4.0;
  expected.original_positions = 32;
  expected.low_frequency_factor = 1.0;
  expected.high_frequency_factor = 4.0;
  EXPECT_EQ(read_parameters(parse(kLlama3)).value(), expected);
}

TEST(RopeConfig, ReadsYarn) {
  rope::Spec expected;
  expected.rotated = 8;
  expected.max_positions = 256;
  expected.scaling = Scaling::yarn;
  expected.factor = 4.0;
  expected.original_positions = 64;
  expected.beta_fast = 16;
  expected.beta_slow = 2;
  expected.truncate = false;
  expected.mscale = 1.0;
  expected.mscale_all_dim = 0.5;
  expected.attention_factor = 1.5;
  EXPECT_EQ(read_parameters(parse(kYarn)).value(), expected);
  const Json plain = parse(R"({"type": "yarn", "factor": 2, "mscale": 1, "mscale_all_dim": 0})");
  const auto spec = read_parameters(plain);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->original_positions, 256U);
  EXPECT_EQ(spec->beta_fast, 32.0);
  EXPECT_FALSE(spec->mscale.has_value());
  EXPECT_TRUE(spec->truncate);
}

TEST(RopeConfig, ReadsLongrope) {
  rope::Spec expected;
  expected.rotated = 8;
  expected.max_positions = 256;
  expected.scaling = Scaling::longrope;
  expected.factor = 2.0;
  expected.original_positions = 64;
  expected.attention_factor = 1.25;
  expected.short_factors = {1, 1.1, 1.2, 1.3};
  expected.long_factors = {1, 2, 3, 4};
  EXPECT_EQ(read_parameters(parse(kLongrope)).value(), expected);
  const auto derived = read_parameters(without(parse(kLongrope), "factor"));
  EXPECT_EQ(derived.value().factor, 4.0);
}

TEST(RopeConfig, OriginalContextMayStandOutside) {
  const Json outside = with(parse(R"({"original_max_position_embeddings": 32})"), "rope_scaling",
                            without(parse(kLlama3), "original_max_position_embeddings"));
  EXPECT_EQ(read(outside).spec.value().original_positions, 32U);
  const Json both =
      with(parse(R"({"original_max_position_embeddings": 33})"), "rope_scaling", kLlama3);
  EXPECT_TRUE(names(read(both).spec, {"original_max_position_embeddings", "32", "33"}));
}

TEST(RopeConfig, RefusesMissingKeys) {
  for (const char *key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    EXPECT_TRUE(names(read_parameters(without(parse(kLlama3), key)),
                      {"config.json: rope_parameters.", key, "is missing"}));
  }
  for (const char *key : {"short_factor", "long_factor"}) {
    EXPECT_TRUE(names(read_parameters(without(parse(kLongrope), key)), {key, "is missing"}));
  }
  for (const char *type : {"linear", "dynamic", "yarn"}) {
    const Json bare = with(Json(Json::Object{}), "rope_type", Json(std::string(type)));
    EXPECT_TRUE(names(read_parameters(bare), {"factor", "is missing"})) << type;
  }
}

TEST(RopeConfig, RefusesBadNumbersByName) {
  const auto refuse = [](const char *parameters, const char *key) {
    for (const Json& value : bad_numbers()) {
      EXPECT_TRUE(names(read_parameters(with(parse(parameters), key, value)), {key}))
          << key << " = " << value.dump();
    }
  };
  for (const char *key : {"factor", "low_freq_factor", "high_freq_factor", "rope_theta"}) {
    refuse(kLlama3, key);
  }
  refuse(kYarn, "factor");
  refuse(kYarn, "attention_factor");
  refuse(kLongrope, "factor");
  refuse(kLongrope, "attention_factor");
  for (const char *key : {"beta_fast", "beta_slow", "mscale", "mscale_all_dim"}) {
    for (const char *value : {"-1", "1e300", "\"1\"", "[]"}) {
      EXPECT_TRUE(names(read_parameters(with(parse(kYarn), key, value)), {key})) << key << value;
    }
  }
  for (const Json& value : bad_integers()) {
    EXPECT_TRUE(
        names(read_parameters(with(parse(kYarn), "original_max_position_embeddings", value)),
              {"original_max_position_embeddings"}));
  }
}

TEST(RopeConfig, RefusesBadFactorLists) {
  for (const char *key : {"short_factor", "long_factor"}) {
    for (const char *value : {"[1, 2, 3]", "[1, 2, 3, 4, 5]", "[1, 2, 3, 0]", "[1, 2, 3, -4]",
                              "[1, 2, 3, 1e300]", "[1, 2, 3, \"4\"]", "4", "{}"}) {
      EXPECT_TRUE(names(read_parameters(with(parse(kLongrope), key, value)), {key}))
          << key << value;
    }
  }
}

TEST(RopeConfig, RefusesUnknownTypesByName) {
  const auto unknown = read_parameters(parse(R"({"rope_type": "su", "factor": 2})"));
  EXPECT_TRUE(names(unknown, {"rope_type", "'su'", "longrope"}));
  EXPECT_EQ(unknown.error().code, Code::unsupported);
  const Json per_layer = parse(R"({"full_attention": {"rope_theta": 1e4}})");
  EXPECT_TRUE(names(read_parameters(per_layer), {"full_attention"}));
}

TEST(RopeConfig, RefusesContradictions) {
  EXPECT_TRUE(names(read_parameters(parse(R"({"rope_type": "yarn", "type": "linear"})")),
                    {"rope_type", "'yarn'", "'linear'"}));
  const Json thetas = parse(R"({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e5}})");
  EXPECT_TRUE(names(read(thetas).spec, {"rope_theta", "contradicts"}));
  const Json both = parse(R"({"rope_scaling": {"type": "linear", "factor": 2},
    "rope_parameters": {"rope_type": "linear", "factor": 4}})");
  EXPECT_TRUE(names(read(both).spec, {"rope_parameters", "rope_scaling"}));
  EXPECT_TRUE(names(read_parameters(with(parse(kLlama3), "high_freq_factor", "1.0")),
                    {"high_freq_factor", "above"}));
  EXPECT_TRUE(names(read_parameters(with(parse(kYarn), "beta_fast", "1")), {"beta_fast"}));
}

TEST(RopeConfig, PartialRotationShortensTheRotatedWidth) {
  EXPECT_EQ(read(parse(R"({"partial_rotary_factor": 0.5})")).spec.value().rotated, 4U);
  EXPECT_TRUE(names(read(parse(R"({"partial_rotary_factor": 0.4})")).spec, {"rope", "3 lanes"}));
  EXPECT_TRUE(names(read(parse(R"({"partial_rotary_factor": 2})")).spec, {"partial_rotary"}));
  EXPECT_TRUE(names(read(parse(R"({"partial_rotary_factor": 0.25, "rope_scaling":
    {"type": "dynamic", "factor": 2}})"))
                        .spec,
                    {"rope", "dynamic"}));
}

TEST(RopeConfig, WarnsOfKeysThatTheTypeDoesNotUse) {
  const Json config =
      with(Json(Json::Object{}), "rope_parameters", with(parse(kLlama3), "beta_fast", "32"));
  const auto reading = read(config);
  ASSERT_TRUE(reading.spec.ok());
  ASSERT_EQ(reading.warnings.size(), 1U);
  EXPECT_NE(reading.warnings[0].find("beta_fast"), std::string::npos);
}

}  // namespace
}  // namespace zllm::weight
