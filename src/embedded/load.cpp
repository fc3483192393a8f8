#include <array>
#include <future>
#include <memory>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/embedded/engine.h>
#include <zllm/embedded/model_identity.h>
#include <zllm/registry/model_registry.h>

namespace zllm {
namespace {

// The registry's model as the engine's own.
class OwnedModel final : public runtime::AnyModel {
 public:
  explicit OwnedModel(registry::Model model) : model_(std::move(model)) {}

  const runtime::ModelInfo& info() const override { return model_.loaded().model->info(); }
  runtime::SequenceStates& states() override { return model_.model().states(); }
  Result<runtime::RoundOutput> submit(const runtime::Round& round) override {
    return model_.model().submit(round);
  }
  Status check() const { return model_.check(); }
  const registry::Model& loaded() const { return model_; }

 private:
  registry::Model model_;
};

// What many answers and kept prefixes take together, most first: whole contexts of rows, and
// states of recurrent models beside those of running answers. The first that memory holds is taken.
struct Room {
  std::uint64_t contexts = 0;  // 0 = what the loader makes fit
  std::uint32_t cached_states = 0;
};
constexpr std::array<Room, 4> kRooms = {{{4, 16}, {2, 8}, {1, 4}, {0, 1}}};

Result<backend::KvType> kv_type(const std::string& name) {
  if (name.empty() || name == "f16") {
    return backend::KvType::f16;
  }
  if (name == "f32") {
    return backend::KvType::f32;
  }
  return Error{Code::invalid_argument, concat("kv_type ", quote(name), " is not one of f32, f16")};
}

struct Loaded {
  registry::Model model;
  std::uint32_t cached_states = 0;
};

Result<Loaded> load_into(const Room& room, const EngineOptions& options) {
  ZLLM_TRY(weight::ModelFiles files, weight::open_model(options.model));
  runtime::LoadOptions load_options{.context = options.context, .cache_rows = options.cache_tokens};
  ZLLM_TRY(load_options.kv_type, kv_type(options.kv_type));
  load_options.sequences = options.max_concurrent + room.cached_states;
  if (room.contexts != 0) {
    std::uint64_t context = options.context;
    if (context == 0) {
      ZLLM_TRY(const auto needs, registry::model_needs(files, load_options));
      context = needs.states.max_positions;
      load_options.context = context;
    }
    if (load_options.cache_rows == 0) {
      load_options.cache_rows = context * room.contexts;
    }
  }
  ZLLM_TRY(
      registry::Model model,
      registry::load_model(std::move(files), {.name = options.backend, .threads = options.threads},
                           load_options));
  return Loaded{.model = std::move(model), .cached_states = room.cached_states};
}

// Sizes are judged before any weight loads, so that another try costs little.
Result<Loaded> load_model(const EngineOptions& options) {
  if (options.max_concurrent == 1 && !options.prefix_cache) {
    return load_into({}, options);  // one answer at a time, of which nothing is kept
  }
  for (const Room& room : kRooms) {
    auto loaded = load_into(room, options);
    const bool is_last = &room == &kRooms.back();
    if (loaded.ok() || is_last || loaded.error().code != Code::resource_exhausted) {
      return loaded;
    }
  }
  return Error{Code::internal, "no size of the cache was tried"};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const EngineOptions& options) {
  ZLLM_TRY(kv_type(options.kv_type));
  // Waited for by the future's destructor, whatever happens to the weights.
  auto text = std::async(std::launch::async, load_model_text, options.model, options.pre_tokenizer);
  ZLLM_TRY(Loaded loaded, load_model(options));
  auto model = std::make_unique<OwnedModel>(std::move(loaded.model));
  ZLLM_TRY(ModelText model_text, text.get());
  const weight::ModelFiles& files = model->loaded().files();
  EngineParts parts{.model = nullptr,
                    .text = std::move(model_text),
                    .end_tokens = model->loaded().loaded().end_tokens,
                    .generation_config = files.generation_config,
                    .warnings = model->loaded().loaded().warnings};
  ZLLM_TRY(parts.identity, model_identity(files));
  parts.identity +=
      concat("-", options.backend, options.kv_type.empty() ? "" : "-", options.kv_type);
  parts.cached_states = loaded.cached_states;
  parts.check = [owned = model.get()] { return owned->check(); };
  parts.model = std::move(model);
  return create(std::move(parts), options);
}

}  // namespace zllm
