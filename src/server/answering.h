#pragma once

#include <memory>
#include <optional>
#include <string>

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

// Fills in what the server knows of a request: who asks, and until when it may take. Fails where it
// asks for more than the server grants.
Outcome<Done> complete(const Services& services, const Call& call, Request& request);

// Submits the requests of a call's body and starts telling; or fails the call.
void answer(Services& services, const std::shared_ptr<Call>& call, Engine& engine,
            dialect::Batch batch);

}  // namespace zllm::server
