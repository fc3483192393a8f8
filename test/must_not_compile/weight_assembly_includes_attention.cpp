// Region: weight/assembly, must not compile
#include <zllm/attention/spec.h>
