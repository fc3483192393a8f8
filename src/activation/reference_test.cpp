#include <zllm/activation/reference.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace zllm::activation {
namespace {

// Expected values: 40-digit arithmetic.
TEST(Activation, Silu) {
  EXPECT_DOUBLE_EQ(silu(-3.0), -0.14227761953270034);
  EXPECT_DOUBLE_EQ(silu(-0.5), -0.18877033439907272);
  EXPECT_EQ(silu(0.0), 0.0);
  EXPECT_DOUBLE_EQ(silu(1.0), 0.73105857863000488);
  EXPECT_DOUBLE_EQ(silu(6.0), 5.9851642610601914);
  EXPECT_EQ(silu(-1e4), 0.0);
  EXPECT_EQ(silu(1e4), 1e4);
}

TEST(Activation, GeluTanh) {
  EXPECT_NEAR(gelu_tanh(-3.0), -0.0036373920817730188, 1e-15);
  EXPECT_DOUBLE_EQ(gelu_tanh(-0.5), -0.15428599017485608);
  EXPECT_EQ(gelu_tanh(0.0), 0.0);
  EXPECT_DOUBLE_EQ(gelu_tanh(1.0), 0.8411919906082767);
  EXPECT_DOUBLE_EQ(gelu_tanh(6.0), 5.9999999999156035);
}

TEST(Activation, ClampedSwigluBoundsTheGateFromAboveAlone) {
  EXPECT_DOUBLE_EQ(clamped_swiglu(11.0, -300.0, 10.0), -99.995460213129757);
  EXPECT_DOUBLE_EQ(clamped_swiglu(-12.0, 300.0, 10.0), -0.00073730095226576614);
  EXPECT_DOUBLE_EQ(clamped_swiglu(2.0, 3.0, 10.0), swiglu(2.0, 3.0));
}

TEST(Activation, SwigluOaiAddsOneToTheClampedUp) {
  EXPECT_DOUBLE_EQ(swiglu_oai(50.0, 50.0, 7.0, 1.702), 55.999625026426538);
  EXPECT_DOUBLE_EQ(swiglu_oai(2.0, -0.5, 7.0, 1.702), 0.9678293115721041);
  EXPECT_NEAR(swiglu_oai(-20.0, -100.0, 7.0, 1.702), 1.976046144839623e-13, 1e-27);
}

TEST(Activation, Situ) {
  EXPECT_DOUBLE_EQ(situ(1.0, 2.0, 4.0, 25.0), 1.4293511315552199);
  EXPECT_DOUBLE_EQ(situ(-3.0, 50.0, 4.0, 25.0), -2.9038914673510738);
  EXPECT_DOUBLE_EQ(situ(1.0, 2.0, 4.0, 0.0), 1.4323991137345409);
}

TEST(Activation, NanIsNeverClampedAway) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(clamped_swiglu(nan, 1.0, 10.0)));
  EXPECT_TRUE(std::isnan(clamped_swiglu(1.0, nan, 10.0)));
  EXPECT_TRUE(std::isnan(swiglu_oai(nan, 1.0, 7.0, 1.702)));
  EXPECT_TRUE(std::isnan(swiglu_oai(1.0, nan, 7.0, 1.702)));
  EXPECT_TRUE(std::isnan(situ(nan, 1.0, 4.0, 25.0)));
}

TEST(Activation, ApplyFollowsItsSpecAlsoInPlace) {
  const std::vector<float> gate{-9.0f, -1.0f, 0.0f, 2.5f, 30.0f};
  const std::vector<float> up{4.0f, -60.0f, 1.0f, 0.25f, 11.0f};
  const Spec specs[] = {{.gate = Gate::swiglu},
                        {.gate = Gate::clamped_swiglu, .limit = 10.0},
                        {.gate = Gate::swiglu_oai, .limit = 7.0},
                        {.gate = Gate::geglu_tanh},
                        {.gate = Gate::situ, .linear_beta = 25.0}};
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = static_cast<double>(gate[i]);
    const double u = static_cast<double>(up[i]);
    const double expected[] = {swiglu(g, u), clamped_swiglu(g, u, 10.0),
                               swiglu_oai(g, u, 7.0, 1.702), geglu_tanh(g, u),
                               situ(g, u, 4.0, 25.0)};
    for (std::size_t kind = 0; kind < 5; ++kind) {
      std::vector<float> output = gate;
      apply(specs[kind], output, up, output);
      EXPECT_EQ(output[i], static_cast<float>(expected[kind])) << kind << " " << i;
    }
  }
}

TEST(Activation, UnaryFormsMapEveryElement) {
  const std::vector<float> input{-2.0f, 0.5f, 3.0f};
  std::vector<float> output(3);
  silu(input, output);
  EXPECT_EQ(output[2], static_cast<float>(silu(3.0)));
  gelu_tanh(input, output);
  EXPECT_EQ(output[0], static_cast<float>(gelu_tanh(-2.0)));
}

}  // namespace
}  // namespace zllm::activation
