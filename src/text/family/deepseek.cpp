#include <zllm/text/family/call_name.h>
#include <zllm/text/family/families.h>
#include <zllm/text/family/header_calls.h>
#include <zllm/text/family/markup_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kSeparator = "<\uff5ctool\u2581sep\uff5c>";

// "function SEPARATOR name, fence" of V3 and R1, "name SEPARATOR" of V3.1.
CallHeader header(std::string_view text) {
  const std::size_t separator = text.find(kSeparator);
  if (separator == std::string_view::npos) {
    return {};
  }
  std::string_view name = trimmed(text.substr(separator + kSeparator.size()));
  name = trimmed(name.substr(0, name.find("```")));
  if (name.empty()) {
    name = trimmed(text.substr(0, separator));
  }
  return {.name = std::string(name)};
}

const CallSyntax& calls() {
  static const HeaderCalls calls({.sections = {{"<\uff5ctool\u2581calls\u2581begin\uff5c>",
                                                "<\uff5ctool\u2581calls\u2581end\uff5c>"}},
                                  .call_begin = "<\uff5ctool\u2581call\u2581begin\uff5c>",
                                  .call_end = "<\uff5ctool\u2581call\u2581end\uff5c>",
                                  .within = {kSeparator}},
                                 header);
  return calls;
}

}  // namespace

// DeepSeek V3 and R1.
const Family& deepseek_v3() {
  static const TextFamily family(
      "deepseek_v3", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls()},
      [](std::string_view chat_template) {
        return has_all(chat_template, kSeparator, "```json") ||
               (has_all(chat_template, "<\uff5cAssistant\uff5c>") &&
                !has_any(chat_template, kSeparator));
      });
  return family;
}

// DeepSeek V3.1.
const Family& deepseek_v31() {
  static const TextFamily family(
      "deepseek_v31",
      {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls()},
      [](std::string_view chat_template) { return has_all(chat_template, kSeparator); });
  return family;
}

// DeepSeek V3.2 and V4.
const Family& deepseek_v32() {
  static const MarkupCalls calls(
      {.sections = {{"<\uff5cDSML\uff5cfunction_calls>", "</\uff5cDSML\uff5cfunction_calls>"},
                    {"<\uff5cDSML\uff5ctool_calls>", "</\uff5cDSML\uff5ctool_calls>"}},
       .call_begin = "<\uff5cDSML\uff5cinvoke",
       .call_end = "</\uff5cDSML\uff5cinvoke>",
       .within = {"\uff5cDSML\uff5c"}},
      {.name_end = ">",
       .key_begin = "<\uff5cDSML\uff5cparameter",
       .key_end = ">",
       .value_end = "</\uff5cDSML\uff5cparameter>"});
  static const TextFamily family(
      "deepseek_v32", {.reasoning_begin = "<think>", .reasoning_end = "</think>", .calls = &calls},
      [](std::string_view chat_template) {
        return has_all(chat_template, "\uff5cDSML\uff5c", "invoke");
      });
  return family;
}

}  // namespace zllm::text::family
