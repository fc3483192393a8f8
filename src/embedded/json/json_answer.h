#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <zllm/dialect/dialect.h>
#include <zllm/dialect/responses/response_store.h>
#include <zllm/embedded/engine.h>

// Bodies of the service's dialects answered in process, with the same items and no HTTP.
namespace zllm {

struct JsonRequest {
  std::string_view dialect;  // "chat", "completions", "responses" or "messages"
  std::string_view body;
  std::string model = {};   // as answers name it; empty = as the body does, else its file
  std::string caller = {};  // whose stored responses it may go on from
  // Of the dialect responses; without one nothing is stored or found.
  std::shared_ptr<dialect::responses::ResponseStore> store = {};
};

// What the service would send: the items of a stream, or one item with the whole body, which is
// the dialect's error where there was one. One reader at a time; cancel may be called by any
// thread. Destroying it cancels.
class JsonAnswer {
 public:
  virtual ~JsonAnswer() = default;

  virtual bool is_stream() const = 0;
  // Of the service's answer; that of a body is known once the body was given.
  virtual int status() const = 0;
  // The next item if there is one now.
  virtual std::optional<dialect::Item> try_next() = 0;
  // The next item, waiting for it so long at most; nothing = without end. Nothing also after the
  // last one: see is_done.
  virtual std::optional<dialect::Item> next(std::optional<std::chrono::milliseconds> limit) = 0;
  virtual bool is_done() const = 0;
  // As that of Answer.
  virtual void set_notifier(std::function<void()> notifier) = 0;
  virtual void cancel() = 0;
};

// Never null: what is wrong with a request is told as its dialect tells it. The engine must outlive
// the answer.
std::unique_ptr<JsonAnswer> submit_json(Engine& engine, const JsonRequest& request);

// Tokens of the prompt that the body asks to be answered.
Outcome<std::uint64_t> count_json_tokens(const Engine& engine, const JsonRequest& request);

}  // namespace zllm
