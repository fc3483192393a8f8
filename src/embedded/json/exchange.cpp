#include <zllm/embedded/json/exchange.h>

#include <ctime>
#include <filesystem>

#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/anthropic/messages.h>
#include <zllm/dialect/chat/chat.h>
#include <zllm/dialect/completions/completions.h>
#include <zllm/dialect/responses/responses.h>
#include <zllm/dialect/responses/responses_routes.h>
#include <zllm/embedded/random_name.h>

namespace zllm {
namespace {

constexpr std::size_t kUniqueLength = 24;

class SingleEncoder final : public JsonEncoder {
 public:
  explicit SingleEncoder(std::unique_ptr<dialect::Encoder> encoder)
      : encoder_(std::move(encoder)) {}
  void stream(std::size_t, const Event& event, std::vector<dialect::Item>& out) override {
    encoder_->stream(event, out);
  }
  void collect(std::size_t, const Event& event) override { encoder_->collect(event); }
  std::string body() override { return encoder_->body(); }

 private:
  std::unique_ptr<dialect::Encoder> encoder_;
};

class BatchEncoder final : public JsonEncoder {
 public:
  using Encoder = dialect::completions::Batch::Encoder;
  explicit BatchEncoder(std::unique_ptr<Encoder> encoder) : encoder_(std::move(encoder)) {}
  void stream(std::size_t index, const Event& event, std::vector<dialect::Item>& out) override {
    encoder_->stream(index, event, out);
  }
  void collect(std::size_t index, const Event& event) override { encoder_->collect(index, event); }
  std::string body() override { return encoder_->body(); }

 private:
  std::unique_ptr<Encoder> encoder_;
};

JsonExchange single(dialect::Exchange exchange) {
  JsonExchange made;
  made.requests.push_back(std::move(exchange.request));
  made.is_streaming = exchange.is_streaming;
  made.encoder = std::make_unique<SingleEncoder>(std::move(exchange.encoder));
  return made;
}

Outcome<JsonExchange> read_responses(const JsonRequest& request, const Json& body,
                                     const dialect::AnswerFacts& facts) {
  ZLLM_TRY(auto read, dialect::responses::read(body, facts, request.caller, request.store));
  if (read.is_background) {
    return Failure(FailureKind::unsupported,
                   "an answer in process has no background; leave 'background' out", "background");
  }
  return single(std::move(read.exchange));
}

Outcome<JsonExchange> read_completions(const Json& body, const dialect::AnswerFacts& facts) {
  ZLLM_TRY(auto batch, dialect::completions::read(body, facts));
  JsonExchange made;
  made.requests = std::move(batch.requests);
  made.is_streaming = batch.is_streaming;
  made.encoder = std::make_unique<BatchEncoder>(std::move(batch.encoder));
  return made;
}

std::string own_name(const EngineInfo& model) {
  const std::filesystem::path path = model.path;
  return path.has_filename() ? path.filename().string() : model.architecture;
}

std::string model_name(const JsonRequest& request, const Json& body, const EngineInfo& model) {
  if (!request.model.empty()) {
    return request.model;
  }
  const Json *named = body.find("model");
  const std::string *name = named == nullptr ? nullptr : named->as_string();
  return name == nullptr || name->empty() ? own_name(model) : *name;
}

}  // namespace

Outcome<JsonExchange> read_exchange(const JsonRequest& request, const EngineInfo& model) {
  const auto parsed = Json::parse(request.body, "the body");
  if (!parsed.ok()) {
    return Failure(FailureKind::invalid, parsed.error().message);
  }
  const Json& body = *parsed;
  if (body.as_object() == nullptr) {
    return Failure(FailureKind::invalid, "the body must be a JSON object");
  }
  const dialect::AnswerFacts facts{.unique = random_name(kUniqueLength),
                                   .created = std::time(nullptr),
                                   .model = model_name(request, body, model),
                                   .identity = model.identity};
  if (request.dialect == "chat") {
    ZLLM_TRY(auto exchange, dialect::chat::read(body, facts));
    return single(std::move(exchange));
  }
  if (request.dialect == "messages") {
    ZLLM_TRY(auto exchange, dialect::anthropic::read(body, facts));
    return single(std::move(exchange));
  }
  if (request.dialect == "responses") {
    return read_responses(request, body, facts);
  }
  if (request.dialect == "completions") {
    return read_completions(body, facts);
  }
  return Failure(FailureKind::not_found,
                 concat("the dialect ", quote(request.dialect),
                        " is not one of chat, completions, responses, messages"));
}

std::string json_error(std::string_view dialect, const Failure& failure) {
  if (dialect == "messages") {
    return dialect::anthropic::error_body(failure, concat("req_", random_name(kUniqueLength)));
  }
  if (dialect == "responses") {
    return dialect::responses::error_body(failure);
  }
  return dialect::chat::error_body(failure);
}

}  // namespace zllm
