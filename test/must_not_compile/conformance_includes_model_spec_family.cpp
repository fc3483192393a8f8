// Region: conformance, must not compile
#include <zllm/model_spec/dense_decoder.h>
