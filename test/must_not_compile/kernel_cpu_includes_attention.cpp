// Region: kernel/cpu, must not compile
#include <zllm/attention/gqa/spec.h>
