#include <zllm/attention/delta_rule/reference.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <zllm/attention/delta_rule/short_convolution.h>

namespace zllm::attention::delta_rule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kOff = -1000.0f;  // its sigmoid is 0, also in f64

// No convolution, rate 1, so that a decay input of 0 halves (softplus(0) = ln 2) and one of ln 3
// quarters. Inputs of 30 and more are their own silu, and a key of them has length 1.
Spec plain(std::uint32_t key_width, std::uint32_t value_width) {
  return {.key_heads = 1,
          .value_heads = 1,
          .key_width = key_width,
          .value_width = value_width,
          .taps = 1};
}

struct Rows {
  std::vector<float> mixed;
  std::vector<float> decay;
  std::vector<float> beta;
  std::vector<float> rates{0.0f};

  std::vector<float> operator()(const Spec& spec, State& state) const {
    const std::vector<float> taps(channels(spec) * spec.taps, 1.0f);
    const std::vector<float> bias(decays(spec), 0.0f);
    std::vector<float> output(beta.size() * spec.value_width, kNan);
    const Status status = recurrent(spec, {taps, rates, bias}, {mixed, decay, beta}, state, output);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return output;
  }
};

TEST(DeltaRule, TheStateDecaysBeforeItIsRead) {
  const Spec spec = plain(1, 1);
  State state = initial_state(spec);
  // 20 = 40/2, then 10 + (60 - 10)/2; read before the decay it were 10 + (60 - 20)/2
  const auto y = Rows{{50, 50, 40, 50, 50, 60}, {0, 0}, {0, 0}}(spec, state);
  EXPECT_FLOAT_EQ(y[0], 20.0f);
  EXPECT_FLOAT_EQ(y[1], 35.0f);
  EXPECT_FLOAT_EQ(state.matrices[0], 35.0f);
}

TEST(DeltaRule, EveryKeyChannelHasItsDecay) {
  const Spec spec = plain(2, 1);
  State state = initial_state(spec);
  const float ln3 = std::log(3.0f);
  // the query [1, 1] has length 1 and the scale 2^-0.5: it reads half of each channel
  const auto y = Rows{{50, 50, 50, 0, 40,   // M = [20, 0]
                       50, 50, 0, 50, 80,   // [10, 0] -> [10, 40]
                       50, 50, 50, 50, 0},  // [5, 10], read 15/sqrt 2 -> [5 - 3.75, 10 - 3.75]
                      {0, ln3, 0, ln3, 0, ln3},
                      {0, 0, 0}}(spec, state);
  EXPECT_FLOAT_EQ(y[0], 10.0f);
  EXPECT_FLOAT_EQ(y[1], 25.0f);
  EXPECT_FLOAT_EQ(y[2], 3.75f);
  EXPECT_FLOAT_EQ(state.matrices[0], 1.25f);
  EXPECT_FLOAT_EQ(state.matrices[1], 6.25f);
}

TEST(DeltaRule, OneDecayOfTheHeadServesEveryChannel) {
  Spec spec = plain(2, 1);
  spec.decay_width = DecayWidth::head;
  State state = initial_state(spec);
  state.matrices = {8.0f, 16.0f};
  Rows{{50, 50, 50, 50, 0}, {std::log(3.0f)}, {kOff}}(spec, state);
  EXPECT_FLOAT_EQ(state.matrices[0], 2.0f);
  EXPECT_FLOAT_EQ(state.matrices[1], 4.0f);
}

TEST(DeltaRule, BetaOfZeroLeavesTheStateDecayedAlone) {
  const Spec spec = plain(2, 2);
  State state = initial_state(spec);
  state.matrices = {8.0f, -3.0f, 16.0f, 5.0f};
  const auto y = Rows{{50, 50, 50, 7, 30, 90}, {0, kOff}, {kOff}}(spec, state);
  EXPECT_THAT(state.matrices, ElementsAre(4.0f, -1.5f, 16.0f, 5.0f));
  EXPECT_FLOAT_EQ(y[0], 10.0f);
  EXPECT_FLOAT_EQ(y[1], 1.75f);
}

TEST(DeltaRule, NormOfAKeyOfZerosIsHeldByItsEpsilon) {
  const Spec spec = plain(1, 1);
  State state = initial_state(spec);
  EXPECT_EQ(Rows({{0, 0, 40}, {0}, {0}})(spec, state)[0], 0.0f);
  EXPECT_EQ(state.matrices[0], 0.0f);
  // silu(0.002) = 0.001001: a key of 0.001001 / sqrt(0.001001^2 + 1e-6)
  State small = initial_state(spec);
  Rows({{50, 0.002f, 40}, {0}, {0}})(spec, small);
  EXPECT_NEAR(small.matrices[0], 20.0 * 0.001001 / std::sqrt(0.001001 * 0.001001 + 1e-6), 1e-5);
}

TEST(DeltaRule, NoRowsChangeNothing) {
  Spec spec = plain(2, 1);
  spec.taps = 3;
  State state = initial_state(spec);
  state.tail[3] = 2.0f;
  state.matrices[1] = 7.0f;
  const State before = state;
  EXPECT_TRUE(Rows{}(spec, state).empty());
  EXPECT_EQ(state, before);
}

TEST(DecayFactor, SoftplusOfLargeInputsDoesNotOverflow) {
  const Spec spec = plain(1, 1);
  EXPECT_DOUBLE_EQ(decay_factor(spec, 0.0, 0.0, 0.0), 0.5);
  EXPECT_DOUBLE_EQ(decay_factor(spec, 1.0, std::log(2.0), -1.0), 0.25);
  EXPECT_DOUBLE_EQ(decay_factor(spec, 100.0, 0.0, 0.0), std::exp(-100.0));
  EXPECT_EQ(decay_factor(spec, 1e30, 0.0, 0.0), 0.0);
  EXPECT_EQ(decay_factor(spec, 3e38, 700.0, 0.0), 0.0);
  EXPECT_EQ(decay_factor(spec, -1e30, 700.0, 0.0), 1.0);
  // log1p keeps what 1 + exp(-40) loses
  EXPECT_NEAR(decay_factor(spec, -40.0, std::log(1e17), 0.0), std::exp(-1e17 * std::exp(-40.0)),
              1e-13);
}

TEST(DecayFactor, TheBoundMultipliesAndClampsNothing) {
  Spec spec = plain(1, 1);
  spec.decay_gate = DecayGate::bounded;
  spec.lower_bound = -5.0f;
  EXPECT_DOUBLE_EQ(decay_factor(spec, 0.0, 0.0, 0.0), std::exp(-2.5));
  EXPECT_DOUBLE_EQ(decay_factor(spec, std::log(3.0), 0.0, 0.0), std::exp(-3.75));
  EXPECT_DOUBLE_EQ(decay_factor(spec, 1.0, std::log(2.0), std::log(3.0) / 2.0 - 1.0),
                   std::exp(-3.75));
  EXPECT_DOUBLE_EQ(decay_factor(spec, 1e30, 0.0, 0.0), std::exp(-5.0));
  EXPECT_EQ(decay_factor(spec, -1e30, 0.0, 0.0), 1.0);
  spec.lower_bound = -1.0f;  // -softplus(0) lies above it, so a clamp would not act
  EXPECT_DOUBLE_EQ(decay_factor(spec, 0.0, 0.0, 0.0), std::exp(-0.5));
}

TEST(DecayFactor, RatesAsLogarithmsAndNegatedAgree) {
  for (const DecayGate gate : {DecayGate::softplus, DecayGate::bounded}) {
    Spec logarithms = plain(1, 1);
    logarithms.decay_gate = gate;
    logarithms.lower_bound = -5.0f;
    Spec negated = logarithms;
    negated.rates_are_logarithms = false;
    for (const double rate : {0.01, 1.0, 2.5, 16.0}) {
      const double expected = decay_factor(logarithms, 0.3, std::log(rate), -0.2);
      EXPECT_NEAR(decay_factor(negated, 0.3, -rate, -0.2), expected, 1e-15);
    }
    State one = initial_state(logarithms);
    State other = one;
    Rows run{{50, 3, 40, 2, 50, 60}, {0.4f, -1.2f}, {1, 2}};
    const auto y = run(logarithms, one);
    run.rates = {-1.0f};
    EXPECT_EQ(run(negated, other), y);
    EXPECT_EQ(one, other);
  }
}

double silu(double x) { return x / (1.0 + std::exp(-x)); }

TEST(ShortConvolution, TheLastTapIsTheRowItself) {
  Spec spec = plain(1, 1);
  spec.taps = 4;
  std::vector<float> tail(tail_elements(spec), 0.0f);
  const std::vector<float> taps{1, 2, 3, 4, 5, 6, 7, 8, -1, 1, -1, 1};
  // fewer rows than taps - 1, twice
  const auto first = convolve(spec, taps, std::vector<float>{1, 10, 0.5f, 2, 20, 0.25f}, tail);
  EXPECT_THAT(first, ElementsAre(silu(4), silu(80), silu(0.5), silu(11), silu(230), silu(-0.25)));
  EXPECT_THAT(tail, ElementsAre(0, 0, 0, 1, 10, 0.5f, 2, 20, 0.25f));
  const auto second = convolve(spec, taps, std::vector<float>{3, 30, 4}, tail);
  EXPECT_THAT(second, ElementsAre(silu(20), silu(440), silu(4.25)));
  EXPECT_THAT(tail, ElementsAre(1, 10, 0.5f, 2, 20, 0.25f, 3, 30, 4));
  // more rows than taps
  std::vector<float> rows(15, 1.0f);
  rows[14] = 2.0f;
  convolve(spec, taps, rows, tail);
  EXPECT_THAT(tail, ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 2));
}

TEST(ShortConvolution, OneTapKeepsNoTail) {
  const Spec spec = plain(1, 1);
  std::vector<float> tail;
  const auto y = convolve(spec, std::vector<float>{2, 3, -1}, std::vector<float>{1, 1, 1}, tail);
  EXPECT_THAT(y, ElementsAre(silu(2), silu(3), silu(-1)));
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(convolve(spec, std::vector<float>{1, 1, 1}, std::vector<float>{-1e4f, 0, 1e4f}, tail),
            (std::vector<double>{0.0, 0.0, 1e4}));
}

// A layer whose operands can be spoiled one by one.
struct Operands {
  Spec spec{.key_heads = 1, .value_heads = 2, .key_width = 2, .value_width = 1, .taps = 2};
  std::vector<float> taps = std::vector<float>(12, 1.0f);
  std::vector<float> rates{0.0f, 0.0f};
  std::vector<float> bias = std::vector<float>(4, 0.0f);
  std::vector<float> mixed = std::vector<float>(18, 1.0f);
  std::vector<float> decay = std::vector<float>(12, 1.0f);
  std::vector<float> beta = std::vector<float>(6, 1.0f);
  State state = initial_state(spec);

  std::string refusal() {
    State other = state;
    std::vector<float> output(6);
    const Status one = recurrent(spec, {taps, rates, bias}, {mixed, decay, beta}, state, output);
    const Status many = chunked(spec, {taps, rates, bias}, {mixed, decay, beta}, 2, other, output);
    EXPECT_EQ(one.ok(), many.ok());
    if (one.ok() || many.ok()) {
      return {};
    }
    EXPECT_EQ(one.error().message, many.error().message);
    EXPECT_EQ(one.error().code, Code::invalid_argument);
    return one.error().message;
  }
};

TEST(DeltaRule, NanAndInfinityAreRefusedByOperandRowAndElement) {
  EXPECT_EQ(Operands{}.refusal(), "");
  const auto spoiled = [](auto pick, std::size_t at, float value) {
    Operands operands;
    pick(operands)[at] = value;
    return operands.refusal();
  };
  EXPECT_EQ(spoiled([](Operands& o) { return o.mixed.data(); }, 16, kNan),
            "delta rule mixed: row 2, element 4 is NaN");
  EXPECT_EQ(spoiled([](Operands& o) { return o.decay.data(); }, 7, kInfinity),
            "delta rule decay: row 1, element 3 is infinite");
  EXPECT_EQ(spoiled([](Operands& o) { return o.beta.data(); }, 5, -kInfinity),
            "delta rule beta: row 2, element 1 is infinite");
  EXPECT_EQ(spoiled([](Operands& o) { return o.taps.data(); }, 5, kNan),
            "delta rule taps: row 2, element 1 is NaN");
  EXPECT_EQ(spoiled([](Operands& o) { return o.rates.data(); }, 1, kNan),
            "delta rule rates: row 0, element 1 is NaN");
  EXPECT_EQ(spoiled([](Operands& o) { return o.rates.data(); }, 1, 800.0f),
            "delta rule rates: row 0, element 1 has an infinite exponential");
  EXPECT_EQ(spoiled([](Operands& o) { return o.bias.data(); }, 3, kNan),
            "delta rule decay bias: row 0, element 3 is NaN");
  EXPECT_EQ(spoiled([](Operands& o) { return o.state.tail.data(); }, 5, kNan),
            "delta rule state tail: row 0, element 5 is NaN");
  EXPECT_EQ(spoiled([](Operands& o) { return o.state.matrices.data(); }, 3, kNan),
            "delta rule state matrices: row 3, element 0 is NaN");
  Operands growing;
  growing.spec.rates_are_logarithms = false;
  EXPECT_EQ(growing.refusal(), "");
  growing.rates[1] = 0.5f;
  EXPECT_EQ(growing.refusal(), "delta rule rates: row 0, element 1 is negated and above 0");
}

TEST(DeltaRule, SpecsAreRefusedByName) {
  const auto refusal = [](auto change) {
    Spec spec = plain(2, 2);
    change(spec);
    const Status status = validate(spec);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(refusal([](Spec&) {}), "");
  EXPECT_THAT(refusal([](Spec& s) { s.key_heads = 0; }), HasSubstr("heads"));
  EXPECT_THAT(refusal([](Spec& s) { s.value_heads = 0; }), HasSubstr("heads"));
  EXPECT_THAT(refusal([](Spec& s) {
                s.key_heads = 2;
                s.value_heads = 3;
              }),
              HasSubstr("3 value heads are no multiple of 2 key heads"));
  EXPECT_THAT(refusal([](Spec& s) { s.key_width = 0; }), HasSubstr("key_width"));
  EXPECT_THAT(refusal([](Spec& s) { s.value_width = 0; }), HasSubstr("value_width"));
  EXPECT_THAT(refusal([](Spec& s) { s.taps = 0; }), HasSubstr("taps"));
  EXPECT_THAT(refusal([](Spec& s) { s.value_heads = s.key_width = s.value_width = 4000000000u; }),
              HasSubstr("does not fit"));
  EXPECT_THAT(refusal([](Spec& s) { s.value_heads = s.taps = 4000000000u; }),
              HasSubstr("convolution"));
  for (const float bound : {0.0f, 1.0f, -kInfinity, kNan}) {
    EXPECT_THAT(refusal([bound](Spec& s) {
                  s.decay_gate = DecayGate::bounded;
                  s.lower_bound = bound;
                }),
                HasSubstr("lower_bound"));
  }
}

}  // namespace
}  // namespace zllm::attention::delta_rule
