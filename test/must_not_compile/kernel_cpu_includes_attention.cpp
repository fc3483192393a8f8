// Region: kernel/cpu, must not compile
#include <zllm/attention/spec.h>
