// Region: sampling, must not compile
#include <zllm/runtime/round.h>
