// Says in a sentence which share of a port many senders have, without control and with marks.
#pragma once

#include <string>

#include "core/network/incast.h"

namespace trainyard {

std::string incast_sentence(const IncastAnswer&);

}  // namespace trainyard
