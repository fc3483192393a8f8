#include "capabilities.h"

#include <algorithm>
#include <utility>
#include <vector>

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

using registry::EncodingSupport;
using registry::FamilyOnBackend;
using registry::OperationSupport;
using registry::TestedModel;

std::string names_of(const std::vector<Encoding>& encodings) {
  std::string text;
  for (const Encoding encoding : encodings) {
    text += concat(text.empty() ? "" : " ", encoding::info(encoding).name);
  }
  return text;
}

// Of the operation, of its supported forms.
bool is_supported(const OperationSupport& operation) {
  return std::ranges::any_of(operation.entries, &EncodingSupport::is_supported);
}
bool has_encodings(const OperationSupport& operation) { return operation.entries.size() > 1; }

std::vector<Encoding> supported(const OperationSupport& operation) {
  std::vector<Encoding> encodings;
  for (const EncodingSupport& entry : operation.entries) {
    if (entry.is_supported && has_encodings(operation)) {
      encodings.push_back(entry.encoding);
    }
  }
  return encodings;
}

// Supported, but without a case that the suite passed.
std::vector<Encoding> untested(const OperationSupport& operation) {
  std::vector<Encoding> encodings;
  for (const EncodingSupport& entry : operation.entries) {
    if (entry.is_supported && entry.tested_cases == 0) {
      encodings.push_back(entry.encoding);
    }
  }
  return encodings;
}

std::uint64_t tested_cases(const OperationSupport& operation) {
  std::uint64_t cases = 0;
  for (const EncodingSupport& entry : operation.entries) {
    cases += entry.tested_cases;
  }
  return cases;
}

std::string tested_text(const OperationSupport& operation) {
  const std::vector<Encoding> missing = untested(operation);
  if (!is_supported(operation) || tested_cases(operation) == 0) {
    return "untested";
  }
  std::string text = concat("tested, ", tested_cases(operation), " cases");
  return missing.empty() ? text : text + concat(", not in ", names_of(missing));
}

std::string to_text(const FamilyOnBackend& family, const std::vector<TestedModel>& tested) {
  std::string text =
      concat(family.family, " on ", family.backend, " (", family.instruction_set, "), ",
             family.tested_on.empty() ? "no record of the conformance suite"
                                      : concat("conformance of ", family.tested_on),
             "\n");
  for (const OperationSupport& operation : family.operations) {
    std::string name(operation.operation);
    name.resize(std::max<std::size_t>(name.size(), 18), ' ');
    const std::string encodings = names_of(supported(operation));
    text += concat("  ", name, " ", is_supported(operation) ? "yes" : "no ", "  ",
                   tested_text(operation), encodings.empty() ? "" : "  ", encodings, "\n");
  }
  for (const std::string_view architecture : family.architectures) {
    const auto found = std::ranges::find(tested, architecture, &TestedModel::architecture);
    text += concat("  model ", architecture, ": ",
                   found == tested.end()
                       ? "untested"
                       : "logits tested against transformers in " + names_of(found->encodings),
                   "\n");
  }
  return text;
}

Json to_json(const OperationSupport& operation) {
  Json::Array encodings;
  for (const Encoding encoding : supported(operation)) {
    encodings.push_back(Json(std::string(encoding::info(encoding).name)));
  }
  Json::Object tested;
  for (const EncodingSupport& entry : operation.entries) {
    const std::string_view name =
        has_encodings(operation) ? encoding::info(entry.encoding).name : "-";
    tested.emplace_back(std::string(name), Json(std::uint64_t{entry.tested_cases}));
  }
  return Json(Json::Object{{"supported", Json(is_supported(operation))},
                           {"encodings", Json(std::move(encodings))},
                           {"tested_cases", Json(std::move(tested))}});
}

Json to_json(const FamilyOnBackend& family, const std::vector<TestedModel>& tested) {
  Json::Object operations;
  for (const OperationSupport& operation : family.operations) {
    operations.emplace_back(std::string(operation.operation), to_json(operation));
  }
  Json::Object models;
  for (const std::string_view architecture : family.architectures) {
    const auto found = std::ranges::find(tested, architecture, &TestedModel::architecture);
    const std::string encodings = found == tested.end() ? "" : names_of(found->encodings);
    models.emplace_back(std::string(architecture),
                        Json(Json::Object{{"tested_encodings", Json(encodings)}}));
  }
  return Json(Json::Object{{"family", Json(std::string(family.family))},
                           {"backend", Json(std::string(family.backend))},
                           {"instruction_set", Json(family.instruction_set)},
                           {"conformance_date", Json(family.tested_on)},
                           {"models", Json(std::move(models))},
                           {"operations", Json(std::move(operations))}});
}

Status run(const Options& options) {
  ZLLM_TRY(const auto matrix, registry::capability_matrix());
  ZLLM_TRY(const auto tested, registry::tested_models());
  std::string text;
  Json::Array list;
  for (const FamilyOnBackend& family : matrix) {
    text += to_text(family, tested);
    list.push_back(to_json(family, tested));
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
