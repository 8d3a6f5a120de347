// Times what processes do together.
#pragma once

#include <functional>
#include <vector>

#include "backends/processes.h"
#include "core/base/units.h"

namespace trainyard {

/// Times until the last process was done, one of each repeat; fewer repeats of more bytes. Where
/// `in_a_row` is more than one, the exchange runs so often and the time is that of one of them. All
/// processes call it and get the same times.
std::vector<Duration> timed_exchange(Processes&, std::int64_t bytes,
                                     const std::function<void()>& exchange, int in_a_row = 1);

}  // namespace trainyard
