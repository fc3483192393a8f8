#include <zllm/sampling/parameters.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace zllm::sampling {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Number {
  std::string name;
  double SamplingParameters::*member;
  std::vector<double> good;
  std::vector<double> bad;
};

TEST(Parameters, DefaultsAreInRange) { EXPECT_TRUE(validate({}, 1).ok()); }

TEST(Parameters, EveryNumberHasItsRangeAndName) {
  const Number numbers[] = {
      {"temperature", &SamplingParameters::temperature, {0.0, 1e-300, 2.0, 100.0}, {-1e-9, 100.5}},
      {"top_p", &SamplingParameters::top_p, {1e-300, 0.5, 1.0}, {0.0, -0.1, 1.0001}},
      {"min_p", &SamplingParameters::min_p, {0.0, 1.0}, {-0.1, 1.0001}},
      {"typical_p", &SamplingParameters::typical_p, {1e-9, 1.0}, {0.0, 1.0001}},
      {"repetition_penalty",
       &SamplingParameters::repetition_penalty,
       {1e-9, 1.0, 2.0, 1000.0},
       {0.0, -1.0, 1001.0}},
      {"presence_penalty",
       &SamplingParameters::presence_penalty,
       {-2.0, 2.0, 100.0},
       {-100.5, 100.5}},
      {"frequency_penalty",
       &SamplingParameters::frequency_penalty,
       {-2.0, 2.0, 100.0},
       {-100.5, 100.5}},
  };
  for (const Number& number : numbers) {
    for (const double value : number.good) {
      SamplingParameters parameters;
      parameters.*number.member = value;
      EXPECT_TRUE(validate(parameters, 10).ok()) << number.name << " " << value;
    }
    std::vector<double> bad = number.bad;
    bad.insert(bad.end(), {kNan, kInfinity, -kInfinity});
    for (const double value : bad) {
      SamplingParameters parameters;
      parameters.*number.member = value;
      const Status status = validate(parameters, 10);
      ASSERT_FALSE(status.ok()) << number.name << " " << value;
      EXPECT_EQ(status.error().code, Code::invalid_argument);
      EXPECT_THAT(status.error().message, StartsWith(number.name + " must be "));
    }
  }
}

TEST(Parameters, MessagesTellRangeAndValue) {
  SamplingParameters parameters;
  parameters.repetition_penalty = 0.0;
  EXPECT_EQ(validate(parameters, 10).error().message,
            "repetition_penalty must be above 0 and at most 1000, is 0");
  parameters = {};
  parameters.min_p = 2.0;
  EXPECT_EQ(validate(parameters, 10).error().message, "min_p must be from 0 to 1, is 2");
}

TEST(Parameters, Counts) {
  SamplingParameters parameters;
  parameters.top_k = std::numeric_limits<std::int64_t>::max();
  parameters.penalty_last_n = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(validate(parameters, 10).ok());
  parameters.top_k = -1;
  EXPECT_THAT(validate(parameters, 10).error().message, HasSubstr("top_k"));
  parameters = {};
  parameters.penalty_last_n = -2;
  EXPECT_THAT(validate(parameters, 10).error().message, HasSubstr("penalty_last_n"));
}

TEST(Parameters, LogitBias) {
  SamplingParameters parameters;
  parameters.logit_bias = {{0, 100.0}, {9, -100.0}, {3, -kInfinity}};
  EXPECT_TRUE(validate(parameters, 10).ok());
  EXPECT_THAT(validate(parameters, 9).error().message, HasSubstr("token 9 is outside"));
  for (const double bad : {kNan, kInfinity, 101.0, -101.0}) {
    parameters.logit_bias = {{4, bad}};
    EXPECT_THAT(validate(parameters, 10).error().message, HasSubstr("logit_bias of token 4"));
  }
  parameters.logit_bias = {{-1, 0.0}};
  EXPECT_THAT(validate(parameters, 10).error().message, HasSubstr("token -1"));
  parameters.logit_bias.assign(kLogitBiasEntries + 1, {0, 0.0});
  EXPECT_THAT(validate(parameters, 10).error().message, HasSubstr("at most"));
}

}  // namespace
}  // namespace zllm::sampling
