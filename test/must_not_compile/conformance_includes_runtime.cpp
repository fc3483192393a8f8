// Region: conformance, must not compile
#include <zllm/runtime/round.h>
