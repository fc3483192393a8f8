#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/edge/edge.h>

namespace zllm::edge {

// Owner of a compiled chat template of rust/edge. Thread-safe; movable.
class Template {
 public:
  // From UTF-8 source.
  static Result<Template> compile(std::string_view source);

  // Both arguments are texts of JSON objects; edge.h says what is in them.
  Result<std::string> render(std::string_view request, std::string_view special_tokens,
                             std::int64_t local_seconds) const;
  // Whether any expression of the template reads the name.
  Result<bool> reads(std::string_view name) const;

 private:
  struct Free {
    void operator()(EdgeTemplate *compiled) const;
  };
  explicit Template(EdgeTemplate *raw) : raw_(raw) {}
  std::unique_ptr<EdgeTemplate, Free> raw_;
};

}  // namespace zllm::edge
