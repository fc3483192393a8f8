#include <zllm/attention/delta_rule/reference.h>

#include <gtest/gtest.h>

#include <vector>

namespace zllm::attention::delta_rule {
namespace {

// Expected values and the inputs' formulas: tools/oracle/recurrent_values.py.
std::vector<float> fractions(std::size_t count, std::size_t factor, std::size_t offset,
                             float scale) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = scale * (static_cast<float>((i * factor + offset) % 13) - 6.0f) / 8.0f;
  }
  return result;
}

void expect_values(DecayWidth width, DecayGate gate, const std::vector<float>& expected) {
  const Spec spec{.key_heads = 1,
                  .value_heads = 2,
                  .key_width = 2,
                  .value_width = 3,
                  .taps = 3,
                  .decay_width = width,
                  .decay_gate = gate,
                  .lower_bound = -5.0f};
  const std::size_t rows = 4;
  const auto taps = fractions(channels(spec) * 3, 5, 2, 1.0f);
  const auto rates = fractions(2, 3, 9, 1.0f);
  const auto bias = fractions(decays(spec), 6, 5, 1.0f);
  const auto mixed = fractions(rows * channels(spec), 7, 1, 4.0f);
  const auto decay = fractions(rows * decays(spec), 4, 3, 2.0f);
  const auto beta = fractions(rows * 2, 8, 4, 4.0f);
  for (const std::size_t chunk : {0u, 1u, 3u, 4u}) {
    State state = initial_state(spec);
    std::vector<float> output(expected.size());
    const Weights weights{taps, rates, bias};
    const Inputs inputs{mixed, decay, beta};
    ASSERT_TRUE(chunk == 0 ? recurrent(spec, weights, inputs, state, output).ok()
                           : chunked(spec, weights, inputs, chunk, state, output).ok());
    for (std::size_t i = 0; i < output.size(); ++i) {
      EXPECT_NEAR(output[i], expected[i], 2e-7f) << chunk << " " << i;
    }
  }
}

TEST(DeltaRuleValues, DecayOfEachChannelBounded) {
  expect_values(DecayWidth::channel, DecayGate::bounded,
                {0.0102526031423f,  -0.0614510106761f, 0.0262873820488f,  0.106527300959f,
                 -0.0600533849934f, 0.102813289396f,   -0.168380910317f,  0.0725880798526f,
                 -0.182802132938f,  -0.0607756974994f, 0.00480724617972f, -0.104318566897f,
                 0.023884085617f,   -0.253762652659f,  0.0223728787117f,  -0.079689838626f,
                 -0.0657587894179f, -0.0989847139491f, -0.0243452395489f, -0.080275929158f,
                 0.0177297457893f,  -0.969173360023f,  0.088611834376f,   -0.448070497538f});
}

TEST(DeltaRuleValues, DecayOfEachChannelSoftplus) {
  expect_values(
      DecayWidth::channel, DecayGate::softplus,
      {0.0102526031423f,  -0.0614510106761f, 0.0262873820488f, 0.106527300959f,  -0.0600533849934f,
       0.102813289396f,   -0.166603439955f,  0.0619344586509f, -0.178244749623f, -0.0606221716789f,
       0.0047206979886f,  -0.104170393664f,  -0.018239324575f, -0.2305757995f,   -0.0246944148601f,
       -0.0713844092757f, -0.0708661973478f, -0.091628220396f, 0.0159757684037f, -0.319955648661f,
       0.0584322649371f,  -0.965721184031f,  0.0862314614981f, -0.443717648368f});
}

TEST(DeltaRuleValues, DecayOfTheHeadSoftplus) {
  expect_values(
      DecayWidth::head, DecayGate::softplus,
      {0.0102526031423f,  -0.0614510106761f, 0.0262873820488f,  0.106527300959f,  -0.0600533849934f,
       0.102813289396f,   -0.168000103191f,  0.0703056368027f,  -0.181825754327f, -0.0629166576705f,
       0.00601418472277f, -0.106384883754f,  -0.0502947366991f, -0.217441641434f, -0.0593132775025f,
       0.0100160807474f,  -0.102256439418f,  0.00941031826892f, 0.0877221040635f, -0.542597363077f,
       0.134215724594f,   -0.964707469923f,  0.0397586603786f,  -0.44371527747f});
}

}  // namespace
}  // namespace zllm::attention::delta_rule
