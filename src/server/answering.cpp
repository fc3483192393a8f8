#include <zllm/server/answering.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/random_name.h>

namespace zllm::server {

namespace {

Outcome<ModelSet::Entry> model_of(const Services& services, const Json& body) {
  const Json *model = body.find("model");
  if (model == nullptr || model->is_null()) {
    return services.models->find({});
  }
  const std::string *name = model->as_string();
  if (name == nullptr) {
    return Failure(FailureKind::invalid, concat("model must be a string, not ", model->type_name()),
                   "model");
  }
  return services.models->find(*name);
}

}  // namespace

std::optional<Asked> asked(const Services& services, Call& call) {
  auto body = call.object_body();
  if (!body.ok()) {
    call.fail(body.error());
    return std::nullopt;
  }
  auto model = model_of(services, *body);
  if (!model.ok()) {
    call.fail(model.error());
    return std::nullopt;
  }
  call.record().model = model->name;
  return Asked{.body = *std::move(body), .model = *std::move(model)};
}

dialect::AnswerFacts facts_for(const ModelSet::Entry& model) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.unique = random_name(kUniqueLength),
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
          .model = model.name,
          .identity = model.engine->info().identity};
}

Outcome<Done> complete(const Services& services, const Call& call, Request& request) {
  const std::optional<std::int32_t> highest = services.options.limits.priority;
  if (highest && request.priority > *highest) {
    return dialect::wrong_value(
        "priority", concat("must be at most ", *highest, " here, not ", request.priority));
  }
  request.caller = call.caller;
  const double most = std::max(0.0, services.options.limits.request_seconds - call.seconds());
  request.time_limit_seconds = std::min(request.time_limit_seconds.value_or(most), most);
  return Done{};
}

void answer(Services& services, const std::shared_ptr<Call>& call, Engine& engine,
            dialect::Batch batch) {
  AnswerPump::Job job{.call = call,
                      .answers = {},
                      .encoder = std::move(batch.encoder),
                      .is_streaming = batch.is_streaming,
                      .buffer_bytes = services.options.transport.limits.buffer_bytes};
  for (Request& request : batch.requests) {
    const auto completed = complete(services, *call, request);
    if (!completed.ok()) {
      return call->fail(completed.error());
    }
    auto submitted = engine.submit(std::move(request));
    if (!submitted.ok()) {
      return call->fail(submitted.error());
    }
    job.answers.push_back(*std::move(submitted));
  }
  AnswerPump::start(std::move(job), *services.workers, services.metrics);
}

}  // namespace zllm::server
