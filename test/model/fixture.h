#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/registry/model_registry.h>

namespace zllm::test {

// A tiny random checkpoint with the logits that an independent implementation computed
// (tools/oracle says how they are made).
struct ModelFixture {
  std::string path;  // folder or GGUF file
  std::vector<TokenId> prompt;
  std::vector<TokenId> greedy;
  std::vector<float> logits;   // [prompt, vocabulary]
  double tolerance = 0;        // on a logit, by how stable the oracle itself is
  bool is_quantised = false;   // activations become int8, which the oracle does not do
  bool has_selection = false;  // attention to selected positions alone
};

// Folders of test/fixtures/models.
std::vector<std::string> model_fixture_names();
// Those with more than one layer, which can be cut into stages.
std::vector<std::string> stageable_fixture_names();
// Fails the running test when the fixture cannot be read.
ModelFixture read_model_fixture(const std::string& name);

struct ModelSetup {
  unsigned threads = 2;
  std::uint32_t rows_per_round = 512;
  backend::KvType kv_type = backend::KvType::f32;
  runtime::StageRange stage = {};
};
// A model with room for many sequences; fails the running test when it does not load.
registry::Model load_fixture(const ModelFixture& fixture, const ModelSetup& setup = {});

}  // namespace zllm::test
