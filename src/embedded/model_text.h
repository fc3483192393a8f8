#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/text/chat_template_set.h>
#include <zllm/text/tokenizer.h>

namespace zllm {

// What a model needs between text and ids. Chat templates are there as far as its files have any.
struct ModelText {
  text::Tokenizer tokenizer;
  text::ChatTemplateSet templates;
  text::SpecialTokens special_tokens;
};

// From the tokenizer's files of a Hub-layout folder or from a GGUF file; needs no weights.
// pre_tokenizer: taken in place of the one that a GGUF file names, unless empty.
Result<ModelText> load_model_text(const std::string& path, const std::string& pre_tokenizer = {});

// The rendered prompt of a request {messages, tools, ...} given as JSON text.
Result<std::string> render_request(const ModelText& text, std::string_view request);

}  // namespace zllm
