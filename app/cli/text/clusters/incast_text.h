// Prints `trainyard network --incast`: what the buffer of a port leaves of a link at which many
// senders meet.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/network/incast.h"

namespace trainyard {

std::string incast_text(const IncastAnswer&);
std::string incast_document(const IncastAnswer&);
Json incast_schema();

}  // namespace trainyard
