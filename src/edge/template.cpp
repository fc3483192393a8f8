#include <zllm/edge/template.h>

#include <zllm/edge/call.h>

namespace zllm::edge {

void Template::Free::operator()(EdgeTemplate *compiled) const { edge_template_free(compiled); }

Result<Template> Template::compile(std::string_view source) {
  EdgeTemplate *raw = nullptr;
  ZLLM_TRY(call(edge_template_compile, slice(source), &raw));
  return Template(raw);
}

Result<std::string> Template::render(std::string_view request, std::string_view special_tokens,
                                     std::int64_t local_seconds) const {
  Bytes text;
  ZLLM_TRY(call(edge_template_render, raw_.get(), slice(request), slice(special_tokens),
                local_seconds, text.out()));
  return std::string(text.view());
}

Result<bool> Template::reads(std::string_view name) const {
  std::uint32_t found = 0;
  ZLLM_TRY(call(edge_template_reads, raw_.get(), slice(name), &found));
  return found != 0;
}

}  // namespace zllm::edge
