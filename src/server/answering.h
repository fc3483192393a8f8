#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/server/answer_pump.h>
#include <zllm/server/services.h>

namespace zllm::server {

// The model that a body asks for by its member "model".
Outcome<ModelSet::Entry> model_of(const Services& services, const Json& body);

// What an answer is called and when it began.
dialect::AnswerFacts facts_for(const std::string& model);

// Fills in what the server knows of a request: who asks, and until when it may take.
void complete(const Services& services, const Call& call, Request& request);

// Submits the requests of one call and starts telling; or fails the call.
std::shared_ptr<AnswerPump> answer(Services& services, Engine& engine, AnswerPump::Job job,
                                   std::vector<Request> requests);

}  // namespace zllm::server
