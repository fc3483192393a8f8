#include "chat.h"

#include <memory>

#include "chat_loop.h"
#include "generation_options.h"
#include "load_engine.h"
#include "output.h"

namespace zllm::cli {
namespace {

struct Options {
  GenerationOptions generation;
  std::string system;
};

void describe(Options& options, OptionTable& table) {
  table.text("system", "TEXT", "The system message", options.system);
  describe_generation(options.generation, table);
}

Status check(const Options& options) { return check_generation(options.generation); }

Status run(const Options& given) {
  Options options = given;
  ZLLM_TRY(const std::unique_ptr<Engine> engine, load_engine(options.generation, Turns::many));
  if (!engine->info().has_chat_template) {
    return Error{Code::unsupported,
                 "the model has no chat template; 'zllm run --raw' continues plain text"};
  }
  if (LineReader::is_interactive()) {
    ZLLM_TRY(write_out("/help lists the commands\n"));
  }
  ChatLoop loop(*engine, options.generation, options.system);
  return loop.run();
}

}  // namespace

Command chat_command() {
  Command command = make_command<Options>("chat", "Talk with a model", describe, run, check);
  command.takes_config = true;
  return command;
}

}  // namespace zllm::cli
