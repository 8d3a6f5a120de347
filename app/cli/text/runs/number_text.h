// Prints how the numbers of a run lay in the formats of its plan.
#pragma once

#include "app/cli/text/lines.h"
#include "core/training/numbers/number_record.h"

namespace trainyard {

void write_numbers(Out&, const NumberRecord&);

}  // namespace trainyard
