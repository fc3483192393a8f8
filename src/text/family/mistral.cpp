#include <zllm/text/family/call_name.h>
#include <zllm/text/family/families.h>
#include <zllm/text/family/header_calls.h>
#include <zllm/text/family/text_family.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kCalls = "[TOOL_CALLS]";
constexpr std::string_view kId = "[CALL_ID]";
constexpr std::string_view kArguments = "[ARGS]";

// "name", "name[ARGS]" or "name[CALL_ID]id[ARGS]".
CallHeader header(std::string_view text) {
  const std::string_view front = text.substr(0, text.find(kArguments));
  const std::size_t id = front.find(kId);
  CallHeader found = {.name = std::string(trimmed(front.substr(0, id)))};
  if (id != std::string_view::npos) {
    found.id = trimmed(front.substr(id + kId.size()));
  }
  return found;
}

}  // namespace

// Mistral with tools; the old form is an array whose calls have their ids behind the arguments.
const Family& mistral() {
  static const HeaderCalls calls(
      {.call_begin = kCalls, .within = {kId, kArguments}, .ids_follow = true}, header);
  static const TextFamily family(
      "mistral", {.reasoning_begin = "[THINK]", .reasoning_end = "[/THINK]", .calls = &calls},
      [](std::string_view chat_template) { return has_all(chat_template, kCalls); });
  return family;
}

}  // namespace zllm::text::family
