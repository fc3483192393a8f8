#include <utility>

#include <zllm/dialect/json_writer.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

// Without a round for so long something is stuck: the longest takes seconds even on slow machines.
constexpr double kStuckSeconds = 60;

std::string status_body(std::string_view status) {
  dialect::JsonWriter json;
  return std::move(json.begin_object().text("status", status).end_object()).str();
}

void reply_loading(Call& call) {
  call.extra_headers.emplace_back("retry-after", kRetryWhileLoading);
  call.reply(503, status_body("loading model"));
}

// Alive; 503 while a model loads, since clients of such servers wait for 200.
void health(const Services& services, Call& call) {
  if (services.models->is_loading()) {
    reply_loading(call);
  } else {
    call.reply(200, status_body("ok"));
  }
}

// A token can be produced now, by every model.
void ready(const Services& services, Call& call) {
  if (services.is_closing) {
    call.extra_headers.emplace_back("retry-after", kRetryWhileLoading);
    return call.reply(503, status_body("shutting down"));
  }
  for (const ModelSet::Entry& entry : services.models->entries()) {
    if (entry.state == LoadState::loading) {
      return reply_loading(call);
    }
    if (entry.state == LoadState::failed) {
      return call.reply(503, status_body("a model could not be loaded"));
    }
    if (entry.engine->statistics().stalled_seconds >= kStuckSeconds) {
      return call.reply(503, status_body("no round has ended for a minute"));
    }
  }
  call.reply(200, status_body("ready"));
}

void metrics(const Services& services, Call& call) {
  std::vector<std::pair<std::string, engine::Statistics>> engines;
  for (const ModelSet::Entry& entry : services.models->entries()) {
    if (entry.engine != nullptr) {
      engines.emplace_back(entry.name, entry.engine->statistics());
    }
  }
  call.reply(200, services.metrics.text(engines, services.log.lost_lines()),
             "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace

std::vector<Route> operation_routes(Services& services) {
  return {{.method = "GET",
           .pattern = "/health",
           .access = Access::open,
           .handle = [&services](const std::shared_ptr<Call>& call) { health(services, *call); }},
          {.method = "GET",
           .pattern = "/ready",
           .handle = [&services](const std::shared_ptr<Call>& call) { ready(services, *call); }},
          {.method = "GET",
           .pattern = "/metrics",
           .handle = [&services](const std::shared_ptr<Call>& call) { metrics(services, *call); }}};
}

}  // namespace zllm::server
