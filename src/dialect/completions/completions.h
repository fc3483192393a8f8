#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>

// OpenAI's Completions: platform.openai.com/docs/api-reference/completions.
namespace zllm::dialect::completions {

// A body may have several prompts, each a request of its own; `combine` makes one answer of them.
struct Batch {
  std::vector<Request> requests;  // one a prompt, at least one
  bool is_streaming = false;
  // Sees the events of all requests: Event::choice is that of its request, `prompt` its index.
  class Encoder {
   public:
    virtual ~Encoder() = default;
    virtual void stream(std::size_t prompt, const Event& event, std::vector<Item>& out) = 0;
    virtual void collect(std::size_t prompt, const Event& event) = 0;
    virtual std::string body() = 0;
  };
  std::unique_ptr<Encoder> encoder;
};

Outcome<Batch> read(const Json& body, const AnswerFacts& facts);

}  // namespace zllm::dialect::completions
