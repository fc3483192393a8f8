#include "capabilities.h"

#include <algorithm>
#include <array>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/registry/capability_matrix.h>

#include "output.h"

namespace zllm::cli {
namespace {

using encoding::Encoding;

struct Options {
  bool json = false;
};

void describe(Options& options, OptionTable& table) {
  table.toggle("json", "One JSON object in place of the table", options.json);
}

// Architectures whose logits test/model compares with transformers, with the encodings that those
// fixtures have. What is not listed here counts as untested, whatever supports() says.
struct TestedModel {
  std::string_view architecture;
  std::string_view encodings;
};
constexpr std::array<TestedModel, 4> kTestedModels = {{{"llama", "F32 F16 BF16 Q8_0"},
                                                       {"mistral", "BF16"},
                                                       {"qwen2", "F32 BF16"},
                                                       {"qwen3", "BF16 Q8_0"}}};

std::string_view tested_encodings(std::string_view architecture) {
  const auto found = std::ranges::find(kTestedModels, architecture, &TestedModel::architecture);
  return found == kTestedModels.end() ? "" : found->encodings;
}

std::string names_of(const std::vector<Encoding>& encodings) {
  std::string text;
  for (const Encoding encoding : encodings) {
    text += concat(text.empty() ? "" : " ", encoding::info(encoding).name);
  }
  return text;
}

std::string to_text(const registry::FamilyOnBackend& family) {
  std::string text =
      concat(family.family, " on ", family.backend, " (", family.instruction_set, ")\n");
  for (const registry::OperationSupport& operation : family.operations) {
    std::string name(operation.operation);
    name.resize(std::max<std::size_t>(name.size(), 18), ' ');
    text += concat("  ", name, " ", operation.is_supported ? "yes" : "no ", "  ",
                   names_of(operation.encodings), "\n");
  }
  for (const std::string_view architecture : family.architectures) {
    const std::string_view tested = tested_encodings(architecture);
    text += concat(
        "  model ", architecture, ": ",
        tested.empty() ? "untested" : concat("logits tested against transformers in ", tested),
        "\n");
  }
  return text;
}

Json to_json(const registry::FamilyOnBackend& family) {
  Json::Object operations;
  for (const registry::OperationSupport& operation : family.operations) {
    Json::Array encodings;
    for (const Encoding encoding : operation.encodings) {
      encodings.push_back(Json(std::string(encoding::info(encoding).name)));
    }
    operations.emplace_back(std::string(operation.operation),
                            Json(Json::Object{{"supported", Json(operation.is_supported)},
                                              {"encodings", Json(std::move(encodings))}}));
  }
  Json::Object models;
  for (const std::string_view architecture : family.architectures) {
    models.emplace_back(std::string(architecture),
                        Json(Json::Object{{"tested_encodings",
                                           Json(std::string(tested_encodings(architecture)))}}));
  }
  return Json(Json::Object{{"family", Json(std::string(family.family))},
                           {"backend", Json(std::string(family.backend))},
                           {"instruction_set", Json(family.instruction_set)},
                           {"models", Json(std::move(models))},
                           {"operations", Json(std::move(operations))}});
}

Status run(const Options& options) {
  ZLLM_TRY(const auto matrix, registry::capability_matrix());
  std::string text;
  Json::Array list;
  for (const registry::FamilyOnBackend& family : matrix) {
    text += to_text(family);
    list.push_back(to_json(family));
  }
  return write_out(
      options.json ? Json(Json::Object{{"matrix", Json(std::move(list))}}).dump() + "\n" : text);
}

}  // namespace

Command capabilities_command() {
  return make_command<Options>("capabilities", "Show which models run on which backends", describe,
                               run);
}

}  // namespace zllm::cli
