#include "load_engine.h"

#include <filesystem>
#include <string>

#include <zllm/base/text.h>

#include "model_location.h"
#include "output.h"

namespace zllm::cli {

Result<std::unique_ptr<Engine>> load_engine(const GenerationOptions& options, Turns turns) {
  ZLLM_TRY(const std::string path, locate_model(options.model.model));
  const EngineOptions wanted{.model = path,
                             .backend = options.model.backend,
                             .threads = options.model.threads,
                             .context = options.model.context,
                             .kv_type = options.model.kv_type,
                             .max_concurrent = 1,
                             .prefix_cache = turns == Turns::many,
                             .pre_tokenizer = options.pre_tokenizer,
                             .usual_temperature = kUnsetTemperature,
                             .prepares_fences = false};
  StatusLine line;
  line.show(concat("loading ", printable(std::filesystem::path(path).filename().string()), " ..."));
  auto engine = Engine::load(wanted);
  line.clear();
  if (engine.ok()) {
    for (const std::string& warning : (*engine)->info().warnings) {
      warn(concat("warning: ", warning));
    }
  }
  return engine;
}

}  // namespace zllm::cli
