#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/model_text.h>
#include <zllm/embedded/request.h>
#include <zllm/text/chat_template.h>

namespace zllm {

struct Prompt {
  std::vector<TokenId> tokens;
  std::string text;                  // as a person reads it
  std::size_t added_begin = 0;       // tokens at its start that are not in the text
  std::string template_source = {};  // of a conversation
};

// The template for the conversation. Refuses models without one, and tools where the template does
// not read them.
Outcome<text::ChatTemplate> choose_template(const ModelText& text,
                                            const Conversation& conversation);
// Renders, and encodes so that text of users never becomes control tokens. Errors of the template
// itself are the request's.
Outcome<Prompt> make_prompt(const ModelText& text, const Request& request);

}  // namespace zllm
