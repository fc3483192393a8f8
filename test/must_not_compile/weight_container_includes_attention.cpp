// Region: weight/container, must not compile
#include <zllm/attention/spec.h>
