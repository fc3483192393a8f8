#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/check.h>
#include <zllm/base/utf8.h>
#include <zllm/text/chat_template.h>

namespace {

constexpr std::string_view kTemplate =
    "{%- if tools %}{{ tools | tojson }}{%- endif %}{%- for message in messages %}"
    "{{ '<|' + message.role + '|>' + (message.content or '') | trim }}"
    "{%- for call in message.tool_calls or [] %}{{ call.function.arguments | tojson }}{%- endfor %}"
    "{%- endfor %}{%- if add_generation_prompt %}{{ '<|assistant|>' }}{%- endif %}";
constexpr std::string_view kRequest =
    R"({"messages":[{"role":"user","content":"a <b> 'c' \u00e9"}],"tools":null,"x":[1,2.5,null]})";

}  // namespace

// An even first byte: the rest is a request for a usual template; an odd one: a template.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (!zllm::is_valid_utf8(rest)) {
    return 0;
  }
  const bool is_template = data[0] % 2 != 0;
  const auto compiled = zllm::text::ChatTemplate::compile(is_template ? rest : kTemplate);
  if (!compiled.ok()) {
    ZLLM_CHECK(is_template && !compiled.error().message.empty(), "a refusal without a reason");
    return 0;
  }
  const auto prompt =
      compiled->render(is_template ? kRequest : rest, {.special_tokens = {}, .local_seconds = 0});
  if (prompt.ok()) {
    ZLLM_CHECK(zllm::is_valid_utf8(*prompt), "a prompt that is not UTF-8");
  } else {
    ZLLM_CHECK(is_template || !prompt.error().message.empty(), "a refusal without a reason");
  }
  return 0;
}
