#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/embedded/engine.h>
#include <zllm/embedded/json/json_answer.h>

namespace zllm {

// An encoder of any dialect. `index`: which request of the body an event belongs to.
class JsonEncoder {
 public:
  virtual ~JsonEncoder() = default;
  virtual void stream(std::size_t index, const Event& event, std::vector<dialect::Item>& out) = 0;
  virtual void collect(std::size_t index, const Event& event) = 0;
  virtual std::string body() = 0;
};

struct JsonExchange {
  std::vector<Request> requests;  // at least one
  bool is_streaming = false;
  std::unique_ptr<JsonEncoder> encoder;
};

// model: whose file names it where neither the caller nor the body does.
Outcome<JsonExchange> read_exchange(const JsonRequest& request, const EngineInfo& model);

// A failure in the dialect's shape; the OpenAI one where the dialect is not known.
std::string json_error(std::string_view dialect, const Failure& failure);

}  // namespace zllm
