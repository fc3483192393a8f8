#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/dialect/responses/custom_tool.h>
#include <zllm/dialect/responses/output_item.h>
#include <zllm/dialect/responses/response_settings.h>
#include <zllm/dialect/responses/response_store.h>

namespace zllm::dialect::responses {

// Writes a response and keeps it in the store.
class ResponsesEncoder : public Encoder {
 public:
  ResponsesEncoder(ResponseSettings settings, std::shared_ptr<ResponseStore> store);

  void stream(const Event& event, std::vector<Item>& out) override;
  void collect(const Event& event) override;
  std::string body() override { return response(); }
  void abandon() override;

  // Before any event.
  StoredResponse queued() const { return snapshot(); }

 private:
  void take(const Event& event);
  void on(const Started& started);
  void on(const ContentDelta& delta);
  void on(const ReasoningDelta& delta);
  void on(const CallStarted& call);
  void on(const CallDelta& delta);
  void on(const CallFinished& call);
  void on(const ChoiceEnded& end);
  void on(const Ended& ended);

  void start_response();
  void note_scored(const Event& event);
  void add_call_text(std::string_view event, const std::string& text);
  void add_text(ItemKind kind, std::string_view event, const std::string& text);
  OutputItem& enter(ItemKind kind);
  void start_item(OutputItem item);
  void start_part();
  void stop_item(std::string_view status);
  void stop_part(const OutputItem& item);
  bool is_in_call(std::uint32_t call) const;
  bool is_streamed() const { return out_ != nullptr || settings_.events != nullptr; }

  JsonWriter begin_event(std::string_view type);
  JsonWriter begin_item_event(std::string_view type);
  void send(std::string_view type, JsonWriter json);
  void send_response(std::string_view type);
  void send_item(std::string_view type);

  std::string response() const;
  StoredResponse snapshot() const;
  void keep();

  ResponseSettings settings_;
  std::shared_ptr<ResponseStore> store_;
  std::vector<Item> *out_ = nullptr;  // of the event that is taken; null when collecting
  std::uint64_t sequence_number_ = 0;
  std::string_view status_;
  bool is_started_ = false;
  bool is_kept_ = false;  // the store has had it
  std::vector<OutputItem> items_;
  bool is_open_ = false;  // the last item
  CustomInput input_;     // of the last item, where it is a custom call
  std::string scored_;    // tokens whose text is not told yet
  std::optional<ChoiceEnded> end_;
  std::optional<Ended> ended_;
};

}  // namespace zllm::dialect::responses
