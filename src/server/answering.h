#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/server/answer_pump.h>
#include <zllm/server/services.h>

namespace zllm::server {

// What a call asks: its body, and the model that the body's member "model" names.
struct Asked {
  Json body;
  ModelSet::Entry model;
};
// Notes the model's name; nothing where the call has failed.
std::optional<Asked> asked(const Services& services, Call& call);

// What an answer is called and when it began.
dialect::AnswerFacts facts_for(const ModelSet::Entry& model);

// Fills in what the server knows of a request: who asks, and until when it may take.
void complete(const Services& services, const Call& call, Request& request);

// Answers a call by a dialect's exchange.
void answer(Services& services, const std::shared_ptr<Call>& call, Engine& engine,
            dialect::Exchange exchange);
// Submits the requests of one call and starts telling; or fails the call.
std::shared_ptr<AnswerPump> answer(Services& services, Engine& engine, AnswerPump::Job job,
                                   std::vector<Request> requests);

}  // namespace zllm::server
