// This file prints `trainyard stragglers`: how long replicas wait for the slowest when they meet in
// every step, once in several or never, and how old the gradients of an asynchronous server are.
#pragma once

#include <string>

#include "core/estimate/straggling.h"
#include "core/io/json/json.h"

namespace trainyard {

std::string straggling_text(const StragglingAnswer&);
Json stragglers_schema();
std::string straggling_document(const StragglingAnswer&);

}  // namespace trainyard
