#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/responses/responses.h>
#include <zllm/dialect/responses/stored_routes.h>
#include <zllm/server/answering.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

namespace responses = dialect::responses;
