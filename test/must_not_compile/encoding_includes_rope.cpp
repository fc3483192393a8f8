// Region: encoding, must not compile
#include <zllm/rope/spec.h>
