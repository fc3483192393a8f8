#include "loaded_model.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <utility>

#include <zllm/base/text.h>

#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

void show_warnings(const registry::Model& model, const text::Tokenizer& tokenizer) {
  for (const std::string& warning : model.loaded().warnings) {
    warn(concat("warning: ", warning));
  }
  for (const std::string& warning : tokenizer.warnings()) {
    warn(concat("warning: ", warning));
  }
}

}  // namespace

Result<LoadedModel> load_for_answers(const GenerationOptions& options) {
  commands::ModelOptions model_options = options.model;
  ZLLM_TRY(model_options.model, locate_model(options.model.model));
  StatusLine line;
  line.show(concat("loading ",
                   printable(std::filesystem::path(model_options.model).filename().string()),
                   " ..."));
  // Waited for by the future's destructor, whatever happens to the weights.
  auto text =
      std::async(std::launch::async, load_model_text, model_options.model, options.pre_tokenizer);
  ZLLM_TRY(registry::Model model, commands::load(model_options));
  ZLLM_TRY(ModelText loaded_text, text.get());
  line.clear();
  show_warnings(model, loaded_text.tokenizer);
  const auto& config = model.files().generation_config;
  ZLLM_TRY(sampling::SamplingParameters sampling,
           sampling_parameters(options, config ? &*config : nullptr));
  ZLLM_TRY(sampling::validate(sampling, model.model().info().limits.vocabulary));
  std::vector<TokenId> end_tokens = model.loaded().end_tokens;
  for (const TokenId token : loaded_text.tokenizer.end_tokens()) {
    if (std::ranges::find(end_tokens, token) == end_tokens.end()) {
      end_tokens.push_back(token);
    }
  }
  return LoadedModel{.model = std::move(model),
                     .text = std::move(loaded_text),
                     .sampling = std::move(sampling),
                     .end_tokens = std::move(end_tokens)};
}

}  // namespace zllm::cli
