#pragma once

#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/embedded/model_text.h>

namespace zllm::cli {

struct Message {
  std::string role;
  std::string content;
};

// The ids of a conversation that the assistant is to go on with, rendered by the model's chat
// template. Control tokens come from the template alone: what looks like one in a message stays
// text. An error when the model has no template.
Result<std::vector<TokenId>> encode_conversation(const ModelText& text,
                                                 const std::vector<Message>& messages);

}  // namespace zllm::cli
