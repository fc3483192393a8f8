#include <zllm/norm/reference.h>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace zllm::norm {
namespace {

std::vector<float> run(const Spec& spec, const Inputs& inputs) {
  std::vector<float> output(inputs.rows.size());
  normalise(spec, inputs, output);
  return output;
}

// mean of squares 25/2, so rms divides by 3.5355339...
const std::vector<float> kRow{3.0f, 4.0f};
const std::vector<float> kWeight{2.0f, -1.0f};

TEST(Norm, RmsByHand) {
  const auto y = run({Flavour::rms, 0.0}, {.rows = kRow, .width = 2, .weight = kWeight});
  EXPECT_FLOAT_EQ(y[0], 1.6970563f);
  EXPECT_FLOAT_EQ(y[1], -1.1313708f);
}

TEST(Norm, EpsilonIsAddedToTheMean) {
  // (3^2 + 4^2)/2 + 12.5 = 25
  const auto y = run({Flavour::rms_unweighted, 12.5}, {.rows = kRow, .width = 2});
  EXPECT_FLOAT_EQ(y[0], 0.6f);
  EXPECT_FLOAT_EQ(y[1], 0.8f);
}

TEST(Norm, RmsPlusOneAddsOneToTheWeight) {
  const auto y = run({Flavour::rms_plus_one, 12.5}, {.rows = kRow, .width = 2, .weight = kWeight});
  EXPECT_FLOAT_EQ(y[0], 1.8f);
  EXPECT_FLOAT_EQ(y[1], 0.0f);
}

TEST(Norm, LayerSubtractsTheMeanAndAddsTheBias) {
  const std::vector<float> rows{1.0f, 3.0f};  // mean 2, variance 1, + 3 = 4
  const std::vector<float> bias{10.0f, 20.0f};
  const auto y =
      run({Flavour::layer, 3.0}, {.rows = rows, .width = 2, .weight = kWeight, .bias = bias});
  EXPECT_FLOAT_EQ(y[0], 9.0f);
  EXPECT_FLOAT_EQ(y[1], 19.5f);
}

TEST(Norm, LayerOfAConstantRowIsTheBias) {
  const std::vector<float> rows(5, 1e6f);
  const std::vector<float> weight(5, 3.0f);
  const std::vector<float> bias{1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  EXPECT_EQ(run({Flavour::layer, 1e-6}, {.rows = rows, .width = 5, .weight = weight, .bias = bias}),
            bias);
}

TEST(Norm, L2DividesByTheSumNotTheMean) {
  const auto y = run({Flavour::l2, 0.0}, {.rows = kRow, .width = 2});
  EXPECT_FLOAT_EQ(y[0], 0.6f);
  EXPECT_FLOAT_EQ(y[1], 0.8f);
  const std::vector<float> zeros(3, 0.0f);
  EXPECT_EQ(run({Flavour::l2, 1e-6}, {.rows = zeros, .width = 3}), zeros);
}

TEST(Norm, GatesMultiplyAfterTheWeight) {
  const std::vector<float> gate{0.0f, 2.0f};
  const Inputs inputs{.rows = kRow, .width = 2, .weight = kWeight, .gate = gate};
  const auto silu = run({Flavour::gated_rms_silu, 12.5}, inputs);
  EXPECT_FLOAT_EQ(silu[0], 0.0f);
  EXPECT_FLOAT_EQ(silu[1], -0.8f * 1.7615942f);
  const auto sigmoid = run({Flavour::gated_rms_sigmoid, 12.5}, inputs);
  EXPECT_FLOAT_EQ(sigmoid[0], 0.6f);
  EXPECT_FLOAT_EQ(sigmoid[1], -0.8f * 0.8807971f);
}

TEST(Norm, RmsRoundsBeforeTheWeightAndPlusOneAfterIt) {
  std::vector<float> rows;
  std::vector<float> weight;
  for (int lane = 0; lane < 97; ++lane) {
    rows.push_back(std::sin(static_cast<float>(lane) + 0.1f));
    weight.push_back(std::cos(static_cast<float>(lane) * 1.7f) + 1.5f);
  }
  const auto plain = run({Flavour::rms_unweighted, 1e-6}, {.rows = rows, .width = 97});
  const auto y = run({Flavour::rms, 1e-6}, {.rows = rows, .width = 97, .weight = weight});
  for (std::size_t lane = 0; lane < 97; ++lane) {
    EXPECT_EQ(y[lane], plain[lane] * weight[lane]);
  }
  std::vector<float> less_one;
  for (const float w : weight) {
    less_one.push_back(w - 1.0f);
  }
  const auto once =
      run({Flavour::rms_plus_one, 1e-6}, {.rows = rows, .width = 97, .weight = less_one});
  int different = 0;
  for (std::size_t lane = 0; lane < 97; ++lane) {
    EXPECT_NEAR(once[lane], y[lane], 1e-6f);
    different += once[lane] != y[lane] ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

TEST(Norm, RowsStandAloneAndMayBeDoneInPlace) {
  std::vector<float> rows{3.0f, 4.0f, -300.0f, 400.0f, 1e-20f, 1e20f};
  const auto apart = run({Flavour::rms, 1e-5}, {.rows = rows, .width = 2, .weight = kWeight});
  for (std::size_t row = 0; row < 3; ++row) {
    const auto alone =
        run({Flavour::rms, 1e-5},
            {.rows = std::span(rows).subspan(row * 2, 2), .width = 2, .weight = kWeight});
    EXPECT_EQ(alone[0], apart[row * 2]);
    EXPECT_EQ(alone[1], apart[row * 2 + 1]);
  }
  normalise({Flavour::rms, 1e-5}, {.rows = rows, .width = 2, .weight = kWeight}, rows);
  EXPECT_EQ(rows, apart);
}

TEST(Norm, HugeValuesDoNotOverflow) {
  const std::vector<float> rows{3e38f, -3e38f};
  const auto y = run({Flavour::rms_unweighted, 1e-6}, {.rows = rows, .width = 2});
  EXPECT_FLOAT_EQ(y[0], 1.0f);
  EXPECT_FLOAT_EQ(y[1], -1.0f);
}

TEST(Norm, NoRowsIsFine) {
  EXPECT_TRUE(run({Flavour::rms, 1e-6}, {.rows = {}, .width = 2, .weight = kWeight}).empty());
}

}  // namespace
}  // namespace zllm::norm
