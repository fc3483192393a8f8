#include <zllm/text/family/families.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {

// GLM 4.5 to 5.
const Family& glm4() {
  static const MarkupCalls calls({.call_begin = "<tool_call>", .call_end = "</tool_call>"},
                                 {.key_begin = "<arg_key>",
                                  .key_end = "</arg_key>",
                                  .value_begin = "<arg_value>",
                                  .value_end = "</arg_value>"});
  static const TextFamily family(
      "glm4", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "<tool_call>", "<arg_key>", "<arg_value>");
      });
  return family;
}

}  // namespace zllm::text::family
