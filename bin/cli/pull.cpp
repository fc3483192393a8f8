#include "pull.h"

#include <zllm/base/text.h>

#include "default_model.h"
#include "hub_download.h"
#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

struct Options {
  std::string name;
};

void describe(Options& options, OptionTable& table) {
  table.positional("name", "owner/name of a model of the Hub at $HF_ENDPOINT; none = the default",
                   options.name);
}

Status run(const Options& options) {
  ZLLM_TRY(const std::string folder, models_folder());
  if (options.name.empty() || options.name == kDefaultModelName) {
    ZLLM_TRY(const std::string path, pull_default_model(folder));
    return write_out(
        concat(path, "\n", kDefaultModelName, ", licence ", kDefaultModelLicence, "\n"));
  }
  if (!is_hub_name(options.name)) {
    return Error{Code::invalid_argument, concat(quote(options.name), " is neither ",
                                                kDefaultModelName, " nor of the form owner/name")};
  }
  ZLLM_TRY(const std::string path, pull_hub_model(folder, options.name));
  return write_out(path + "\n");
}

}  // namespace

Command pull_command() {
  return make_command<Options>("pull", "Fetch a model and print where it lies", describe, run);
}

}  // namespace zllm::cli
