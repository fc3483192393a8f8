#include <zllm/text/family/family.h>

#include <array>

#include <zllm/text/family/families.h>

namespace zllm::text::family {
namespace {

// In the order in which templates are tried; the generic one, last, matches every one.
std::span<const Family *const> ordered() {
  static const std::array<const Family *, 13> families = {
      &harmony(), &deepseek_v32(), &deepseek_v3(), &deepseek_v31(), &kimi_k2(),
      &mistral(), &minimax(),      &seed_oss(),    &glm4(),         &qwen3_coder(),
      &llama3(),  &hermes(),       &generic()};
  return families;
}

}  // namespace

std::span<const Family *const> all_families() { return ordered(); }

const Family *find_family(std::string_view name) {
  for (const Family *family : ordered()) {
    if (family->name() == name) {
      return family;
    }
  }
  return nullptr;
}

const Family& detect_family(std::string_view chat_template) {
  for (const Family *family : ordered()) {
    if (family->matches(chat_template)) {
      return *family;
    }
  }
  return generic();
}

bool is_reasoning_open(const Family& family, std::string_view rendered_prompt) {
  const std::string_view begin = family.reasoning_begin();
  const std::size_t last = rendered_prompt.find_last_not_of(" \t\r\n");
  // A marker further in front may as well be a user's word about it.
  return !begin.empty() && last != std::string_view::npos &&
         rendered_prompt.substr(0, last + 1).ends_with(begin);
}

}  // namespace zllm::text::family
