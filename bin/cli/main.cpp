#include "bench.h"
#include "capabilities.h"
#include "chat.h"
#include "command_line.h"
#include "conformance.h"
#include "doctor.h"
#include "inspect.h"
#include "logits.h"
#include "pull.h"
#include "run.h"
#include "serve.h"
#include "template.h"
#include "tokenize.h"

int main(int argc, char **argv) {
  using namespace zllm::cli;
  return run_command_line(
      {run_command(), chat_command(), serve_command(), pull_command(), logits_command(),
       bench_command(), inspect_command(), tokenize_command(), template_command(),
       capabilities_command(), conformance_command(), doctor_command()},
      argc, argv);
}
