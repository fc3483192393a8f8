#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::chat {

struct ChatAnswer {
  AnswerFacts facts;
  std::uint32_t choices = 1;
  bool has_log_probabilities = false;
  bool names_tier = false;  // of the service, as who asked for one is told
  OutputOptions output = {};
};

// Writes chat.completion and chat.completion.chunk objects.
class ChatEncoder final : public Encoder {
 public:
  explicit ChatEncoder(ChatAnswer answer);

  void stream(const Event& event, std::vector<Item>& out) override;
  void collect(const Event& event) override;
  std::string body() override;

 private:
  struct Call {
    std::string id, name, arguments;
  };
  struct Choice {
    bool is_open = false;  // its first chunk was sent
    std::string content, reasoning;
    std::vector<Call> calls;
    std::string scored;       // JSON texts with commas between
    bool has_scores = false;  // some were streamed
    StopReason reason = StopReason::end;
  };

  Choice& choice_of(const Event& event);
  static Call& call_of(Choice& choice, std::uint32_t index);
  void send(const Event& event, std::string_view delta, std::string_view reason,
            std::vector<Item>& out) const;
  void end(const Ended& ended, std::vector<Item>& out);
  void write_choice(JsonWriter& json, std::uint32_t index, const Choice& choice) const;

  ChatAnswer answer_;
  std::string chunk_begin_;  // of every chunk, up to its choices
  std::vector<Choice> choices_;
  Ended ended_;
};

}  // namespace zllm::dialect::chat
