#include <gtest/gtest.h>

#include <map>
#include <set>

#include <zllm/base/text.h>
#include <zllm/registry/capability_matrix.h>
#include <zllm/weight/container/model_files.h>

#include "fixture.h"

namespace zllm::test {
namespace {

using Encodings = std::map<std::string, std::set<encoding::Encoding>>;

// Architectures of the fixtures, and the encodings of their matrices.
Encodings of_fixtures() {
  Encodings models;
  for (const std::string& name : model_fixture_names()) {
    const auto files = weight::open_model(read_model_fixture(name).path);
    EXPECT_TRUE(files.ok()) << name;
    const auto architecture = registry::architecture(*files);
    EXPECT_TRUE(architecture.ok()) << name;
    for (const weight::TensorEntry& tensor : files->tensors.entries()) {
      if (tensor.shape.size() > 1) {
        models[*architecture].insert(tensor.encoding);
      }
    }
  }
  return models;
}

Encodings of_record() {
  Encodings models;
  const auto tested = registry::tested_models();
  EXPECT_TRUE(tested.ok()) << tested.error().message;
  for (const registry::TestedModel& model : *tested) {
    models[model.architecture].insert(model.encodings.begin(), model.encodings.end());
  }
  return models;
}

std::string text_of(const Encodings& models) {
  std::string text;
  for (const auto& [architecture, encodings] : models) {
    std::string names;
    for (const encoding::Encoding encoding : encodings) {
      names += concat(names.empty() ? "" : ", ", "\"", encoding::info(encoding).name, "\"");
    }
    text += concat(text.empty() ? "" : ",\n", "  \"", architecture, "\": [", names, "]");
  }
  return "{\n" + text + "\n}\n";
}

TEST(TestedModels, RecordIsThatOfTheFixtures) {
  const Encodings fixtures = of_fixtures();
  EXPECT_EQ(of_record(), fixtures) << "test/model/record/tested_models.json must hold\n"
                                   << text_of(fixtures);
}

}  // namespace
}  // namespace zllm::test
