#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

using dialect::JsonWriter;

std::string_view word(LoadState state) {
  switch (state) {
    case LoadState::loading:
      return "loading";
    case LoadState::ready:
      return "ready";
    case LoadState::failed:
      return "failed";
  }
  return "failed";
}

void write_model(const ModelSet::Entry& entry, JsonWriter& json) {
  json.begin_object().text("id", entry.name).text("object", "model");
  json.integer("created", entry.since).text("owned_by", "zllm");
  json.text("status", word(entry.state));
  if (entry.engine != nullptr) {
    const EngineInfo& info = entry.engine->info();
    json.integer("max_model_len", info.context).begin_object("meta");
    json.text("architecture", info.architecture).text("backend", info.backend);
    json.text("family", info.family).integer("n_params", info.parameters);
    json.integer("size", info.weight_bytes).integer("n_ctx", info.context);
    json.integer("n_vocab", info.vocabulary);
    json.boolean("has_chat_template", info.has_chat_template);
    json.boolean("template_takes_tools", info.template_takes_tools).end_object();
  }
  json.end_object();
}

void list(const Services& services, Call& call) {
  JsonWriter json;
  json.begin_object().text("object", "list").begin_array("data");
  for (const ModelSet::Entry& entry : services.models->entries()) {
    write_model(entry, json);
  }
  json.end_array().end_object();
  call.reply(200, std::move(json).str());
}

void get(const Services& services, Call& call) {
  const std::string_view name = call.parameter("model");
  for (const ModelSet::Entry& entry : services.models->entries()) {
    if (entry.name == name) {
      JsonWriter json;
      write_model(entry, json);
      return call.reply(200, std::move(json).str());
    }
  }
  call.fail(Failure(FailureKind::not_found, concat("the model ", quote(name), " does not exist"),
                    "model", "model_not_found"));
}

}  // namespace

std::vector<Route> model_routes(Services& services) {
  return {{.method = "GET",
           .pattern = "/v1/models",
           .handle = [&services](const std::shared_ptr<Call>& call) { list(services, *call); }},
          {.method = "GET",
           .pattern = "/v1/models/{model*}",
           .handle = [&services](const std::shared_ptr<Call>& call) { get(services, *call); }}};
}

}  // namespace zllm::server
