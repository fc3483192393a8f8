#include "fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/weight/container/safetensors.h>

namespace zllm::test {
namespace {

constexpr const char *kFolder = "test/fixtures/models";
// A prompt and what follows it, for many sequences at once.
constexpr std::uint64_t kContext = 128;
constexpr std::uint64_t kCacheRows = 4096;
constexpr std::uint32_t kSequences = 16;
// Numerical policy: logits of a standard deviation of about 1.5 agree within this in f32, or the
// second where the oracle's own rerun in f64 differs by more than the border.
constexpr double kTolerance = 2e-3;
constexpr double kUnstableTolerance = 5e-3;
constexpr double kUnstableBorder = 5e-4;
// Int8 activations against an oracle that multiplies the dequantised matrices in f32; models this
// narrow have a block or two a row, so that roundings hardly average out.
constexpr double kQuantisedTolerance = 0.3;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<TokenId> tokens_of(const Json& json, const char *key) {
  std::vector<TokenId> tokens;
  for (const Json& item : *json.find(key)->as_array()) {
    std::int64_t value = 0;
    EXPECT_TRUE(item.as_integer(value));
    tokens.push_back(static_cast<TokenId>(value));
  }
  return tokens;
}

}  // namespace

std::vector<std::string> model_fixture_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> stageable_fixture_names() {
  std::vector<std::string> names = model_fixture_names();
  std::erase_if(names, [](const std::string& name) {
    const std::string config = std::string(kFolder) + "/" + name + "/config.json";
    return std::filesystem::exists(config) &&
           read_file(config).find("\"num_hidden_layers\": 1,") != std::string::npos;
  });
  return names;
}

ModelFixture read_model_fixture(const std::string& name) {
  const std::string folder = std::string(kFolder) + "/" + name;
  const std::string gguf = folder + "/model.gguf";
  ModelFixture fixture;
  fixture.path = std::filesystem::exists(gguf) ? gguf : folder;
  auto json = Json::parse(read_file(folder + "/expected.json"), name);
  EXPECT_TRUE(json.ok());
  fixture.prompt = tokens_of(*json, "prompt");
  fixture.greedy = tokens_of(*json, "greedy");
  const std::string bytes = read_file(folder + "/expected.safetensors");
  const auto contents = weight::parse_safetensors(std::as_bytes(std::span(bytes)));
  EXPECT_TRUE(contents.ok());
  for (const weight::SafetensorsTensor& tensor : contents->tensors) {
    if (tensor.name == "logits") {
      fixture.logits.resize(tensor.bytes.size() / sizeof(float));
      std::memcpy(fixture.logits.data(), tensor.bytes.data(), tensor.bytes.size());
    }
  }
  EXPECT_FALSE(fixture.logits.empty());
  double difference = 0;
  EXPECT_TRUE(json->find("f64_diff")->as_number(difference));
  fixture.tolerance = difference > kUnstableBorder ? kUnstableTolerance : kTolerance;
  fixture.has_selection = json->find("selects_keys") != nullptr;
  fixture.is_quantised = name.find("-gguf-q") != std::string::npos;
  if (fixture.is_quantised) {
    fixture.tolerance = kQuantisedTolerance;
  }
  return fixture;
}

registry::Model load_fixture(const ModelFixture& fixture, const ModelSetup& setup) {
  auto files = weight::open_model(fixture.path);
  EXPECT_TRUE(files.ok()) << files.error().message;
  auto model = registry::load_model(*std::move(files), {.name = "cpu", .threads = setup.threads},
                                    {.context = kContext,
                                     .cache_rows = kCacheRows,
                                     .rows_per_round = setup.rows_per_round,
                                     .kv_type = setup.kv_type,
                                     .stage = setup.stage,
                                     .sequences = kSequences});
  EXPECT_TRUE(model.ok()) << model.error().message;
  return *std::move(model);
}

}  // namespace zllm::test
