#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/embedded/answer.h>
#include <zllm/embedded/engine_options.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>
#include <zllm/engine/statistics.h>
#include <zllm/sampling/parameters.h>

namespace zllm {

struct EngineInfo {
  std::string path;
  std::string architecture;
  std::string backend;
  std::string family;    // of output (text/family)
  std::string identity;  // of the weights, the backend and the cache's type
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;
  std::uint64_t context = 0;  // tokens of prompt and answer together
  std::uint64_t vocabulary = 0;
  bool has_chat_template = false;
  bool template_takes_tools = false;
  sampling::SamplingParameters sampling;  // of a request that sets nothing, but for its seed
  std::vector<std::string> warnings;
};

// A loaded model that answers many requests at once. Thread-safe. Ends what runs when destroyed.
class Engine {
 public:
  // Errors name the file or option.
  static Result<std::unique_ptr<Engine>> load(const EngineOptions& options);
  // On parts that the caller made: tests, other sources of models.
  static Result<std::unique_ptr<Engine>> create(EngineParts parts, const EngineOptions& options);
  virtual ~Engine() = default;

  // Checks the request, renders and encodes its prompt on this thread, and queues it.
  virtual Outcome<std::unique_ptr<Answer>> submit(Request request) = 0;

  // The prompt of a conversation as its template renders it.
  virtual Outcome<std::string> render(const Request& request) const = 0;
  // Tokens of the prompt that submit would compute.
  virtual Outcome<std::uint64_t> count_prompt_tokens(const Request& request) const = 0;
  virtual Outcome<std::vector<TokenId>> tokenize(std::string_view text, bool add_special,
                                                 bool parse_special) const = 0;
  virtual Outcome<std::string> detokenize(const std::vector<TokenId>& tokens) const = 0;
  // Bytes of one token; empty for ids that are not known.
  virtual std::string token_bytes(TokenId token) const = 0;

  virtual const EngineInfo& info() const = 0;
  virtual engine::Statistics statistics() const = 0;
};

}  // namespace zllm
