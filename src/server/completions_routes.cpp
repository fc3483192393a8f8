#include <utility>

#include <zllm/dialect/completions/completions.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

using Encoder = dialect::completions::Batch::Encoder;

AnswerTeller teller_of_batch(const std::shared_ptr<Encoder>& encoder) {
  return {
      .stream = [encoder](std::size_t prompt, const Event& event,
                          std::vector<dialect::Item>& out) { encoder->stream(prompt, event, out); },
      .collect = [encoder](std::size_t prompt,
                           const Event& event) { encoder->collect(prompt, event); },
      .body = [encoder] { return encoder->body(); }};
}

void complete_text(Services& services, const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto batch = dialect::completions::read(asks->body, facts_for(asks->model));
  if (!batch.ok()) {
    return call->fail(batch.error());
  }
  answer(services, *asks->model.engine,
         {.call = call,
          .answers = {},
          .teller = teller_of_batch(std::move(batch->encoder)),
          .is_streaming = batch->is_streaming},
         std::move(batch->requests));
}

}  // namespace

std::vector<Route> completions_routes(Services& services) {
  const auto handle = [&services](const std::shared_ptr<Call>& call) {
    complete_text(services, call);
  };
  return {{.method = "POST", .pattern = "/v1/completions", .handle = handle}};
}

}  // namespace zllm::server
