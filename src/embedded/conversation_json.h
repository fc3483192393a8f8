#pragma once

#include <string>
#include <string_view>

#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>

namespace zllm {

struct TemplateInput {
  const Conversation& conversation;
  const ReasoningOptions& reasoning;
  std::string_view template_source;
  std::string_view end_mark = {};  // comes after the last message's content, where it is continued
};

// The request to a chat template as transformers hands it over: arguments of calls as objects, a
// name for every tool's turn, names for thinking that the known templates read. A developer's turn
// is a system's where the template knows no developer.
Outcome<std::string> conversation_json(const TemplateInput& input);

}  // namespace zllm
