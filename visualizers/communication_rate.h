// What the links of a call could carry, for its bus bandwidth to be held against.
#pragma once

#include "visualizers/communication_model.h"

namespace trainyard {

/// Of one member and direction. A ring through several nodes crosses their borders over the ports
/// of all its members of a node together, as far as the links within the node keep up.
BytesPerSecond link_rate(const CommunicationModel&, const CommunicationFlow&);

}  // namespace trainyard
