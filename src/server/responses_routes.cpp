#include <zllm/dialect/responses/responses_routes.h>

#include <memory>
#include <optional>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/responses/responses.h>
#include <zllm/server/answering.h>
#include <zllm/server/event_replay.h>
#include <zllm/server/query.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

namespace responses = dialect::responses;
using responses::StoredResponse;

// Stands for a call that has its reply already; nobody is told anything over it.
std::shared_ptr<Call> shadow_of(Services& services, Call& call) {
  auto shadow = std::make_shared<Call>(call.request(), nullptr, services.metrics, services.log);
  shadow->caller = call.caller;
  shadow->record().route = call.record().route;
  shadow->record().model = call.record().model;
  shadow->record().status = 200;
  return shadow;
}

// A response runs on without its client, who asks for it by its id or reads along.
void start_in_background(Services& services, const std::shared_ptr<Call>& call, Engine& engine,
                         responses::ResponseExchange exchange) {
  const std::string id = exchange.id;
  const bool is_streaming = exchange.exchange.is_streaming;
  dialect::Batch batch = dialect::batch_of(std::move(exchange.exchange));
  Request request = std::move(batch.requests.front());
  const auto completed = complete(services, *call, request);
  if (!completed.ok()) {
    return call->fail(completed.error());
  }
  if (!services.background.reserve(id)) {
    return call->fail(
        Failure(FailureKind::busy, "too many responses run in the background", "background"));
  }
  auto submitted = engine.submit(std::move(request));
  if (!submitted.ok()) {
    services.background.release(id);
    return call->fail(submitted.error());
  }
  services.store->put(call->owner, id, exchange.queued);
  AnswerPump::Job job{.call = is_streaming ? call : shadow_of(services, *call),
                      .answers = {},
                      .encoder = std::move(batch.encoder),
                      .is_streaming = is_streaming,
                      .is_background = !is_streaming,
                      .outlives_client = is_streaming,
                      .buffer_bytes = services.options.transport.limits.buffer_bytes,
                      .at_end = [&services, id] { services.background.release(id); }};
  job.answers.push_back(*std::move(submitted));
  const auto pump =
      std::make_shared<AnswerPump>(std::move(job), *services.workers, services.metrics);
  // Before its first event, which tells a client by what name to cancel it.
  services.background.set(id, pump);
  services.workers->schedule(pump);
  if (!is_streaming) {
    call->reply(200, exchange.queued.body);
  }
}

void create(Services& services, const std::shared_ptr<Call>& call) {
  auto asks = asked(services, *call);
  if (!asks) {
    return;
  }
  auto exchange = responses::read(asks->body, facts_for(asks->model), call->owner, services.store);
  if (!exchange.ok()) {
    return call->fail(exchange.error());
  }
  if (exchange->is_background) {
    return start_in_background(services, call, *asks->model.engine, *std::move(exchange));
  }
  answer(services, call, *asks->model.engine, dialect::batch_of(std::move(exchange->exchange)));
}

// What the prompt of a response would take, without making one.
void count_input(Services& services, Call& call) {
  auto asks = asked(services, call);
  if (!asks) {
    return;
  }
  auto exchange = responses::read(asks->body, facts_for(asks->model), call.owner, services.store);
  if (!exchange.ok()) {
    return call.fail(exchange.error());
  }
  auto count = asks->model.engine->count_prompt_tokens(exchange->exchange.request);
  if (!count.ok()) {
    return call.fail(count.error());
  }
  call.reply(200, responses::input_tokens_body(*count));
}

// The stored response of the path's id; nothing where the call has failed.
std::optional<StoredResponse> stored(const Services& services, Call& call) {
  const std::string id(call.parameter("id"));
  auto found = services.store->get(call.owner, id);
  if (!found) {
    call.fail(responses::unknown_response(id));
  }
  return found;
}

void reply_with(Call& call, Outcome<std::string> body) {
  if (body.ok()) {
    call.reply(200, *std::move(body));
  } else {
    call.fail(body.error());
  }
}

void get(Services& services, const std::shared_ptr<Call>& call) {
  const auto response = stored(services, *call);
  if (!response) {
    return;
  }
  auto query = responses::read_stored_query(*response, parse_query(call->request().query));
  if (!query.ok()) {
    return call->fail(query.error());
  }
  if (!query->is_streaming) {
    return call->reply(200, response->body);
  }
  EventReplay::start({.call = call,
                      .events = response->events,
                      .first = query->first_event,
                      .buffer_bytes = services.options.transport.limits.buffer_bytes},
                     *services.workers);
}

void list_input(Services& services, Call& call) {
  if (const auto response = stored(services, call)) {
    reply_with(call, responses::input_items_body(*response, parse_query(call.request().query)));
  }
}

void erase(Services& services, Call& call) {
  if (stored(services, call)) {
    const std::string id(call.parameter("id"));
    services.background.cancel(id);
    services.store->erase(call.owner, id);
    call.reply(200, responses::deleted_body(id));
  }
}

void cancel(Services& services, Call& call) {
  auto response = stored(services, call);
  if (!response) {
    return;
  }
  auto is_running = responses::needs_cancel(*response);
  if (is_running.ok() && *is_running) {
    const std::string id(call.parameter("id"));
    // Told and kept at once, so that no later GET sees it run.
    const StoredResponse ended = responses::cancelled(*response);
    if (services.store->replace(call.owner, id, ended)) {
      services.background.cancel(id);
      return call.reply(200, ended.body);
    }
    // It has ended in between.
    response = stored(services, call);
    if (!response) {
      return;
    }
    is_running = responses::needs_cancel(*response);
  }
  is_running.ok() ? call.reply(200, response->body) : call.fail(is_running.error());
}

}  // namespace

std::vector<Route> responses_routes(Services& services) {
  using Handle = void (*)(Services&, Call&);
  std::vector<Route> routes = {
      {.method = "POST",
       .pattern = "/v1/responses",
       .handle = [&services](const std::shared_ptr<Call>& call) { create(services, call); }},
      {.method = "GET",
       .pattern = "/v1/responses/{id}",
       .handle = [&services](const std::shared_ptr<Call>& call) { get(services, call); }}};
  const auto add = [&](const char *method, const char *pattern, Handle handle) {
    routes.push_back({.method = method,
                      .pattern = pattern,
                      .handle = [&services, handle](const std::shared_ptr<Call>& call) {
                        handle(services, *call);
                      }});
  };
  add("POST", "/v1/responses/input_tokens", count_input);
  add("DELETE", "/v1/responses/{id}", erase);
  add("POST", "/v1/responses/{id}/cancel", cancel);
  add("GET", "/v1/responses/{id}/input_items", list_input);
  return routes;
}

}  // namespace zllm::server
