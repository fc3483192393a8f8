// Against values of 60 digits: tools/oracle/rope_values.py.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <zllm/rope/reference.h>

namespace zllm::rope {
namespace {

struct Case {
  std::string name;
  Spec spec;
  std::uint64_t length = 0;
  double amplitude = 1.0;
  std::vector<double> frequencies;
};

Spec spec_of(std::uint32_t rotated, double theta, Scaling scaling, double factor) {
  Spec spec;
  spec.rotated = rotated;
  spec.theta = theta;
  spec.scaling = scaling;
  spec.factor = factor;
  return spec;
}

Spec dynamic_spec() {
  Spec spec = spec_of(8, 10000.0, Scaling::dynamic, 2.0);
  spec.max_positions = 64;
  return spec;
}

Spec llama3_spec(double theta, double factor, std::uint64_t original) {
  Spec spec = spec_of(16, theta, Scaling::llama3, factor);
  spec.original_positions = original;
  return spec;
}

Spec yarn_spec(std::uint32_t rotated, double theta, double factor, std::uint64_t original) {
  Spec spec = spec_of(rotated, theta, Scaling::yarn, factor);
  spec.original_positions = original;
  return spec;
}

Spec yarn_whole_spec() {
  Spec spec = yarn_spec(16, 150000.0, 32.0, 4096);
  spec.truncate = false;
  return spec;
}

Spec yarn_equal_spec() {
  Spec spec = yarn_spec(8, 10000.0, 4.0, 4);
  spec.beta_fast = 1.0;
  return spec;
}

Spec longrope_spec() {
  Spec spec = spec_of(8, 10000.0, Scaling::longrope, 32.0);
  spec.original_positions = 4096;
  spec.short_factors = {1.0, 1.5, 2.0, 3.0};
  spec.long_factors = {1.25, 4.0, 16.0, 64.0};
  return spec;
}

std::vector<Case> cases() {
  const std::vector<double> plain{1.0, 0.1, 0.01, 0.001};
  const double longrope_amplitude = 1.19023807142380833;
  return {
      {"none", spec_of(8, 10000.0, Scaling::none, 1.0), 1 << 20, 1.0, plain},
      {"linear", spec_of(8, 10000.0, Scaling::linear, 4.0), 0, 1.0, {0.25, 0.025, 0.0025, 0.00025}},
      {"dynamic within M", dynamic_spec(), 64, 1.0, plain},
      {"dynamic beyond M",
       dynamic_spec(),
       100,
       1.0,
       {1.0, 0.0777822237465640589, 0.00605007433096055378, 0.000470588235294117647}},
      {"llama3, 8192",
       llama3_spec(500000.0, 8.0, 8192),
       0,
       1.0,
       {1.0, 0.193922744748685773, 0.0376060309308639357, 0.00729266473721710905,
        0.00052484616099295467, 0.0000342810219595259148, 6.64786987118123577e-6,
        1.28917317215155736e-6}},
      {"llama3, 32",
       llama3_spec(50000.0, 4.0, 32),
       0,
       1.0,
       {1.0, 0.0851466601454233428, 0.0167185076244105506, 0.00432340835051065432,
        0.00111803398874989485, 0.000289123741885810466, 0.0000747674390610610271,
        0.0000193348699324641213}},
      {"yarn",
       yarn_spec(16, 10000.0, 4.0, 2048),
       0,
       1.13862943611198906,
       {1.0, 0.316227766016837933, 0.1, 0.0256935059888680821, 0.00625, 0.00138349647632366596,
        0.00025, 0.0000790569415042094833}},
      {"yarn, corrections not rounded",
       yarn_whole_spec(),
       0,
       1.34657359027997265,
       {1.0, 0.22541800020287083, 0.0508132748154614736, 0.00679495948973221783,
        0.00045648391922324017, 0.0000181883366816895593, 4.09997848180298004e-6,
        9.24208950242830193e-7}},
      {"yarn, equal corrections",
       yarn_equal_spec(),
       0,
       1.13862943611198906,
       {1.0, 0.025, 0.0025, 0.00025}},
      {"longrope, at the original length",
       longrope_spec(),
       4096,
       longrope_amplitude,
       {1.0, 0.0666666666666666667, 0.005, 0.000333333333333333333}},
      {"longrope, one token longer",
       longrope_spec(),
       4097,
       longrope_amplitude,
       {0.8, 0.025, 0.000625, 0.000015625}},
  };
}

TEST(RopeExact, FrequenciesAndAmplitudeOfEveryScaling) {
  for (const Case& expected : cases()) {
    auto table = make_table(expected.spec, expected.length);
    ASSERT_TRUE(table.ok()) << expected.name << ": " << table.error().message;
    EXPECT_NEAR(table->amplitude, expected.amplitude, 4e-16) << expected.name;
    ASSERT_EQ(table->frequencies.size(), expected.frequencies.size()) << expected.name;
    for (std::size_t i = 0; i < expected.frequencies.size(); ++i) {
      EXPECT_NEAR(table->frequencies[i] / expected.frequencies[i], 1.0, 4e-15)
          << expected.name << " " << i;
    }
  }
}

struct Turn {
  Spec spec;
  std::uint64_t position = 0;
  std::vector<double> cosines;
  std::vector<double> sines;
};

// Half a unit in the last place of an f32 below 1 is 2^-25; the rest is for the f64 angle.
constexpr double kRounding = 0x1p-25 + 1e-9;

TEST(RopeExact, PositionOneMillion) {
  const Turn turns[] = {
      {spec_of(8, 10000.0, Scaling::none, 1.0),
       1000000,
       {0.936752127533144787, -0.999360807438212452, -0.952155368259014851, 0.562379076290702991},
       {-0.349993502171292952, 0.0357487979720165093, -0.305614388888252141, 0.82687954053200256}},
      {spec_of(16, 500000.0, Scaling::none, 1.0),
       1000000,
       {0.936752127533144787, 0.0841246799558794051, 0.393034114015372243, -0.516371223308749492,
        0.879079693102772886, -0.598142710792320731, -0.974990920723415155, -0.630493553256288162},
       {-0.349993502171292952, -0.996455236436800939, 0.919523890510818306, -0.85636485199862422,
        0.476674829600152725, -0.80138960407907349, 0.222244695115332694, -0.776194485488179775}},
      {llama3_spec(500000.0, 8.0, 8192),
       1000000,
       {0.936752127533144787, 0.0841246799558794051, 0.393034114015372243, -0.516371223308749492,
        -0.980029241816222337, -0.962017550837183387, 0.934236309347274219, 0.277915225428837074},
       {-0.349993502171292952, -0.996455236436800939, 0.919523890510818306, -0.85636485199862422,
        -0.19885342638516542, 0.272987603896637177, 0.35665462046240779, 0.960605604540614093}},
  };
  for (const Turn& turn : turns) {
    auto table = make_table(turn.spec, 0);
    ASSERT_TRUE(table.ok());
    std::vector<float> cosines(turn.cosines.size());
    std::vector<float> sines(turn.sines.size());
    cos_sin(*table, turn.position, cosines, sines);
    for (std::size_t i = 0; i < cosines.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(cosines[i]), turn.cosines[i], kRounding) << i;
      EXPECT_NEAR(static_cast<double>(sines[i]), turn.sines[i], kRounding) << i;
    }
  }
}

TEST(RopeExact, YarnAmplitudeRules) {
  Spec spec = yarn_spec(16, 10000.0, 40.0, 4096);
  spec.mscale = 0.5;
  spec.mscale_all_dim = 2.0;
  EXPECT_NEAR(make_table(spec, 0)->amplitude, 0.681586146384443403, 1e-15);
  spec.mscale_all_dim = spec.mscale;
  EXPECT_EQ(make_table(spec, 0)->amplitude, 1.0);
  const double computed = 1.0 + 0.1 * std::log(40.0);
  spec.mscale_all_dim = 0.0;  // as if not given
  EXPECT_DOUBLE_EQ(make_table(spec, 0)->amplitude, computed);
  spec.mscale_all_dim.reset();
  EXPECT_DOUBLE_EQ(make_table(spec, 0)->amplitude, computed);
  spec.attention_factor = 0.75;
  EXPECT_EQ(make_table(spec, 0)->amplitude, 0.75);
  Spec shrinking = yarn_spec(16, 10000.0, 0.5, 4096);
  EXPECT_EQ(make_table(shrinking, 0)->amplitude, 1.0);
}

TEST(RopeExact, LongropeAmplitudeRules) {
  Spec spec = longrope_spec();
  spec.factor = 1.0;
  EXPECT_EQ(make_table(spec, 0)->amplitude, 1.0);
  spec.attention_factor = 1.5;
  EXPECT_EQ(make_table(spec, 9999)->amplitude, 1.5);
}

}  // namespace
}  // namespace zllm::rope
