#include <zllm/dialect/dialect.h>

#include <utility>

#include <zllm/base/check.h>

namespace zllm::dialect {
namespace {

class SingleEncoder final : public BatchEncoder {
 public:
  explicit SingleEncoder(std::unique_ptr<Encoder> encoder) : encoder_(std::move(encoder)) {}

  void stream(std::size_t, const Event& event, std::vector<Item>& out) override {
    encoder_->stream(event, out);
  }
  void collect(std::size_t, const Event& event) override { encoder_->collect(event); }
  std::string body() override { return encoder_->body(); }
  void abandon() override { encoder_->abandon(); }

 private:
  std::unique_ptr<Encoder> encoder_;
};

}  // namespace

Batch batch_of(Exchange exchange) {
  Batch batch;
  batch.requests.push_back(std::move(exchange.request));
  batch.is_streaming = exchange.is_streaming;
  batch.encoder = std::make_unique<SingleEncoder>(std::move(exchange.encoder));
  return batch;
}

int http_status(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid:
    case FailureKind::too_long:
    case FailureKind::unsupported:
      return 400;
    case FailureKind::not_found:
      return 404;
    case FailureKind::busy:
      return 429;
    case FailureKind::internal:
      return 500;
    case FailureKind::loading:
    case FailureKind::shut_down:
    case FailureKind::out_of_memory:
      return 503;
    case FailureKind::deadline:
      return 504;
  }
  ZLLM_CHECK(false, "a failure of no kind");
}

}  // namespace zllm::dialect
