#include "template.h"

#include <zllm/embedded/model_text.h>

#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

struct Options {
  std::string model;
};

void describe(Options& options, OptionTable& table) {
  table.text("model", "PATH", "Folder with the tokenizer's files, or GGUF file", options.model);
}

Status run(const Options& options) {
  ZLLM_TRY(const std::string path, locate_model(options.model));
  ZLLM_TRY(const std::string request, read_stdin());
  ZLLM_TRY(const ModelText text, load_model_text(path));
  ZLLM_TRY(const std::string rendered, render_request(text, request));
  return write_out(rendered);
}

}  // namespace

Command template_command() {
  return make_command<Options>(
      "template", "Render a request {messages, tools, ...} from stdin by the chat template",
      describe, run);
}

}  // namespace zllm::cli
