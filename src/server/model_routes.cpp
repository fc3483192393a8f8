#include <utility>

#include <zllm/base/text.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

Json text(std::string_view value) { return Json(std::string(value)); }

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

Json model_object(const ModelSet::Entry& entry) {
  Json::Object object = {{"id", text(entry.name)},
                         {"object", text("model")},
                         {"created", Json(entry.since)},
                         {"owned_by", text("zllm")},
                         {"status", text(word(entry.state))}};
  if (entry.engine != nullptr) {
    const EngineInfo& info = entry.engine->info();
    object.emplace_back(
        "meta", Json(Json::Object{{"architecture", text(info.architecture)},
                                  {"backend", text(info.backend)},
                                  {"family", text(info.family)},
                                  {"n_params", Json(info.parameters)},
                                  {"size", Json(info.weight_bytes)},
                                  {"n_ctx", Json(info.context)},
                                  {"n_vocab", Json(info.vocabulary)},
                                  {"has_chat_template", Json(info.has_chat_template)},
                                  {"template_takes_tools", Json(info.template_takes_tools)}}));
    object.emplace_back("max_model_len", Json(info.context));
  }
  return Json(std::move(object));
}

void list(const Services& services, Call& call) {
  Json::Array models;
  for (const ModelSet::Entry& entry : services.models->entries()) {
    models.push_back(model_object(entry));
  }
  call.reply(
      200, Json(Json::Object{{"object", text("list")}, {"data", Json(std::move(models))}}).dump());
}

void get(const Services& services, Call& call) {
  const std::string_view name = call.parameter("model");
  for (const ModelSet::Entry& entry : services.models->entries()) {
    if (entry.name == name) {
      return call.reply(200, model_object(entry).dump());
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
           .pattern = "/v1/models/{model}",
           .handle = [&services](const std::shared_ptr<Call>& call) { get(services, *call); }}};
}

}  // namespace zllm::server
