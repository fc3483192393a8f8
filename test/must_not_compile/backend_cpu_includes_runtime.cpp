// Region: backend/cpu, must not compile
#include <zllm/runtime/round.h>
