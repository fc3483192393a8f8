// Region: weight/assembly, must not compile
#include <zllm/runtime/round.h>
