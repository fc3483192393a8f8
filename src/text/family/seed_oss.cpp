#include <zllm/text/family/families.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {

// Seed-OSS.
const Family& seed_oss() {
  static const MarkupCalls calls = function_calls({"<seed:tool_call>", "</seed:tool_call>"});
  static const TextFamily family(
      "seed_oss",
      {.reasoning_begin = "<seed:think>", .reasoning_end = "</seed:think>", .calls = &calls},
      [](std::string_view chat_template) { return has_all(chat_template, "<seed:tool_call>"); });
  return family;
}

}  // namespace zllm::text::family
