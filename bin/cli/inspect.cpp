#include "inspect.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/process_limits.h>
#include <zllm/base/text.h>
#include <zllm/registry/capability_matrix.h>
#include <zllm/registry/model_registry.h>
#include <zllm/runtime/memory_fit.h>

#include "metadata_text.h"
#include "model_location.h"
#include "output.h"
#include "weight_check.h"

namespace zllm::cli {
namespace {

struct Options {
  std::string path;
  bool json = false;
  bool verify = false;
};

void describe(Options& options, OptionTable& table) {
  table.positional("path", "Hub-layout folder, GGUF file or the name of a pulled model",
                   options.path);
  table.toggle("json", "One JSON object in place of the text", options.json);
  table.toggle("verify", "Read every weight; fail where one is no finite number", options.verify);
}

struct Total {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

// What fits this machine, or why that cannot be said.
struct Fit {
  std::optional<runtime::MemoryNeed> need;
  std::optional<runtime::MemoryFit> fit;
  std::string problem;
  bool is_invalid = false;  // the model contradicts itself; nothing could load it
  std::vector<std::string> warnings;
};

struct Report {
  weight::ModelFiles files;
  std::string architecture;
  std::map<std::string_view, Total> by_encoding;
  Total total;
  Fit fit;
  std::optional<std::vector<BadTensor>> bad;
};

std::uint64_t element_count(const weight::TensorEntry& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::uint64_t{1},
                         std::multiplies<>());
}

// What `run` and `chat` load a model for.
constexpr runtime::LoadOptions kOneSequence{.sequences = 1};

Fit find_fit(const weight::ModelFiles& files) {
  Fit fit;
  auto needs = registry::needs_on_cpu(files, kOneSequence);
  if (!needs.ok()) {
    fit.problem = needs.error().message;
    // A file of a vocabulary alone is legal; what this build does not know may be right.
    fit.is_invalid = needs.error().code != Code::unsupported && !files.tensors.entries().empty();
    return fit;
  }
  fit.need = needs->memory;
  fit.warnings = std::move(needs->warnings);
  const auto limits = memory_limits();
  auto fitted =
      runtime::fit_memory(*fit.need, kOneSequence,
                          limits ? std::optional<std::uint64_t>(limits->available) : std::nullopt);
  if (fitted.ok()) {
    fit.fit = *fitted;
  } else {
    fit.problem = fitted.error().message;
  }
  return fit;
}

Result<Report> look_into(const Options& options) {
  ZLLM_TRY(const std::string path, locate_model(options.path));
  Report report;
  ZLLM_TRY(report.files, weight::open_model(path));
  const auto architecture = registry::architecture(report.files);
  report.architecture = architecture.ok() ? *architecture : "";
  for (const weight::TensorEntry& tensor : report.files.tensors.entries()) {
    for (Total *total :
         {&report.total, &report.by_encoding[encoding::info(tensor.encoding).name]}) {
      ++total->tensors;
      total->elements += element_count(tensor);
      total->bytes += tensor.bytes.size();
    }
  }
  report.fit = find_fit(report.files);
  if (options.verify) {
    ZLLM_TRY(report.bad, find_bad_weights(report.files.tensors));
  }
  return report;
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += concat(i == 0 ? "" : " x ", shape[i]);
  }
  return text + "]";
}

std::string metadata_section(const weight::ModelFiles& files) {
  std::string text = "metadata\n";
  if (files.gguf) {
    for (const auto& [key, value] : files.gguf->items()) {
      text += concat("  ", printable(key), " = ", metadata_text(value), "\n");
    }
  }
  for (const auto& json : {files.config, files.generation_config}) {
    if (json && json->as_object() != nullptr) {
      for (const auto& [key, value] : *json->as_object()) {
        text += concat("  ", printable(key), " = ", metadata_text(value), "\n");
      }
    }
  }
  return text;
}

std::string fit_text(const Fit& fit) {
  std::string text = "fit\n";
  if (fit.need) {
    text += concat("  weights ", size_text(fit.need->weight_bytes), ", each token of context ",
                   size_text(fit.need->state_bytes_per_row), ", made for ", fit.need->max_positions,
                   " tokens\n");
  }
  if (fit.fit) {
    text += concat("  a context of ", fit.fit->context, " tokens fits this machine\n");
  } else {
    text += concat("  ", printable(fit.problem), "\n");
  }
  for (const std::string& warning : fit.warnings) {
    text += concat("  warning: ", printable(warning), "\n");
  }
  return text;
}

std::string to_text(const Report& report) {
  std::string text =
      concat(printable(report.files.path), "\n", report.files.gguf ? "GGUF" : "safetensors",
             ", architecture ", printable(report.architecture), "\n\n",
             metadata_section(report.files), "\ntensors\n");
  for (const weight::TensorEntry& tensor : report.files.tensors.entries()) {
    text +=
        concat("  ", printable(tensor.name), "  ", shape_text(tensor.shape), "  ",
               encoding::info(tensor.encoding).name, "  ", size_text(tensor.bytes.size()), "\n");
  }
  text += "\nsizes\n";
  for (const auto& [name, total] : report.by_encoding) {
    text += concat("  ", name, ": ", total.tensors, " tensors, ", total.elements, " elements, ",
                   size_text(total.bytes), "\n");
  }
  text += concat("  all: ", report.total.tensors, " tensors, ", report.total.elements,
                 " parameters, ", size_text(report.total.bytes), "\n\n", fit_text(report.fit));
  if (report.bad) {
    text += report.bad->empty() ? "\nall weights are finite\n" : "\nweights that are not finite\n";
    for (const BadTensor& bad : *report.bad) {
      text += concat("  ", printable(bad.name), ": ", bad.not_a_number, " NaN, ", bad.infinite,
                     " infinite\n");
    }
  }
  return text;
}

Json total_json(const Total& total) {
  return Json(Json::Object{{"tensors", Json(total.tensors)},
                           {"elements", Json(total.elements)},
                           {"bytes", Json(total.bytes)}});
}

Json metadata_object(const weight::ModelFiles& files) {
  if (!files.gguf) {
    return Json(Json::Object{{"config", files.config.value_or(Json())},
                             {"generation_config", files.generation_config.value_or(Json())}});
  }
  Json::Object metadata;
  for (const auto& [key, value] : files.gguf->items()) {
    metadata.emplace_back(std::string(key), metadata_json(value));
  }
  return Json(std::move(metadata));
}

Json tensors_json(const weight::TensorTable& table) {
  Json::Array tensors;
  for (const weight::TensorEntry& tensor : table.entries()) {
    Json::Array shape;
    for (const std::uint64_t dimension : tensor.shape) {
      shape.push_back(Json(dimension));
    }
    tensors.push_back(
        Json(Json::Object{{"name", Json(tensor.name)},
                          {"shape", Json(std::move(shape))},
                          {"encoding", Json(std::string(encoding::info(tensor.encoding).name))},
                          {"bytes", Json(static_cast<std::uint64_t>(tensor.bytes.size()))}}));
  }
  return Json(std::move(tensors));
}

Json fit_json(const Fit& fit) {
  Json::Object object;
  if (fit.need) {
    object.emplace_back("weight_bytes", Json(fit.need->weight_bytes));
    object.emplace_back("state_bytes_per_token", Json(fit.need->state_bytes_per_row));
    object.emplace_back("max_positions", Json(fit.need->max_positions));
  }
  if (fit.fit) {
    object.emplace_back("context", Json(fit.fit->context));
  } else {
    object.emplace_back("problem", Json(fit.problem));
  }
  Json::Array warnings;
  for (const std::string& warning : fit.warnings) {
    warnings.push_back(Json(warning));
  }
  object.emplace_back("warnings", Json(std::move(warnings)));
  return Json(std::move(object));
}

std::string to_json(const Report& report) {
  Json::Object sizes;
  for (const auto& [name, total] : report.by_encoding) {
    sizes.emplace_back(std::string(name), total_json(total));
  }
  Json::Object object = {
      {"path", Json(report.files.path)},
      {"container", Json(std::string(report.files.gguf ? "gguf" : "safetensors"))},
      {"architecture", Json(report.architecture)},
      {"parameters", Json(report.total.elements)},
      {"bytes", Json(report.total.bytes)},
      {"encodings", Json(std::move(sizes))},
      {"fit", fit_json(report.fit)},
      {"metadata", metadata_object(report.files)},
      {"tensors", tensors_json(report.files.tensors)}};
  if (report.bad) {
    Json::Array list;
    for (const BadTensor& bad : *report.bad) {
      list.push_back(Json(Json::Object{{"name", Json(bad.name)},
                                       {"nan", Json(bad.not_a_number)},
                                       {"infinite", Json(bad.infinite)}}));
    }
    object.emplace_back("not_finite", Json(std::move(list)));
  }
  return Json(std::move(object)).dump() + "\n";
}

Status run(const Options& options) {
  ZLLM_TRY(const Report report, look_into(options));
  ZLLM_TRY(write_out(options.json ? to_json(report) : to_text(report)));
  if (report.fit.is_invalid) {
    return Error{Code::invalid_file, report.fit.problem};
  }
  if (report.bad && !report.bad->empty()) {
    return Error{
        Code::invalid_file,
        concat(report.files.path, ": tensor ", quote(report.bad->front().name),
               " has values that are not finite, as have ", report.bad->size() - 1, " others")};
  }
  return {};
}

}  // namespace

Command inspect_command() {
  return make_command<Options>("inspect", "Show what a model file holds and what fits", describe,
                               run);
}

}  // namespace zllm::cli
