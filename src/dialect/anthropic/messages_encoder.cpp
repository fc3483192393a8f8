#include <zllm/dialect/anthropic/messages_encoder.h>

#include <optional>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/anthropic/conversation.h>
#include <zllm/dialect/anthropic/messages.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::anthropic {
namespace {

enum class BlockKind : std::uint8_t { thinking, text, tool_use };

struct Block {
  BlockKind kind = BlockKind::text;
  std::string text = {};  // thinking, text or the JSON text of the input, as far as it is told
  std::string id = {};    // of the call
  std::string name = {};  // of the tool
  std::uint32_t call = 0;
};

std::string_view stop_reason(const ChoiceEnded& end) {
  switch (end.reason) {
    case StopReason::end:
    case StopReason::cancelled:
      return "end_turn";
    case StopReason::stop:
      return end.stop_string.empty() ? "end_turn" : "stop_sequence";
    case StopReason::length:
      return end.is_context_full ? "model_context_window_exceeded" : "max_tokens";
    case StopReason::calls:
      return "tool_use";
  }
  return "end_turn";
}

// Input is an object whatever the model wrote; what is none is told as the API's documents advise.
void write_input(JsonWriter& json, const std::string& arguments) {
  if (arguments.empty()) {
    json.raw("input", "{}");
    return;
  }
  const auto parsed = Json::parse(arguments, "arguments");
  if (parsed.ok() && parsed->as_object() != nullptr) {
    json.raw("input", arguments);
  } else {
    json.begin_object("input").text("INVALID_JSON", arguments).end_object();
  }
}

class MessagesEncoder : public Encoder {
 public:
  MessagesEncoder(const AnswerFacts& facts, bool tells_thinking)
      : facts_(facts), tells_thinking_(tells_thinking) {}

  void stream(const Event& event, std::vector<Item>& out) override {
    out_ = &out;
    take(event);
    out_ = nullptr;
  }
  void collect(const Event& event) override { take(event); }

  std::string body() override {
    JsonWriter json;
    write_message(json);
    return std::move(json).str();
  }

 private:
  void take(const Event& event) {
    std::visit([this](const auto& what) { on(what); }, event.what);
  }

  void on(const Started& started) {
    usage_.prompt_tokens = started.prompt_tokens;
    usage_.cached_tokens = started.cached_tokens;
    start_message();
  }
  void on(const ContentDelta& delta) {
    if (!delta.text.empty()) {
      add(enter(BlockKind::text), "text_delta", "text", delta.text);
    }
  }
  void on(const ReasoningDelta& delta) {
    if (delta.text.empty()) {
      return;
    }
    Block& block = enter(BlockKind::thinking);
    if (tells_thinking_) {
      add(block, "thinking_delta", "thinking", delta.text);
    }
  }
  void on(const CallStarted& call) {
    start_block({.kind = BlockKind::tool_use,
                 .id = concat(kCallPrefix, call.id),
                 .name = call.name,
                 .call = call.call});
  }
  void on(const CallDelta& delta) {
    if (!delta.arguments.empty() && is_in_call(delta.call)) {
      add(blocks_.back(), "input_json_delta", "partial_json", delta.arguments);
    }
  }
  void on(const CallFinished& call) {
    if (is_in_call(call.call)) {
      stop_block();
    }
  }
  void on(const ChoiceEnded& end) {
    stop_block();
    end_ = end;
  }
  void on(const Ended& ended) {
    if (ended.failure.has_value()) {
      send("error", error_body(*ended.failure, ""));
      return;
    }
    usage_ = ended.usage;
    start_message();
    stop_block();
    if (blocks_.empty()) {
      // Clients read the first block without looking whether there is one.
      start_block({.kind = BlockKind::text});
      stop_block();
    }
    JsonWriter json;
    json.begin_object().text("type", "message_delta").begin_object("delta");
    write_stop(json);
    json.end_object();
    write_usage(json, false);
    send("message_delta", json.end_object().str());
    send("message_stop", R"({"type":"message_stop"})");
  }

  void start_message() {
    if (std::exchange(is_started_, true)) {
      return;
    }
    JsonWriter json;
    json.begin_object().text("type", "message_start").key("message");
    write_message(json);
    send("message_start", json.end_object().str());
  }

  bool is_in_call(std::uint32_t call) const {
    return is_open_ && blocks_.back().kind == BlockKind::tool_use && blocks_.back().call == call;
  }
  // The open block if it is of the kind, else a new one.
  Block& enter(BlockKind kind) {
    if (!is_open_ || blocks_.back().kind != kind) {
      start_block({.kind = kind});
    }
    return blocks_.back();
  }
  void start_block(Block block) {
    start_message();
    stop_block();
    blocks_.push_back(std::move(block));
    is_open_ = true;
    JsonWriter json = begin_block_event("content_block_start");
    json.key("content_block");
    write_block(json, blocks_.back(), false);
    send("content_block_start", json.end_object().str());
  }
  void stop_block() {
    if (!std::exchange(is_open_, false)) {
      return;
    }
    if (blocks_.back().kind == BlockKind::thinking) {
      send_delta("signature_delta", "signature", signature());
    }
    send("content_block_stop", begin_block_event("content_block_stop").end_object().str());
  }
  void add(Block& block, std::string_view type, std::string_view field, const std::string& text) {
    if (out_ == nullptr) {
      block.text += text;
    } else {
      send_delta(type, field, text);
    }
  }
  void send_delta(std::string_view type, std::string_view field, std::string_view text) {
    JsonWriter json = begin_block_event("content_block_delta");
    json.begin_object("delta").text("type", type).text(field, text).end_object();
    send("content_block_delta", json.end_object().str());
  }
  JsonWriter begin_block_event(std::string_view type) const {
    JsonWriter json;
    json.begin_object().text("type", type).integer("index", blocks_.size() - 1);
    return json;
  }
  void send(std::string event, std::string data) {
    if (out_ != nullptr) {
      out_->push_back({std::move(event), std::move(data)});
    }
  }

  // Clients must give one back and some drop thinking whose signature is empty; nobody checks it.
  std::string signature() const { return concat("zllm-", facts_.unique); }

  void write_block(JsonWriter& json, const Block& block, bool is_whole) const {
    json.begin_object();
    switch (block.kind) {
      case BlockKind::thinking:
        json.text("type", "thinking").text("thinking", block.text);
        json.text("signature", is_whole ? signature() : "");
        break;
      case BlockKind::text:
        json.text("type", "text").text("text", block.text);
        break;
      case BlockKind::tool_use:
        json.text("type", "tool_use").text("id", block.id).text("name", block.name);
        write_input(json, block.text);
        break;
    }
    json.end_object();
  }
  void write_message(JsonWriter& json) const {
    json.begin_object().text("id", concat("msg_", facts_.unique));
    json.text("type", "message").text("role", "assistant").text("model", facts_.model);
    json.begin_array("content");
    for (const Block& block : blocks_) {
      write_block(json, block, true);
    }
    json.end_array();
    write_stop(json);
    write_usage(json, true);
    json.end_object();
  }
  void write_stop(JsonWriter& json) const {
    if (!end_.has_value()) {
      json.null("stop_reason").null("stop_sequence");
      return;
    }
    const std::string_view reason = stop_reason(*end_);
    json.text("stop_reason", reason);
    if (reason == "stop_sequence") {
      json.text("stop_sequence", end_->stop_string);
    } else {
      json.null("stop_sequence");
    }
  }
  void write_usage(JsonWriter& json, bool names_tier) const {
    json.begin_object("usage");
    json.integer("input_tokens", usage_.prompt_tokens - usage_.cached_tokens);
    json.integer("cache_creation_input_tokens", 0);
    json.integer("cache_read_input_tokens", usage_.cached_tokens);
    json.integer("output_tokens", usage_.completion_tokens);
    json.begin_object("output_tokens_details");
    json.integer("thinking_tokens", usage_.reasoning_tokens).end_object();
    if (names_tier) {
      json.text("service_tier", "standard");
    }
    json.end_object();
  }

  AnswerFacts facts_;
  bool tells_thinking_ = true;
  std::vector<Item> *out_ = nullptr;  // of the event that is taken; null when collecting
  bool is_started_ = false;
  std::vector<Block> blocks_;
  bool is_open_ = false;  // the last block
  std::optional<ChoiceEnded> end_;
  Usage usage_;
};

}  // namespace

std::unique_ptr<Encoder> make_messages_encoder(const AnswerFacts& facts, bool tells_thinking) {
  return std::make_unique<MessagesEncoder>(facts, tells_thinking);
}

}  // namespace zllm::dialect::anthropic
