// Region: weight/assembly, must not compile
#include <zllm/attention/gqa/spec.h>
