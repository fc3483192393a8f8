// Region: weight/container, must not compile
#include <zllm/attention/gqa/spec.h>
