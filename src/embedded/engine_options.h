#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/strong.h>
#include <zllm/embedded/model_text.h>
#include <zllm/runtime/any_model.h>

namespace zllm {

struct EngineOptions {
  std::string model;  // Hub-layout folder or GGUF file
  std::string backend = "cpu";
  unsigned threads = 0;       // 0 = as many as the process may use
  std::uint64_t context = 0;  // of one answer with its prompt; 0 = the model's, as memory allows
  std::uint64_t cache_tokens =
      0;                     // that all answers and cached prefixes hold together; 0 = fitting
  std::string kv_type = {};  // "f16", "f32"; empty = f16
  std::uint32_t max_concurrent = 16;  // answers computed at once; others wait
  std::size_t queue_length = 1024;
  std::uint64_t prefill_budget = 0;  // prompt tokens of a round beside running answers; 0 = default
  bool prefix_cache = true;
  std::uint64_t prefix_cache_bytes = 0;  // 0 = what answers leave free
  std::string prefix_cache_folder = {};  // evicted prefixes go there; empty = nowhere
  std::uint64_t prefix_cache_folder_bytes = std::uint64_t{10} << 30;
  std::uint64_t swap_bytes = 0;    // host memory for preempted answers
  std::string chat_template = {};  // source, in place of the model's own
  std::string family = {};         // of output; empty = by the template
  std::string pre_tokenizer = {};  // of a GGUF file without one
  double usual_temperature = 1;    // where neither a request nor the model's files say one
  bool prepares_fences = true;     // at load; off: by the first request that needs them
};

// What an Engine stands on.
struct EngineParts {
  std::unique_ptr<runtime::AnyModel> model;
  ModelText text;
  std::vector<TokenId> end_tokens;
  std::optional<Json> generation_config = {};
  std::vector<std::string> warnings = {};
  std::function<Status()> check = {};  // of the model's files, after every round
  std::string identity = {};           // of the weights; states on disk carry it
  std::uint32_t cached_states = 0;     // of a recurrent model, beside those of answers; 0 = few
};

}  // namespace zllm
