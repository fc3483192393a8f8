#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/model_text.h>
#include <zllm/embedded/request.h>
#include <zllm/text/chat_template.h>
#include <zllm/text/guarded_prompt.h>

namespace zllm {

struct Prompt {
  std::vector<TokenId> tokens;
  std::string text;                  // as a person reads it
  std::size_t added_begin = 0;       // tokens at its start that are not in the text
  std::string template_source = {};  // of a conversation
};

struct PromptLimit {
  std::uint64_t context;      // of the model
  bool refuses_long = false;  // a prompt that cannot fit, before all of it is encoded
};

// The template for the conversation. Refuses models without one, and tools where the template does
// not read them.
Outcome<text::ChatTemplate> choose_template(const ModelText& text,
                                            const Conversation& conversation);
// Renders, and encodes so that text of users never becomes control tokens. Errors of the template
// itself are the request's.
// guard: unused yet, of the model's tokenizer; each prompt works on a copy, which costs little.
Outcome<Prompt> make_prompt(const ModelText& text, const text::PromptGuard& guard,
                            const Request& request, const PromptLimit& limit);

Failure too_long(const Request& request, std::string_view length, std::uint64_t context);

}  // namespace zllm
